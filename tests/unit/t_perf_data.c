/* perf.data: what every record does to the profile, in either byte order, as a file and through a
 * pipe; and that nothing in such a file does harm. */
#include "perf_data_file.h"
#include "rand.h"
#include "spelled_profile.h"
#include "unit.h"

#include "format/perf_data.h"
#include "format/perf_data_queue.h"
#include "format/perf_data_space.h"

#include <errno.h>
#include <zstd.h>

static const struct pdf_event clock_event = { .type = PERF_TYPE_SOFTWARE,
					      .config = PERF_COUNT_SW_CPU_CLOCK,
					      .period = 1000,
					      .is_freq = true,
					      .id = 71,
					      .name = "cpu-clock:ppp" };
static const struct pdf_event switch_event = { .type = PERF_TYPE_TRACEPOINT,
					       .config = 316,
					       .period = 1,
					       .id = 72,
					       .name = "sched:sched_switch" };

/* Run-time addresses of the kernel of these files, moved by KASLR by 0x19000000. */
#define KERNEL_TEXT   0xffffffff9a000000ull
#define KERNEL_OFFSET 0x19000000ull
#define MODULE_START  0xffffffffc0100000ull
#define BPF_START     0xffffffffc0200000ull
static const char build_id[21] = "abcdefghijklmnopqrst";

static int read_bytes(const void *data, size_t len, struct profile **out, struct err *err)
{
	struct input *in;
	struct profile *p = profile_new();
	ck_assert_int_eq(input_open_memory(data, len, &in, err), 0);
	int rc = perf_data_read(in, profile_sink(p), err);
	input_close(in);
	*out = p;
	return rc;
}

/* Takes over file. */
static struct profile *read_file(struct buf file)
{
	struct profile *p;
	struct err err = { 0 };
	int rc = read_bytes(file.data, file.len, &p, &err);
	ck_assert_msg(rc == 0, "%s", err.text);
	buf_done(&file);
	return p;
}

/* The stack of a sample as text, root first: "app+0x10;[unknown]@[anon]". */
static const char *stack_text(struct profile *p, size_t sample)
{
	static char text[4096];
	struct buf b = { 0 };
	uint32_t frames[256], stack = p->samples.stack[sample], n = stack_depth(&p->stacks, stack);
	stack_frames(&p->stacks, stack, frames);
	for (uint32_t i = 0; i < n; i++) {
		const struct frame *f = &p->frames.frames.v[frames[i]];
		buf_adds(&b, i ? ";" : "");
		if (f->mapping != MAPPING_NONE)
			buf_addf(&b, "%s+0x%" PRIx64,
				 profile_str(p, p->frames.mappings.v[f->mapping].name), f->offset);
		else
			buf_addf(&b, "%s%s%s", profile_str(p, f->function), f->binary ? "@" : "",
				 profile_str(p, f->binary));
	}
	snprintf(text, sizeof text, "%s", buf_cstr(&b));
	buf_done(&b);
	return text;
}

static const char *label_text(struct profile *p, size_t sample, const char *key)
{
	const struct series *s = &p->series.series.v[p->samples.series[sample]];
	uint32_t id = strtab_find(&p->strings, key);
	const struct label *l = label_find(&p->series, s->labels, id);
	return l ? profile_str(p, l->str) : "";
}

static const struct type *type_of(struct profile *p, size_t sample)
{
	return &p->series.types.v[p->series.series.v[p->samples.series[sample]].type];
}

/* --- a whole recording ------------------------------------------------------------------------ */

static void put_world(struct pdf *f)
{
	pdf_kernel_mmap(f, KERNEL_TEXT, 0x1000000, KERNEL_TEXT, "[kernel.kallsyms]_text");
	pdf_kernel_mmap(f, MODULE_START, 0x5000, 0, "/lib/modules/6.1.0/kernel/net/nf-nat.ko.xz");
	pdf_ksymbol(f, BPF_START, 0x100, 0, "bpf_prog_6deef7357e7b4530_on_cpu", 0);
	pdf_comm(f, 0, 10, 10, "app", 0);
	pdf_mmap2(f, 10, 0x400000, 0x2000, 0x1000, "/usr/bin/app", build_id, 0, 0);
	pdf_mmap2(f, 10, 0x7f0000000000, 0x10000, 0x26000, "/lib/libc.so.6 (deleted)", NULL, 99, 0);
	pdf_mmap(f, 10, 0x7f1000000000, 0x10000, 0, "//anon", 0);
}

static void put_samples(struct pdf *f)
{
	const uint64_t kernel[] = { PERF_CONTEXT_KERNEL,
				    KERNEL_TEXT + 0x100,
				    MODULE_START + 0x20,
				    BPF_START + 0x30,
				    0xffffffffd0000000,
				    PERF_CONTEXT_USER,
				    0x7f0000000010,
				    0x400101,
				    0 };
	const uint64_t user[] = { PERF_CONTEXT_USER, 0x400100, 0x7f1000000010, 0x1234, 0 };
	const uint64_t idle[] = { PERF_CONTEXT_KERNEL, KERNEL_TEXT + 0x2000000, 0 };
	f->id = clock_event.id;
	pdf_sample(f, PERF_RECORD_MISC_KERNEL, 10, 10, 1000, 1001001, kernel);
	pdf_sample(f, PERF_RECORD_MISC_USER, 10, 10, 2000, 1001001, user);
	pdf_sample(f, PERF_RECORD_MISC_KERNEL, 0, 0, 2500, 1001001, idle);
	f->id = switch_event.id;
	pdf_sample(f, PERF_RECORD_MISC_KERNEL, 10, 10, 3000, 5, kernel);
}

static struct pdf recording(bool big)
{
	struct pdf f = { .big = big, .sample_type = PDF_SAMPLE_TYPE };
	put_world(&f);
	put_samples(&f);
	return f;
}

static const struct pdf_event *both(void)
{
	static struct pdf_event events[2];
	events[0] = clock_event;
	events[1] = switch_event;
	return events;
}

