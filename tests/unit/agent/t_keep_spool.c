// tier: test
/* From the collector's outbox into messages in a spool: each message is complete in itself, with the names of its frames. */
#include "unit.h"

#include "agent/batch_receiver.h"
#include "agent/keep_spool.h"
#include "agent/outbox.h"
#include "agent/spool.h"
#include "base/clock.h"
#include "collect/kernel/sampler_opts.h"
#include "format/otlp/otlp.h"
#include "profile/names.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "shell.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/socket.h>
#include <unistd.h>

struct world {
	char dir[32];
	struct spool *spool;
	struct outbox outbox;
	struct keep_spool target;
	struct batch_receiver keeper;
	struct profile *profile; /* the outbox's */
	uint64_t offset;         /* of a function of this program */
	int file;                /* this program; -1: it cannot be opened */
	uint32_t files_asked, added;
	uint64_t now_ns;
};

__attribute__((noinline, used)) static void function_that_is_named(void)
{
	__asm__ volatile("");
}

/* The function's offset in the file. */
static uint64_t offset_here(void)
{
	uint64_t address = (uint64_t)(uintptr_t)function_that_is_named, start, end, offset;
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096];

	while (fgets(line, sizeof line, maps))
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &start, &end, &offset) ==
			    3 &&
		    address >= start && address < end)
			break;
	fclose(maps);
	return address - start + offset;
}

static void note_added(void *ctx)
{
	((struct world *)ctx)->added++;
}

static void world_init(struct world *w)
{
	static const struct otlp_attribute resource[] = { { "env", "test" } };
	struct err err = { 0 };
	int ends[2];

	*w = (struct world){ .dir = "/tmp/t_keep_spool.XXXXXX", .offset = offset_here() };
	ck_assert_ptr_nonnull(mkdtemp(w->dir));
	w->file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const struct spool_opts opts = { .dir = w->dir, .max_bytes = 64 << 20 };
	ck_assert_msg(spool_open(&opts, &w->spool, NULL, &err) == 0, "%s", err.text);
	w->profile = profile_new();
	outbox_init(&w->outbox, w->profile, 1 << 20);
	w->target = (struct keep_spool){ .spool = w->spool,
					 .resource = resource,
					 .n_resource = 1,
					 .naming = &w->keeper.naming,
					 .added = note_added,
					 .ctx = w };
	const struct batch_target target = keep_in_spool(&w->target);
	batch_receiver_init(&w->keeper, &target, &(struct name_files_opts){ 0 });
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	outbox_connect(&w->outbox, ends[0]);
	batch_receiver_connect(&w->keeper, ends[1]);
}

static void world_done(struct world *w)
{
	outbox_done(&w->outbox);
	batch_receiver_done(&w->keeper);
	keep_spool_done(&w->target);
	spool_close(w->spool);
	close(w->file);
	shell_do("rm -rf %s", w->dir);
}

static int file_for(void *ctx, uint32_t mapping)
{
	struct world *w = ctx;

	(void)mapping;
	w->files_asked++;
	return w->file >= 0 ? w->file : -ENOENT;
}

static void pump(struct world *w)
{
	struct err err = { 0 };

	for (int i = 0; i < 1000 && !outbox_is_idle(&w->outbox); i++) {
		ck_assert_int_eq(outbox_run(&w->outbox, w->now_ns += OUTBOX_TURN_NS, file_for, w),
				 0);
		ck_assert_msg(batch_receiver_run(&w->keeper, &err) == 0, "%s", err.text);
	}
	ck_assert(outbox_is_idle(&w->outbox));
}

/* n samples in the function. */
static void fill(struct profile *p, uint64_t offset, int n)
{
	struct sink *s = profile_sink(p);
	struct type type = { .name = sink_string(s, "cpu"),
			     .sample_type = sink_string(s, "samples") };
	struct series series = { .type = s->ops->type(s, &type) };
	struct mapping m = { .name = sink_string(s, "/usr/bin/this"), .identity = 7 };
	struct frame f = { .mapping = s->ops->mapping(s, &m), .offset = offset };
	uint32_t frame = s->ops->frame(s, &f);

	for (int i = 0; i < n; i++) {
		const struct sample sample = { .time_ns = (int64_t)clock_mono_ns(),
					       .value = 1,
					       .series = s->ops->series(s, &series),
					       .stack = s->ops->stack(s, &frame, 1) };
		s->ops->sample(s, &sample);
	}
}

static void add_batch(struct world *w, int n)
{
	int64_t now_ns = clock_mono_ns();
	const struct wire_batch head = { .start_mono_ns = now_ns,
					 .start_wall_ns = now_ns + clock_wall_offset_ns(),
					 .duration_ns = 1 };

	fill(w->profile, w->offset, n);
	outbox_add(&w->outbox, &head);
}

