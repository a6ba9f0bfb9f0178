// tier: test
/* From the collector's outbox into the store: each sample arrives once, whatever breaks between them; memory stays bounded; a store process may send
 * anything. */
#include "rand.h"
#include "unit.h"

#include "agent/batch_receiver.h"
#include "agent/outbox.h"
#include "base/clock.h"
#include "collect/host/host_points.h"
#include "collect/kernel/sampler_opts.h"
#include "profile/frame.h"
#include "profile/link.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "store/codec/metric.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FUNCTIONS = 50 };

struct world {
	char dir[32];
	struct store *store;
	struct outbox outbox;
	struct keep_store target;
	struct batch_receiver keeper;
	struct profile *profile; /* the outbox's */
	int64_t given[FUNCTIONS];
	uint32_t files_asked, points_given;
	uint64_t now_ns;
};

static void open_store(struct world *w)
{
	const struct store_opts opts = { .memory_bytes = 16 << 20 };
	struct err err = { 0 };

	ck_assert_msg(store_open(w->dir, &opts, &w->store, &err) == 0, "%s", err.text);
	w->target = (struct keep_store){ .store = w->store };
	const struct batch_target target = keep_in_store(&w->target);
	batch_receiver_init(&w->keeper, &target, &(struct name_files_opts){ 0 });
}