static struct profile *read_recording(bool big, bool pipe)
{
	struct pdf f = recording(big);
	struct profile *p = read_file((pipe ? pdf_pipe : pdf_file)(&f, both(), 2));
	buf_done(&f.data);
	return p;
}

START_TEST(every_record_becomes_what_it_means)
{
	struct profile *p = read_recording(false, false);
	ck_assert_uint_eq(p->samples.n, 4);
	ck_assert_str_eq(stack_text(p, 0),
			 "/usr/bin/app+0x1100;/lib/libc.so.6+0x26010;[unknown]@[kernel];"
			 "bpf_prog_6deef7357e7b4530_on_cpu@[bpf];[nf_nat]+0x1f;"
			 "[kernel]+0xffffffff81000100");
	/* 0x1234 - 1 is nowhere. */
	ck_assert_str_eq(stack_text(p, 1), "[unknown];[unknown]@[anon];/usr/bin/app+0x1100");
	/* In the part of the kernel that is freed after the start. */
	ck_assert_str_eq(stack_text(p, 2), "[kernel]+0xffffffff83000000");
	ck_assert_str_eq(label_text(p, 0, "comm"), "app");
	ck_assert_str_eq(label_text(p, 2, "process"), "swapper");
	const struct type *cpu = type_of(p, 0), *sched = type_of(p, 3);
	ck_assert_str_eq(profile_str(p, cpu->name), "cpu");
	ck_assert_str_eq(profile_str(p, cpu->sample_type), "samples");
	ck_assert_str_eq(profile_str(p, cpu->period_unit), "nanoseconds");
	ck_assert_int_eq(p->series.series.v[p->samples.series[0]].period, 1001001);
	ck_assert_int_eq(p->samples.value[0], 1);
	ck_assert_str_eq(profile_str(p, sched->name), "sched:sched_switch");
	ck_assert_int_eq(p->samples.value[3], 5);
	ck_assert_int_eq(p->samples.time_ns[3], 3000);
	ck_assert_uint_eq(p->samples.cpu[3], 3);
	ck_assert_str_eq(profile_str(p, p->meta.host), "db7");
	ck_assert_str_eq(profile_str(p, p->meta.kernel), "6.1.0-13");
	ck_assert_str_eq(profile_str(p, p->meta.command), "perf record");
	ck_assert_str_eq(profile_str(p, p->meta.clock), "cpu-clock:ppp");
	ck_assert_uint_eq(p->meta.cpus, 4);
	ck_assert_int_eq(p->meta.start_mono_ns, 1000);
	ck_assert_int_eq(p->meta.duration_ns, 2000);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
	const struct mapping *app = NULL;
	for (size_t i = 0; i < p->frames.mappings.n; i++)
		if (strcmp(profile_str(p, p->frames.mappings.v[i].name), "/usr/bin/app") == 0)
			app = &p->frames.mappings.v[i];
	ck_assert_ptr_nonnull(app);
	ck_assert_uint_eq(app->build_id_len, 20);
	ck_assert_mem_eq(app->build_id, build_id, 20);
	profile_free(p);
}
END_TEST

START_TEST(byte_order_and_way_change_nothing)
{
	struct profile *file = read_recording(false, false);
	for (int i = 1; i < 4; i++) {
		struct profile *other = read_recording(i & 1, i & 2);
		assert_same_profile(file, other, SPELL_TIMES | SPELL_MAPPINGS);
		profile_free(other);
	}
	profile_free(file);
}
END_TEST

/* perf record -z: one zstd stream, cut anywhere, records across the cuts. */
static struct pdf compressed(const struct pdf *f, size_t piece)
{
	struct pdf out = { .big = f->big, .sample_type = f->sample_type };
	size_t cap = ZSTD_compressBound(f->data.len);
	char *packed = malloc(cap);
	size_t len = ZSTD_compress(packed, cap, f->data.data, f->data.len, 3);
	for (size_t at = 0; at < len; at += piece) {
		pdf_begin(&out, 81, 0);
		buf_add(&out.data, packed + at, len - at < piece ? len - at : piece);
		pdf_end(&out);
	}
	free(packed);
	return out;
}

START_TEST(compressed_records_are_the_same)
{
	struct pdf f = recording(false);
	struct profile *plain = read_recording(false, false);
	for (size_t piece = 1; piece < 100; piece += 7) {
		struct pdf z = compressed(&f, piece);
		struct profile *p = read_file(pdf_file(&z, both(), 2));
		assert_same_profile(plain, p, SPELL_TIMES | SPELL_MAPPINGS);
		profile_free(p);
		buf_done(&z.data);
	}
	buf_done(&f.data);
	profile_free(plain);
}
END_TEST

/* perf was killed: the header says that there are no data, and nothing is behind them. */
START_TEST(a_killed_recording_is_read)
{
	struct pdf f = recording(false);
	struct buf file = pdf_file(&f, both(), 2);
	size_t data_at = PDF_HEADER_BYTES + 2 * (8 + PDF_ATTR_BYTES + 16);
	file.len = data_at + f.data.len;
	memset(file.data + 48, 0, 8);
	struct profile *p = read_file(file);
	ck_assert_uint_eq(p->samples.n, 4);
	ck_assert_str_eq(stack_text(p, 2), "[kernel]+0xffffffff83000000");
	ck_assert_str_eq(profile_str(p, type_of(p, 3)->name), "tracepoint 316");
	profile_free(p);
	buf_done(&f.data);
}
END_TEST

/* Cut anywhere: an error in words, or samples that are the first ones of the whole, and the loss is counted. */
START_TEST(cut_anywhere)
{
	for (int pipe = 0; pipe < 2; pipe++) {
		struct pdf f = recording(false);
		struct buf file = (pipe ? pdf_pipe : pdf_file)(&f, both(), 2);
		size_t most = 0;
		for (size_t len = 0; len <= file.len; len++) {
			struct profile *p;
			struct err err = { 0 };
			char *exact = malloc(len + 1);
			memcpy(exact, file.data, len);
			int rc = read_bytes(exact, len, &p, &err);
			ck_assert(rc == 0 || (rc == -EBADMSG && *err.text));
			ck_assert_uint_ge(p->samples.n, most);
			most = p->samples.n;
			free(exact);
			profile_free(p);
		}
		ck_assert_uint_eq(most, 4);
		buf_done(&file);
		buf_done(&f.data);
	}
}
END_TEST