/* Takes the oldest message. Returns its number of samples, or -1 if there is none; sets whether the function is named. */
static int take(struct world *w, bool *named)
{
	struct profile *p = profile_new();
	struct spool_entry e;
	struct buf plain = { 0 };
	int n = -1;

	if (spool_first(w->spool, &e, NULL) > 0) {
		ck_assert_int_eq(spool_unpack(w->spool, &e, &plain, NULL), 0);
		ck_assert_int_eq(
			otlp_decode(plain.data, plain.len, "it", profile_sink(p), NULL, NULL), 0);
		n = (int)p->samples.n;
		*named = strtab_find(&p->strings, "function_that_is_named") != UINT32_MAX;
		ck_assert(n == 0 || strtab_find(&p->strings, "env") != UINT32_MAX);
		ck_assert_int_eq(spool_sent(w->spool, e.id, NULL, NULL), 0);
		buf_done(&e.packed);
	}
	buf_done(&plain);
	profile_free(p);
	return n;
}

START_TEST(a_batch_waits_for_its_names)
{
	struct world w;
	bool named = false;

	world_init(&w);
	add_batch(&w, 5);
	pump(&w);
	ck_assert_uint_eq(w.added, 1);
	ck_assert_int_eq(take(&w, &named), 5);
	ck_assert(named);
	ck_assert_int_eq(take(&w, &named), -1);
	add_batch(&w, 0); /* an empty batch is not sent */
	pump(&w);
	ck_assert_int_eq(take(&w, &named), -1);
	world_done(&w);
}
END_TEST

START_TEST(the_next_dictionary_has_the_names_too)
{
	struct world w;
	bool named;

	world_init(&w);
	for (int i = 1; i <= 4; i++) {
		add_batch(&w, i);
		pump(&w);
		w.profile = profile_new();
		outbox_set_profile(&w.outbox, w.profile);
		named = false;
		ck_assert_int_eq(take(&w, &named), i);
		ck_assert_msg(named, "dictionary %d", i);
		ck_assert_int_eq(take(&w, &named), -1);
	}
	ck_assert_uint_eq(w.files_asked, 1);
	world_done(&w);
}
END_TEST

START_TEST(forgotten_frames_are_looked_up_again)
{
	struct world w;
	bool named = false;

	world_init(&w);
	add_batch(&w, 1);
	pump(&w);
	ck_assert_int_eq(take(&w, &named), 1);
	w.profile = profile_new();
	outbox_set_profile(&w.outbox, w.profile);
	keep_spool_done(&w.target);
	name_queue_forget(&w.keeper.naming);
	w.keeper.naming.wants.v[0].due_ns = 0;
	named = false;
	add_batch(&w, 2);
	pump(&w);
	ck_assert_int_eq(take(&w, &named), 2);
	ck_assert(named);
	ck_assert_uint_eq(w.files_asked, 2);
	world_done(&w);
}
END_TEST

/* A file that cannot be opened does not delay a batch. */
START_TEST(nameless_frames_are_sent)
{
	struct world w;
	bool named = false;

	world_init(&w);
	close(w.file);
	w.file = -1;
	add_batch(&w, 5);
	pump(&w);
	ck_assert_int_eq(take(&w, &named), 5);
	ck_assert(!named);
	world_done(&w);
}
END_TEST

START_TEST(late_names_are_sent_without_samples)
{
	struct world w;
	bool named = false;

	world_init(&w);
	const struct batch_target t = keep_in_spool(&w.target);
	const struct received_batch b = { .sender = (const uint8_t *)"0123456789abcde",
					  .sequence = 1 };
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	fill(p, w.offset, 3);
	ck_assert_int_eq(t.batch(t.ctx, p, &b, NULL), 0);
	struct function fn = { .name = sink_string(s, "function_that_is_named") };
	struct line line = { .function = s->ops->function(s, &fn) };
	s->ops->names(s, 0, &line, 1);
	ck_assert_int_eq(t.names(t.ctx, p, NULL), 0);
	t.end(t.ctx);
	t.end(t.ctx); /* there are no more */
	profile_free(p);
	ck_assert_int_eq(take(&w, &named), 3);
	ck_assert(!named);
	ck_assert_int_eq(take(&w, &named), 0);
	ck_assert(named);
	ck_assert_int_eq(take(&w, &named), -1);
	world_done(&w);
}
END_TEST

UNIT_MAIN("keep_spool", a_batch_waits_for_its_names, the_next_dictionary_has_the_names_too,
	  forgotten_frames_are_looked_up_again, nameless_frames_are_sent,
	  late_names_are_sent_without_samples)