static void world_init(struct world *w, uint64_t max_bytes)
{
	*w = (struct world){ .dir = "/tmp/t_outbox.XXXXXX" };
	ck_assert_ptr_nonnull(mkdtemp(w->dir));
	w->profile = profile_new();
	outbox_init(&w->outbox, w->profile, max_bytes);
	open_store(w);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

static void world_done(struct world *w)
{
	outbox_done(&w->outbox);
	batch_receiver_done(&w->keeper);
	ck_assert_int_eq(store_close(w->store, NULL), 0);
	nftw(w->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void connect_both(struct world *w)
{
	int ends[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	outbox_connect(&w->outbox, ends[0]);
	batch_receiver_connect(&w->keeper, ends[1]);
}

static int no_file(void *ctx, uint32_t mapping)
{
	(void)mapping;
	((struct world *)ctx)->files_asked++;
	return -ENOENT;
}

static uint64_t stored_rows(const struct world *w)
{
	struct store_stats stats;

	store_get_stats(w->store, &stats);
	return stats.rows;
}

/* Until nothing moves any more. */
static void pump(struct world *w)
{
	struct err err = { 0 };

	for (int i = 0; i < 1000 && !outbox_is_idle(&w->outbox); i++) {
		ck_assert_int_eq(outbox_run(&w->outbox, w->now_ns += OUTBOX_TURN_NS, no_file, w),
				 0);
		ck_assert_msg(batch_receiver_run(&w->keeper, &err) == 0, "%s", err.text);
	}
	ck_assert(outbox_is_idle(&w->outbox));
}

static uint32_t function_stack(struct sink *s, uint32_t i)
{
	struct mapping m = { .name = sink_string(s, i % 2 ? "/usr/bin/x" : "/usr/lib/y") };
	char name[32];

	snprintf(name, sizeof name, "fn%u", i);
	struct frame frames[] = {
		{ .kind = FRAME_NATIVE, .mapping = s->ops->mapping(s, &m), .offset = 16 * i },
		{ .kind = FRAME_JIT, .mapping = MAPPING_NONE, .function = sink_string(s, name) },
	};
	uint32_t ids[] = { s->ops->frame(s, &frames[0]), s->ops->frame(s, &frames[1]) };
	return s->ops->stack(s, ids, 2);
}

/* Two in three functions work for a span. */
static struct trace_link span_of(uint32_t f)
{
	struct trace_link l = { 0 };

	memset(l.trace, 1 + f, sizeof l.trace);
	memset(l.span, 255 - f, sizeof l.span);
	return l;
}

/* Adds a point for the next batch, with its number as the value. */
static void add_point(struct world *w, int64_t time_ns)
{
	static const struct host_metric metric = { "numbers", "", OTLP_GAUGE };
	const struct label_text none[HOST_MAX_LABELS] = { 0 };
	struct host_points points;
	struct buf otlp = { 0 };

	host_points_init(&points, NULL);
	points.time_ns = time_ns;
	host_put(&points, &metric, none, w->points_given++);
	otlp_metrics_encode(&points.m, points.p, &otlp);
	outbox_set_metrics(&w->outbox, &otlp);
	host_points_done(&points);
}

/* Adds n samples of value 1, and makes a batch of them. Returns the number dropped. */
static uint64_t add_batch(struct world *w, struct rng *rng, int n, bool counts)
{
	struct sink *s = profile_sink(w->profile);
	struct type type = { .name = sink_string(s, "cpu"),
			     .sample_type = sink_string(s, "samples") };
	struct series series = { .type = s->ops->type(s, &type) };
	uint32_t id = s->ops->series(s, &series);
	int64_t now_ns = clock_mono_ns();
	const struct wire_batch head = { .start_mono_ns = now_ns,
					 .start_wall_ns = now_ns + clock_wall_offset_ns(),
					 .duration_ns = 1 };

	if (counts)
		add_point(w, head.start_wall_ns);
	for (int i = 0; i < n; i++) {
		uint32_t f = rng_next(rng) % FUNCTIONS;
		const struct trace_link link = span_of(f);
		const struct sample sample = { .time_ns = now_ns,
					       .value = 1,
					       .series = id,
					       .stack = function_stack(s, f),
					       .link = f % 3 ? s->ops->link(s, &link) : 0 };
		s->ops->sample(s, &sample);
		w->given[f] += counts;
	}
	return outbox_add(&w->outbox, &head);
}

/* --- the content of the store ------------------------------------------------------------------- */

static int count_row(void *ctx, const struct store_row *row)
{
	int64_t *sums = ctx;
	uint32_t frames[8], n = stack_depth(&row->dict->stacks, row->stack);
	uint32_t f;

	ck_assert_uint_eq(n, 2);
	stack_frames(&row->dict->stacks, row->stack, frames);
	const char *name = profile_str(row->dict, row->dict->frames.frames.v[frames[1]].function);
	ck_assert_int_eq(sscanf(name, "fn%u", &f), 1);
	const struct trace_link link = span_of(f), none = { 0 };
	ck_assert_mem_eq(row->link ? row->link : &none, f % 3 ? &link : &none, sizeof link);
	sums[f] += row->value;
	return 0;
}

static int count_points(void *ctx, const struct metric_point *points, size_t n)
{
	uint32_t *next = ctx;

	for (size_t i = 0; i < n; i++)
		ck_assert_uint_eq((uint32_t)points[i].value, (*next)++);
	return 0;
}

/* Checks that each point is there, in order. */
static void check_points(const struct world *w, struct store_view *v)
{
	const struct series_table *t = &store_view_catalog(v)->series;
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->series.n; i++)
		if (type_is_metric(&t->types.v[t->series.v[i].type]))
			ck_assert_int_eq(store_points(v, i, 0, INT64_MAX, count_points, &n, NULL),
					 0);
	ck_assert_uint_eq(n, w->points_given);
}

static void check_store(struct world *w)
{
	static const bool wanted[16] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
	int64_t sums[FUNCTIONS] = { 0 };
	struct store_view *v;

	ck_assert_int_eq(store_view_open(w->store, &v, NULL), 0);
	ck_assert_int_eq(store_rows(v, wanted, 0, INT64_MAX / 2, count_row, sums, NULL), 0);
	check_points(w, v);
	store_view_close(v);
	for (int i = 0; i < FUNCTIONS; i++)
		ck_assert_int_eq(sums[i], w->given[i]);
}

START_TEST(batches_arrive)
{
	struct rng rng = { 1 };
	struct world w;

	world_init(&w, 1 << 20);
	connect_both(&w);
	for (int i = 0; i < 30; i++) {
		ck_assert_uint_eq(add_batch(&w, &rng, rng_next(&rng) % 200, true), 0);
		pump(&w);
	}
	check_store(&w);
	ck_assert_uint_gt(w.files_asked, 0);
	world_done(&w);
}
END_TEST

/* Either side loses the stream at any moment, also between the store's sync and the acknowledgement; the store is reopened at times; dictionaries
 * end. */
START_TEST(whatever_breaks)
{
	struct rng rng = { 2 };
	struct world w;
	struct err err = { 0 };

	world_init(&w, 1 << 20);
	for (int i = 0; i < 400; i++) {
		uint32_t what = rng_next(&rng) % 12;
		if (what < 3)
			ck_assert_uint_eq(add_batch(&w, &rng, rng_next(&rng) % 100, true), 0);
		else if (what < 6)
			outbox_run(&w.outbox, w.now_ns += OUTBOX_TURN_NS, no_file, &w);
		else if (what < 9)
			batch_receiver_run(&w.keeper, &err);
		else if (what == 9)
			connect_both(&w);
		else if (what == 10 && !w.profile->samples.n && rng_next(&rng) % 4 == 0)
			ck_assert_uint_eq(outbox_set_profile(&w.outbox, w.profile = profile_new()),
					  0);
		else if (what == 11 && rng_next(&rng) % 8 == 0) {
			batch_receiver_done(&w.keeper);
			store_abandon(w.store);
			open_store(&w);
		}
		if (i % 20 == 19) {
			connect_both(&w);
			pump(&w);
		}
	}
	connect_both(&w);
	pump(&w);
	check_store(&w);
	world_done(&w);
}
END_TEST

/* Without a reader the oldest batches are dropped and counted; the rest arrive. */
START_TEST(no_peer)
{
	enum { MAX_BYTES = 20000, N = 400, SAMPLES = 100 };
	struct rng rng = { 3 };
	struct world w;
	uint64_t dropped = 0;

	world_init(&w, MAX_BYTES);
	for (int i = 0; i < N; i++) {
		dropped += add_batch(&w, &rng, SAMPLES, false);
		ck_assert_uint_le(w.outbox.bytes, MAX_BYTES + 10000);
	}
	ck_assert_uint_gt(dropped, 0);
	connect_both(&w);
	pump(&w);
	ck_assert_uint_eq(stored_rows(&w) + dropped, N * SAMPLES);
	world_done(&w);
}
END_TEST

/* For a store process that is away for long, at most a few dictionaries are kept. */
START_TEST(old_dictionaries)
{
	struct rng rng = { 4 };
	struct world w;
	uint64_t dropped = 0;

	world_init(&w, 1 << 20);
	for (int i = 0; i < 20; i++) {
		dropped += add_batch(&w, &rng, 10, false);
		w.profile = profile_new();
		dropped += outbox_set_profile(&w.outbox, w.profile);
		ck_assert_uint_le(w.outbox.batches.n, OUTBOX_MAX_OLD + 1);
	}
	connect_both(&w);
	pump(&w);
	ck_assert_uint_eq(stored_rows(&w) + dropped, 200);
	world_done(&w);
}
END_TEST

/* --- hostile ------------------------------------------------------------------------------------ */

static int stderr_file(void *ctx, uint32_t mapping)
{
	(void)ctx;
	(void)mapping;
	return STDERR_FILENO;
}

static int open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void ask_for_ever(int (*file)(void *ctx, uint32_t mapping))
{
	struct wire_want want = { .generation = 1 };
	struct stream peer;
	struct world w;
	int ends[2];

	world_init(&w, 1 << 20);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	outbox_connect(&w.outbox, ends[0]);
	stream_open(&peer, ends[1], 1000);
	int before = open_fds();
	for (int i = 0; i < 3000; i++) {
		for (int k = 0; k < 100; k++)
			stream_put(&peer, WIRE_WANT, &want, sizeof want, -1);
		stream_flush(&peer);
		ck_assert_int_eq(outbox_run(&w.outbox, w.now_ns += OUTBOX_TURN_NS, file, &w), 0);
		ck_assert_int_le(open_fds(), before + STREAM_MAX_FDS);
		ck_assert_uint_le(w.outbox.stream.out.cap, 1 << 20);
		ck_assert_uint_le(w.outbox.stream.in.cap, 1 << 20);
		if (peer.out.len > 1 << 20)
			break;
	}
	stream_close(&peer);
	world_done(&w);
}

/* A store process that sends endless requests and reads no answer: the collector holds few descriptors and little memory for it. */
START_TEST(endless_requests)
{
	ask_for_ever(stderr_file);
	ask_for_ever(no_file);
}
END_TEST

/* Neither does one that reads every answer keep the collector busy: it gets a limited number of requests per turn. */
START_TEST(endless_requests_with_responses_taken)
{
	enum { TURNS = 100, CALLS = 20 };
	struct wire_want want = { .generation = 1 };
	struct stream peer;
	struct world w;
	int ends[2];

	world_init(&w, 1 << 20);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	outbox_connect(&w.outbox, ends[0]);
	stream_open(&peer, ends[1], 1000);
	for (int i = 0; i < TURNS * CALLS; i++) {
		for (int k = 0; k < OUTBOX_HEARD; k++)
			stream_put(&peer, WIRE_WANT, &want, sizeof want, -1);
		stream_flush(&peer);
		w.now_ns += OUTBOX_TURN_NS / CALLS;
		ck_assert_int_eq(outbox_run(&w.outbox, w.now_ns, no_file, &w), 0);
		while (stream_read(&peer) > 0)
			for (struct stream_message m; stream_next(&peer, &m) > 0;)
				ck_assert_int_le(m.type, WIRE_FILE);
		ck_assert_uint_le(w.files_asked, (i / CALLS + 2) * OUTBOX_HEARD);
	}
	ck_assert(outbox_is_behind(&w.outbox));
	ck_assert_uint_ge(w.files_asked, (TURNS - 1) * OUTBOX_HEARD);
	stream_close(&peer);
	world_done(&w);
}
END_TEST

/* Random data from a peer ends the stream or does nothing. */
START_TEST(arbitrary_messages)
{
	struct rng rng = { 5 };
	struct err err = { 0 };
	struct world w;

	world_init(&w, 1 << 20);
	add_batch(&w, &rng, 10, false);
	for (int i = 0; i < 3000; i++) {
		uint8_t bytes[64];
		size_t n = rng_next(&rng) % sizeof bytes;
		uint32_t head[2] = { rng_next(&rng) % 9, n };
		int ends[2], other[2];
		for (size_t k = 0; k < n; k++)
			bytes[k] = rng_next(&rng) % 2 ? rng_next(&rng) % 4 : rng_next(&rng);
		socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
		socketpair(AF_UNIX, SOCK_STREAM, 0, other);
		outbox_connect(&w.outbox, ends[0]);
		batch_receiver_connect(&w.keeper, other[0]);
		struct wire_begin begin = { .generation = 1 };
		uint32_t begin_head[2] = { WIRE_BEGIN, sizeof begin };
		if (rng_next(&rng) % 2) {
			ck_assert(write(other[1], begin_head, sizeof begin_head) > 0);
			ck_assert(write(other[1], &begin, sizeof begin) > 0);
		}
		for (int k = 0; k < 2; k++) {
			int to = k ? ends[1] : other[1];
			ck_assert(write(to, head, sizeof head) > 0);
			ck_assert_int_eq(write(to, bytes, n), (ssize_t)n);
		}
		outbox_run(&w.outbox, w.now_ns += OUTBOX_TURN_NS, no_file, &w);
		batch_receiver_run(&w.keeper, &err);
		close(ends[1]);
		close(other[1]);
	}
	ck_assert_uint_eq(stored_rows(&w), 0);
	world_done(&w);
}
END_TEST

UNIT_MAIN("outbox", batches_arrive, whatever_breaks, no_peer, old_dictionaries, endless_requests,
	  endless_requests_with_responses_taken, arbitrary_messages)