/* Any byte changed to anything: no harm (the sanitizers watch). */
START_TEST(any_byte_changed)
{
	struct rng r = { 5 };
	struct pdf f = recording(false);
	struct buf file = pdf_file(&f, both(), 2);
	for (size_t at = 0; at < file.len; at++) {
		struct profile *p;
		char was = file.data[at];
		file.data[at] = rng_next(&r) >> 32;
		read_bytes(file.data, file.len, &p, NULL);
		profile_free(p);
		file.data[at] = was;
	}
	buf_done(&file);
	buf_done(&f.data);
}
END_TEST

/* --- processes -------------------------------------------------------------------------------- */

static void put_at(struct pdf *f, uint32_t pid, uint32_t tid, uint64_t time, uint64_t ip)
{
	const uint64_t chain[] = { PERF_CONTEXT_USER, ip, 0 };
	f->id = clock_event.id;
	pdf_sample(f, PERF_RECORD_MISC_USER, pid, tid, time, 1000, chain);
}

START_TEST(forks_execs_and_threads)
{
	struct pdf f = { .sample_type = PDF_SAMPLE_TYPE };
	const uint64_t in_exec[] = { PERF_CONTEXT_KERNEL, KERNEL_TEXT, PERF_CONTEXT_USER, 0x1010,
				     0 };
	f.id = clock_event.id;
	pdf_comm(&f, 0, 10, 10, "shell", 1);
	pdf_mmap(&f, 10, 0x1000, 0x1000, 0, "/bin/sh", 2);
	pdf_task(&f, PERF_RECORD_FORK, 11, 11, 10, 10, 3);
	put_at(&f, 11, 11, 4, 0x1010);
	pdf_mmap(&f, 10, 0x1000, 0x100, 0, "/bin/late", 5); /* the parent's only */
	put_at(&f, 11, 11, 6, 0x1011);
	put_at(&f, 10, 10, 7, 0x1012);
	put_at(&f, 10, 10, 8, 0x1112); /* what is left of /bin/sh */
	pdf_comm(&f, PERF_RECORD_MISC_COMM_EXEC, 11, 11, "tool", 9);
	pdf_sample(&f, PERF_RECORD_MISC_KERNEL, 11, 11, 10, 1000, in_exec);
	pdf_mmap(&f, 11, 0x8000, 0x1000, 0, "/bin/tool", 11);
	put_at(&f, 11, 11, 12, 0x8001);
	put_at(&f, 11, 11, 13, 0x1010); /* nothing is there any more */
	pdf_task(&f, PERF_RECORD_FORK, 11, 12, 11, 11, 14);
	pdf_comm(&f, 0, 11, 12, "worker", 15);
	put_at(&f, 11, 12, 16, 0x8002);
	pdf_task(&f, PERF_RECORD_EXIT, 11, 11, 10, 10, 17);
	put_at(&f, 11, 12, 18, 0x8003);
	pdf_task(&f, PERF_RECORD_EXIT, 11, 12, 11, 11, 19);
	pdf_task(&f, PERF_RECORD_FORK, 11, 11, 10, 10, 20); /* the number again */
	put_at(&f, 11, 11, 21, 0x8004);
	static const struct {
		const char *stack, *comm, *process;
	} want[] = {
		{ "/bin/sh+0x10", "shell", "shell" },
		{ "/bin/sh+0x11", "shell", "shell" },
		{ "/bin/late+0x12", "shell", "shell" },
		{ "/bin/sh+0x112", "shell", "shell" },
		{ "/bin/sh+0x10;[unknown]@[kernel]", "tool", "tool" },
		{ "/bin/tool+0x1", "tool", "tool" },
		{ "[unknown]", "tool", "tool" },
		{ "/bin/tool+0x2", "worker", "tool" },
		{ "/bin/tool+0x3", "worker", "tool" },
		{ "[unknown]", "shell", "shell" },
	};
	struct profile *p = read_file(pdf_file(&f, &clock_event, 1));
	ck_assert_uint_eq(p->samples.n, sizeof want / sizeof *want);
	for (size_t i = 0; i < p->samples.n; i++) {
		ck_assert_str_eq(stack_text(p, i), want[i].stack);
		ck_assert_str_eq(label_text(p, i, "comm"), want[i].comm);
		ck_assert_str_eq(label_text(p, i, "process"), want[i].process);
	}
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
	profile_free(p);
	buf_done(&f.data);
}
END_TEST

/* Mappings over mappings, against one object per byte. */
START_TEST(spaces_are_like_bytes)
{
	enum { SIZE = 200, ROUNDS = 4000 };
	struct rng r = { 11 };
	struct pd_world w = { 0 };
	uint32_t object[SIZE] = { 0 }, from[SIZE] = { 0 };
	for (uint32_t i = 1; i <= ROUNDS; i++) {
		uint64_t start = rng_below(&r, SIZE), end = start + 1 + rng_below(&r, SIZE - start);
		struct pd_map m = { start, end, 1000, i };
		ck_assert(pd_world_map(&w, 1, &m));
		for (uint64_t at = start; at < end; at++) {
			object[at] = i;
			from[at] = start;
		}
		const struct pd_space *s = pd_process_get(&w, 1)->space;
		ck_assert_uint_eq(w.n_maps, s->maps.n);
		for (uint64_t at = 0; at < SIZE; at++) {
			const struct pd_map *found = pd_space_find(s, at);
			ck_assert_uint_eq(found ? found->object : 0, object[at]);
			if (found)
				ck_assert_uint_eq(at - found->start + found->pgoff,
						  1000 + at - from[at]);
		}
	}
	pd_world_done(&w);
}
END_TEST

/* Many processes that come and go leave no mappings behind, but for the last few. */
START_TEST(ended_processes_are_forgotten)
{
	enum { PROCESSES = 20000 };
	struct pd_world w = { 0 };
	for (uint32_t pid = 1; pid <= PROCESSES; pid++) {
		ck_assert(pd_world_fork(&w, pid, pid, 0, 0, true));
		for (uint64_t i = 0; i < 20; i++) {
			struct pd_map m = { i << 12, (i + 1) << 12, 0, 1 };
			ck_assert(pd_world_map(&w, pid, &m));
		}
		pd_world_exit(&w, pid, pid);
	}
	ck_assert_uint_le(w.n_maps, 20 * (PD_ENDED + 1));
	pd_world_done(&w);
}
END_TEST

START_TEST(mappings_have_a_limit)
{
	struct pd_world w = { 0 };
	uint64_t kept = 0;
	for (uint64_t i = 0; i < 2 * PD_MAX_MAPS; i++) {
		struct pd_map m = { i * 2, i * 2 + 1, 0, 1 };
		kept += pd_world_map(&w, 1, &m);
	}
	ck_assert_uint_le(kept, PD_MAX_MAPS);
	ck_assert_uint_ge(kept, PD_MAX_MAPS - 2);
	pd_world_done(&w);
}
END_TEST

/* --- order ------------------------------------------------------------------------------------ */

/* As perf writes them: in each round one CPU after the other. The mappings of a process that ran on both are put where they
 * belong in time. */
START_TEST(records_are_put_in_order)
{
	struct pdf f = { .sample_type = PDF_SAMPLE_TYPE };
	f.id = clock_event.id;
	pdf_comm(&f, 0, 10, 10, "app", 0);
	pdf_mmap(&f, 10, 0x1000, 0x1000, 0, "/first", 0);
	put_at(&f, 10, 10, 100, 0x1000); /* CPU 0 */
	put_at(&f, 10, 10, 300, 0x1000);
	pdf_mmap(&f, 10, 0x1000, 0x1000, 0, "/second", 200); /* CPU 1 */
	pdf_round(&f);
	put_at(&f, 10, 10, 500, 0x1000);
	pdf_mmap(&f, 10, 0x1000, 0x1000, 0, "/third", 250);
	put_at(&f, 10, 10, 240, 0x1000);
	pdf_round(&f);
	struct profile *p = read_file(pdf_file(&f, &clock_event, 1));
	static const char *const want[] = { "/first+0x0", "/second+0x0", "/third+0x0",
					    "/third+0x0" };
	ck_assert_uint_eq(p->samples.n, 4);
	for (size_t i = 0; i < 4; i++)
		ck_assert_str_eq(stack_text(p, i), want[i]);
	ck_assert_uint_eq(p->meta.loss[LOSS_LATE], 0);
	profile_free(p);
	buf_done(&f.data);
}
END_TEST

struct given {
	uint64_t last, n, backwards;
};

static void note_given(void *ctx, const void *record, size_t len)
{
	struct given *g = ctx;
	uint64_t time;
	ck_assert_uint_ge(len, sizeof time);
	memcpy(&time, record, sizeof time);
	g->backwards += time < g->last;
	g->last = time;
	g->n++;
}

/* As long as nothing goes back further than the round before, all of it comes out in order. */
START_TEST(rounds_are_enough)
{
	enum { ROUNDS = 200, EACH = 100 };
	struct rng r = { 3 };
	struct given g = { 0 };
	struct pd_queue q;
	pd_queue_init(&q, note_given, &g);
	size_t most = 0;
	for (uint64_t round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < EACH; i++) {
			uint64_t time = round * 1000 + rng_below(&r, 1999);
			pd_queue_add(&q, time, &time, sizeof time);
		}
		pd_queue_round(&q);
		most = q.heap.n > most ? q.heap.n : most;
	}
	pd_queue_flush(&q);
	ck_assert_uint_eq(g.n, ROUNDS * EACH);
	ck_assert_uint_eq(g.backwards, 0);
	ck_assert_uint_eq(q.late, 0);
	ck_assert_uint_lt(most, 4 * EACH);
	pd_queue_done(&q);
}
END_TEST

/* Without rounds memory has an end, and what comes too late is counted. */
START_TEST(the_queue_has_a_limit)
{
	enum { LONG = 1 << 16, FIT = PD_MAX_QUEUED_BYTES / LONG, N = FIT + FIT / 2 };
	static uint64_t record[LONG / sizeof(uint64_t)];
	struct given g = { 0 };
	struct pd_queue q;
	pd_queue_init(&q, note_given, &g);
	for (uint64_t i = 0; i < N; i++) {
		record[0] = N - i;
		pd_queue_add(&q, record[0], record, sizeof record);
		ck_assert_uint_le(q.bytes, PD_MAX_QUEUED_BYTES);
	}
	ck_assert_uint_ge(q.late, N - FIT - 1);
	pd_queue_flush(&q);
	ck_assert_uint_eq(g.n, N);
	pd_queue_done(&q);
}
END_TEST

/* --- samples ---------------------------------------------------------------------------------- */

static int64_t sum_of(struct profile *p, const char *type)
{
	uint32_t t = profile_pick_type(p, type);
	return t == UINT32_MAX ? -1 : profile_total(p, t);
}

/* Two clocks tell the same time: they must not fall together. The default is the first event that has
 * samples, not the first sample's. */
START_TEST(each_event_is_a_type)
{
	const struct pdf_event events[] = {
		{ .type = PERF_TYPE_SOFTWARE,
		  .config = PERF_COUNT_SW_DUMMY,
		  .id = 1,
		  .name = "dummy" },
		{ .type = PERF_TYPE_HARDWARE, .id = 2, .name = "cycles", .is_freq = true },
		{ .type = PERF_TYPE_SOFTWARE, .config = 1, .id = 3, .name = "task-clock" },
		{ .type = PERF_TYPE_SOFTWARE, .config = 0, .id = 4, .name = "cpu-clock" },
		{ .type = PERF_TYPE_SOFTWARE, .config = 10, .id = 5, .name = "offcpu-time" },
	};
	const uint64_t chain[] = { PERF_CONTEXT_USER, 0x1000, 0 };
	struct pdf f = { .sample_type = PDF_SAMPLE_TYPE };
	for (uint64_t id = 5; id > 1; id--) {
		f.id = id;
		pdf_sample(&f, PERF_RECORD_MISC_USER, 10, 10, 100 - id, 1000 * id, chain);
		pdf_sample(&f, PERF_RECORD_MISC_USER, 10, 10, 100 - id, 1000 * id, chain);
	}
	struct profile *p = read_file(pdf_file(&f, events, 5));
	ck_assert_uint_eq(p->series.types.n, 4);
	ck_assert_int_eq(sum_of(p, "cycles"), 4000);
	ck_assert_int_eq(sum_of(p, "cpu"), 2);
	ck_assert_int_eq(sum_of(p, "off-cpu"), 10000);
	ck_assert_int_eq(sum_of(p, NULL), 4000);
	ck_assert_str_eq(profile_str(p, p->meta.clock), "cycles");
	profile_free(p);
	buf_done(&f.data);
}
END_TEST

/* {a,b}:S: a sample of the leader says how far all of the group have counted. */
START_TEST(groups_count_since_the_last_sample)
{
	struct pdf_event events[] = {
		clock_event, { .type = PERF_TYPE_SOFTWARE, .config = 2, .id = 72, .name = "faults" }
	};
	struct pdf f = { .sample_type = PDF_SAMPLE_TYPE | PERF_SAMPLE_READ, .id = 71 };
	static const uint64_t counts[][2] = { { 1000, 7 }, { 2500, 7 }, { 2500, 9 } };
	for (int i = 0; i < 2; i++)
		events[i].read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID |
					PERF_FORMAT_TOTAL_TIME_ENABLED | 1 << 4;
	for (int i = 0; i < 3; i++) {
		pdf_sample_open(&f, PERF_RECORD_MISC_USER, 0x1000, 10, 10, 100 + i, 1);
		pdf64(&f, 2);
		pdf64(&f, 12345); /* time enabled */
		for (int k = 0; k < 2; k++) {
			pdf64(&f, counts[i][k]);
			pdf64(&f, events[k].id);
			pdf64(&f, 0); /* lost */
		}
		pdf_chain(&f, NULL);
		pdf_end(&f);
	}
	struct profile *p = read_file(pdf_file(&f, events, 2));
	ck_assert_uint_eq(p->samples.n, 4);
	ck_assert_int_eq(sum_of(p, "cpu"), 2);
	ck_assert_int_eq(sum_of(p, "faults"), 9);
	ck_assert_int_eq(p->series.series.v[p->samples.series[0]].period, 1000);
	ck_assert_int_eq(p->series.series.v[p->samples.series[2]].period, 1500);
	profile_free(p);
	buf_done(&f.data);
}
END_TEST

/* --call-graph dwarf: the kernel's part is there, of the user's only the first address. */
START_TEST(a_stack_that_was_not_walked_says_so)
{
	struct pdf_event e = clock_event;
	e.user_regs = 0x1f0; /* four registers, the last is ip */
	struct pdf f = { .sample_type = PDF_SAMPLE_TYPE | PERF_SAMPLE_RAW | PERF_SAMPLE_REGS_USER |
					PERF_SAMPLE_STACK_USER,
			 .id = 71 };
	const uint64_t kernel[] = { PERF_CONTEXT_KERNEL, KERNEL_TEXT + 8, KERNEL_TEXT + 17, 0 };
	pdf_kernel_mmap(&f, KERNEL_TEXT, 0x1000000, KERNEL_TEXT, "[kernel.kallsyms]_text");
	pdf_mmap(&f, 10, 0x400000, 0x1000, 0, "/bin/app", 0);
	for (int i = 0; i < 3; i++) {
		bool is_user = i == 1, is_kernel_thread = i == 2;
		pdf_sample_open(&f, is_user ? PERF_RECORD_MISC_USER : PERF_RECORD_MISC_KERNEL,
				is_user ? 0x400020 : KERNEL_TEXT + 8, 10, 10, 100 + i, 1000);
		pdf_chain(&f, is_user ? NULL : kernel);
		pdf32(&f, 4); /* raw */
		pdf32(&f, 0);
		pdf64(&f, is_kernel_thread ? PERF_SAMPLE_REGS_ABI_NONE : PERF_SAMPLE_REGS_ABI_64);
		for (uint64_t reg = 0; reg < 5 && !is_kernel_thread; reg++)
			pdf64(&f, reg == 4 ? 0x400020 : reg);
		pdf64(&f, 0);
		pdf_end(&f);
	}
	struct profile *p = read_file(pdf_file(&f, &e, 1));
	ck_assert_uint_eq(p->samples.n, 3);
	ck_assert_str_eq(stack_text(p, 0),
			 "[truncated: DWARF stack not walked];/bin/app+0x20;"
			 "[kernel]+0xffffffff81000010;[kernel]+0xffffffff81000008");
	ck_assert_str_eq(stack_text(p, 1), "[truncated: DWARF stack not walked];/bin/app+0x20");
	ck_assert_str_eq(stack_text(p, 2),
			 "[kernel]+0xffffffff81000010;[kernel]+0xffffffff81000008");
	profile_free(p);
	buf_done(&f.data);
}
END_TEST

/* Says that the frames are at the addresses that the words of the copy are. */
struct fake_walker {
	uint64_t addr[8];
	uint32_t n;
	struct user_stack last;
	char files[256]; /* of the addresses */
};

static struct user_walk fake_walk(void *stacks, const struct user_stack *s)
{
	struct fake_walker *w = stacks;
	struct user_map m;
	uint32_t n = 0;
	struct buf files = { 0 };
	w->last = *s;
	for (; n < s->stack_bytes / 8 && n < 8; n++) {
		memcpy(&w->addr[n], (const char *)s->stack + n * 8, 8);
		bool found = s->find(s->space, w->addr[n], &m);
		buf_addf(&files, " %s:%llu", found ? m.file.path ? m.file.path : "memory" : "none",
			 found ? (unsigned long long)m.file.inode : 0);
	}
	snprintf(w->files, sizeof w->files, "%s", buf_cstr(&files));
	buf_done(&files);
	return (struct user_walk){ w->addr, n, n < 3 ? "[truncated: fake]" : NULL };
}

static struct profile *read_walked(struct buf file, struct fake_walker *w)
{
	struct format_here here = { .host = "", .walk_stack = fake_walk, .stacks = w };
	struct profile *p = profile_new();
	struct input *in;
	*w = (struct fake_walker){ 0 };
	ck_assert_int_eq(input_open_memory(file.data, file.len, &in, NULL), 0);
	ck_assert_int_eq(perf_data_read_here(in, profile_sink(p), &here, NULL), 0);
	input_close(in);
	buf_done(&file);
	return p;
}

static const uint64_t deep_stack[] = { 0x400020, 0x7f0000000010, 0x10000, 0x400030 };
static const uint64_t user_regs[] = { 5, 4, 3, 2, 0x400020 }; /* r4, r5, r6, r7, r8 */

/* After a map of the first file was replaced in part, by memory and by another. */
static struct pdf dwarf_recording(bool big)
{
	struct pdf f = { .sample_type =
				 PDF_SAMPLE_TYPE | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
			 .id = 71,
			 .big = big };
	pdf_kernel_mmap(&f, KERNEL_TEXT, 0x1000000, KERNEL_TEXT, "[kernel.kallsyms]_text");
	pdf_mmap2(&f, 10, 0x400000, 0x1000, 0, "/bin/old", NULL, 6, 0);
	pdf_mmap2(&f, 10, 0x400000, 0x1000, 0, "/bin/app (deleted)", NULL, 7, 1);
	pdf_mmap2(&f, 10, 0x7f0000000000, 0x1000, 0, "//anon", NULL, 0, 2);
	return f;
}

static void put_walked(struct pdf *f, uint16_t misc, uint64_t abi, size_t n_words, uint64_t used,
		       const uint64_t *chain)
{
	pdf_sample_open(f, misc, chain ? KERNEL_TEXT + 8 : 0x400020, 10, 10, 100, 1000);
	pdf_chain(f, chain);
	pdf_user_state(f, abi, user_regs, 5, deep_stack, n_words, used);
	pdf_end(f);
}

START_TEST(a_stack_is_handed_to_be_walked)
{
	static const uint64_t kernel[] = { PERF_CONTEXT_KERNEL, KERNEL_TEXT + 8, 0 };
	struct pdf_event e = clock_event;
	struct fake_walker w;
	e.user_regs = 0x1f0;
	struct pdf f = dwarf_recording(false);
	put_walked(&f, PERF_RECORD_MISC_USER, PERF_SAMPLE_REGS_ABI_64, 4, 16, NULL);
	put_walked(&f, PERF_RECORD_MISC_KERNEL, PERF_SAMPLE_REGS_ABI_64, 4, 32, kernel);
	struct profile *p = read_walked(pdf_file(&f, &e, 1), &w);
	ck_assert_str_eq(stack_text(p, 0), "[truncated: fake];[unknown]@[anon];/bin/app+0x20");
	ck_assert_str_eq(stack_text(p, 1), "/bin/app+0x30;[unknown];[unknown]@[anon];"
					   "/bin/app+0x20;[kernel]+0xffffffff81000008");
	ck_assert_str_eq(w.files, " /bin/app:7 memory:0 none:0 /bin/app:7");
	ck_assert_int_eq(w.last.machine, USER_MACHINE_X86_64);
	ck_assert_uint_eq(w.last.has_regs, 0x1f0);
	for (int i = 4; i <= 8; i++)
		ck_assert_uint_eq(w.last.regs[i], user_regs[i - 4]);
	ck_assert(!w.last.is_whole);
	profile_free(p);
	buf_done(&f.data);
}
END_TEST

/* The leaf is there even when nobody walks; a stack that cannot be in its record is no sample. */
START_TEST(user_states_that_are_odd)
{
	struct pdf_event e = clock_event;
	struct fake_walker w;
	e.user_regs = 0x1f0;
	struct pdf f = dwarf_recording(false);
	put_walked(&f, PERF_RECORD_MISC_USER, PERF_SAMPLE_REGS_ABI_32, 0, 0, NULL);
	struct profile *p = read_walked(pdf_file(&f, &e, 1), &w);
	ck_assert_int_eq(w.last.machine, USER_MACHINE_X86);
	ck_assert_uint_eq(w.last.stack_bytes, 0);
	ck_assert_str_eq(stack_text(p, 0), "[truncated: fake];/bin/app+0x20");
	profile_free(p);
	/* More used than there is; then whole. */
	put_walked(&f, PERF_RECORD_MISC_USER, PERF_SAMPLE_REGS_ABI_64, 4, UINT64_MAX, NULL);
	p = read_walked(pdf_file(&f, &e, 1), &w);
	ck_assert_uint_eq(w.last.stack_bytes, 32);
	ck_assert(!w.last.is_whole);
	profile_free(p);
	put_walked(&f, PERF_RECORD_MISC_USER, PERF_SAMPLE_REGS_ABI_64, 4, 24, NULL);
	p = read_walked(pdf_file(&f, &e, 1), &w);
	ck_assert_uint_eq(w.last.stack_bytes, 24);
	ck_assert(w.last.is_whole);
	profile_free(p);
	/* More registers than the records have bytes. */
	e.user_regs = UINT64_MAX;
	struct buf file = pdf_file(&f, &e, 1);
	struct err err = { 0 };
	ck_assert_int_eq(read_bytes(file.data, file.len, &p, &err), -EBADMSG);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 3);
	profile_free(p);
	buf_done(&file);
	buf_done(&f.data);
}
END_TEST

/* Of a machine that is not ours the walker hears so. */
START_TEST(stacks_of_another_machine)
{
	struct pdf_event e = clock_event;
	struct fake_walker w;
	e.user_regs = 0x1f0;
	struct pdf f = dwarf_recording(true);
	put_walked(&f, PERF_RECORD_MISC_USER, PERF_SAMPLE_REGS_ABI_64, 1, 8, NULL);
	struct buf file = pdf_file(&f, &e, 1);
	char *arch = memmem(file.data, file.len, "x86_64", 6);
	memcpy(arch, "ppc64 ", 6);
	struct profile *p = read_walked(file, &w);
	ck_assert_int_eq(w.last.machine, USER_MACHINE_OTHER);
	ck_assert_uint_eq(w.last.regs[8], 0x400020);
	profile_free(p);
	/* Of one that says nothing the registers that were kept tell. */
	f.data.len = 0;
	e.user_regs = 0xff0fff;
	pdf_sample_open(&f, PERF_RECORD_MISC_USER, 0x400020, 10, 10, 100, 1000);
	pdf_chain(&f, NULL);
	uint64_t regs[20] = { [8] = 0x400020 };
	pdf_user_state(&f, PERF_SAMPLE_REGS_ABI_64, regs, 20, NULL, 0, 0);
	pdf_end(&f);
	file = pdf_file(&f, &e, 1);
	memset(file.data + 72, 0, 32); /* which sections there are */
	p = read_walked(file, &w);
	ck_assert_int_eq(w.last.machine, USER_MACHINE_X86_64);
	ck_assert_uint_eq(w.last.regs[8], 0x400020);
	profile_free(p);
	buf_done(&f.data);
}
END_TEST

START_TEST(stacks_that_were_cut_say_so)
{
	uint64_t deep[130] = { PERF_CONTEXT_USER },
		 odd[] = { PERF_CONTEXT_USER, 0x1000, -3000ull, 0x2000, 0 };
	struct pdf f = { .sample_type = PDF_SAMPLE_TYPE, .id = 71 };
	for (int i = 1; i <= 127; i++)
		deep[i] = 0x1000;
	pdf_sample(&f, PERF_RECORD_MISC_USER, 10, 10, 1, 1000, deep);
	deep[127] = 0;
	pdf_sample(&f, PERF_RECORD_MISC_USER, 10, 10, 2, 1000, deep);
	pdf_sample(&f, PERF_RECORD_MISC_USER, 10, 10, 3, 1000, odd);
	struct profile *p = read_file(pdf_file(&f, &clock_event, 1));
	ck_assert_int_eq(strncmp(stack_text(p, 0), "[truncated: depth];[unknown];", 29), 0);
	ck_assert_int_eq(strncmp(stack_text(p, 1), "[unknown];", 10), 0);
	ck_assert_str_eq(stack_text(p, 2), "[truncated: unknown part of the stack];[unknown]");
	profile_free(p);
	buf_done(&f.data);
}
END_TEST

/* Without times equal samples are one. */
START_TEST(samples_without_a_time_are_summed)
{
	const uint64_t chain[] = { PERF_CONTEXT_USER, 0x1000, 0 };
	struct pdf f = { .sample_type = PDF_SAMPLE_TYPE & ~(uint64_t)PERF_SAMPLE_TIME, .id = 71 };
	for (int i = 0; i < 1000; i++)
		pdf_sample(&f, PERF_RECORD_MISC_USER, 10, 10 + i % 2, 0, 1000, chain);
	struct profile *p = read_file(pdf_file(&f, &clock_event, 1));
	ck_assert_uint_eq(p->samples.n, 2);
	ck_assert_int_eq(profile_total(p, 0), 1000);
	ck_assert_int_eq(p->meta.duration_ns, 0);
	profile_free(p);
	buf_done(&f.data);
}
END_TEST

/* --- what else is in a file -------------------------------------------------------------------- */

/* Lost records and lost samples are told twice by newer perf; trace data follow their record in a
 * stream. */
START_TEST(losses_and_passed_over_data)
{
	struct pdf f = recording(false);
	f.id = 71;
	pdf_begin(&f, PERF_RECORD_LOST, 0);
	pdf64(&f, 71);
	pdf64(&f, 30);
	pdf_trailer(&f, 0, 0, 4000);
	pdf_begin(&f, PERF_RECORD_LOST_SAMPLES, 0);
	pdf64(&f, 20);
	pdf_trailer(&f, 0, 0, 4001);
	pdf_begin(&f, 71, 0); /* AUXTRACE */
	pdf64(&f, 16);
	for (int i = 0; i < 4; i++)
		pdf64(&f, 0);
	pdf_end(&f);
	pdf64(&f, UINT64_MAX);
	pdf64(&f, UINT64_MAX);
	pdf_begin(&f, 66, 0); /* tracing data */
	pdf32(&f, 5);
	pdf32(&f, 0);
	pdf_end(&f);
	pdf64(&f, UINT64_MAX);
	pdf_begin(&f, 12345, 0); /* a kind from the future */
	pdf_end(&f);
	put_at(&f, 10, 10, 5000, 0x400100);
	struct profile *p = read_file(pdf_pipe(&f, both(), 2));
	ck_assert_uint_eq(p->samples.n, 5);
	ck_assert_str_eq(stack_text(p, 4), "/usr/bin/app+0x1100");
	ck_assert_uint_eq(p->meta.loss[LOSS_RING_FULL], 30);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 1);
	profile_free(p);
	buf_done(&f.data);
}
END_TEST

/* The table of build ids makes one file of what was mapped twice, by whatever inode. */
START_TEST(build_ids_of_the_table)
{
	struct pdf f = { .sample_type = PDF_SAMPLE_TYPE, .id = 71 };
	pdf_begin(&f, 67, 1 << 15);
	pdf32(&f, UINT32_MAX);
	buf_add(&f.data, build_id, 16);
	buf_add(&f.data, "\0\0\0\0\x10\0\0\0", 8); /* 16 bytes long */
	pdf_text(&f, "/lib/a.so");
	pdf_end(&f);
	pdf_mmap2(&f, 10, 0x1000, 0x1000, 0, "/lib/a.so", NULL, 1, 0);
	pdf_mmap2(&f, 11, 0x1000, 0x1000, 0, "/lib/a.so", NULL, 2, 0);
	pdf_mmap2(&f, 10, 0x2000, 0x1000, 0, "/lib/b.so", NULL, 3, 0);
	pdf_mmap2(&f, 11, 0x2000, 0x1000, 0, "/lib/b.so", NULL, 4, 0);
	for (uint32_t pid = 10; pid < 12; pid++) {
		put_at(&f, pid, pid, pid, 0x1000);
		put_at(&f, pid, pid, pid, 0x2000);
	}
	struct profile *p = read_file(pdf_pipe(&f, &clock_event, 1));
	ck_assert_uint_eq(p->frames.mappings.n, 3);
	ck_assert_uint_eq(p->frames.mappings.v[0].build_id_len, 16);
	ck_assert_mem_eq(p->frames.mappings.v[0].build_id, build_id, 16);
	ck_assert_uint_eq(p->samples.stack[0], p->samples.stack[2]);
	ck_assert_uint_ne(p->samples.stack[1], p->samples.stack[3]);
	profile_free(p);
	buf_done(&f.data);
}
END_TEST

static const char *jit_name(void *ctx, uint32_t pid, uint64_t addr)
{
	(void)ctx;
	return pid == 10 && addr == 0x7f1000000010 ? "jitted" : NULL;
}

/* Only of recordings of this very machine. */
START_TEST(code_made_at_run_time_is_asked_for)
{
	static const char *const hosts[] = { "db7", "db8" };
	for (int i = 0; i < 2; i++) {
		struct format_here here = { .host = hosts[i], .code_name = jit_name };
		struct pdf f = { .sample_type = PDF_SAMPLE_TYPE };
		put_world(&f);
		put_at(&f, 10, 10, 5, 0x7f1000000010);
		put_at(&f, 10, 10, 6, 0x7f1000000018);
		struct buf file = pdf_file(&f, &clock_event, 1);
		struct input *in;
		struct profile *p = profile_new();
		ck_assert_int_eq(input_open_memory(file.data, file.len, &in, NULL), 0);
		ck_assert_int_eq(perf_data_read_here(in, profile_sink(p), &here, NULL), 0);
		ck_assert_str_eq(stack_text(p, 0), i ? "[unknown]@[anon]" : "jitted");
		ck_assert_str_eq(stack_text(p, 1), "[unknown]@[anon]");
		input_close(in);
		profile_free(p);
		buf_done(&file);
		buf_done(&f.data);
	}
}
END_TEST

/* --- files that are none ---------------------------------------------------------------------- */

struct damage {
	size_t at; /* 8 bytes of the header */
	uint64_t value;
	const char *words;
};

START_TEST(headers_that_cannot_be)
{
	static const struct damage damages[] = {
		{ 16, 0, "no events" },        { 16, UINT64_MAX, "no events" },
		{ 16, 40, "cannot be read" },  { 24, UINT64_MAX - 8, "behind the end" },
		{ 32, 0, "no events" },        { 32, UINT64_MAX, "section of" },
		{ 40, 0, "nowhere" },          { 40, UINT64_MAX, "nowhere" },
		{ 48, UINT64_MAX, "nowhere" },
	};
	struct pdf f = recording(false);
	for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
		struct buf file = pdf_file(&f, both(), 2);
		struct profile *p;
		struct err err = { 0 };
		memcpy(file.data + damages[i].at, &damages[i].value, 8);
		ck_assert_int_eq(read_bytes(file.data, file.len, &p, &err), -EBADMSG);
		ck_assert_msg(strstr(err.text, damages[i].words) != NULL, "%zu: %s", i, err.text);
		profile_free(p);
		buf_done(&file);
	}
	buf_done(&f.data);
}
END_TEST

/* A record that cannot be ends the reading: the samples before it stay. */
START_TEST(damage_in_the_middle)
{
	struct pdf f = recording(false);
	pdf_begin(&f, PERF_RECORD_SAMPLE, 0); /* of size 0 */
	put_at(&f, 10, 10, 5000, 0x400100);
	struct profile *p = read_file(pdf_file(&f, both(), 2));
	ck_assert_uint_eq(p->samples.n, 4);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 1);
	profile_free(p);
	buf_done(&f.data);
}
END_TEST

START_TEST(other_files_are_left_alone)
{
	static const char *const texts[] = { "PERFILE", "PERFFILE\x68\0\0\0\0\0\0\0",
					     "main;work 5\nmain 6\n", "" };
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		ck_assert(!perf_data_detect(texts[i], strlen(texts[i])));
	struct pdf f = recording(true);
	struct buf file = pdf_pipe(&f, both(), 2);
	ck_assert(perf_data_detect(file.data, file.len));
	buf_done(&file);
	buf_done(&f.data);
}
END_TEST

UNIT_MAIN("perf_data", every_record_becomes_what_it_means, byte_order_and_way_change_nothing,
	  compressed_records_are_the_same, a_killed_recording_is_read, cut_anywhere,
	  any_byte_changed, forks_execs_and_threads, spaces_are_like_bytes,
	  ended_processes_are_forgotten, mappings_have_a_limit, records_are_put_in_order,
	  rounds_are_enough, the_queue_has_a_limit, each_event_is_a_type,
	  groups_count_since_the_last_sample, a_stack_that_was_not_walked_says_so,
	  a_stack_is_handed_to_be_walked, user_states_that_are_odd, stacks_of_another_machine,
	  stacks_that_were_cut_say_so, samples_without_a_time_are_summed,
	  losses_and_passed_over_data, build_ids_of_the_table, code_made_at_run_time_is_asked_for,
	  headers_that_cannot_be, damage_in_the_middle, other_files_are_left_alone)
