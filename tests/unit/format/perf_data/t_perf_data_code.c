// tier: test
/* perf.data: a perf map names the code of the program that wrote it, and of no other one of its pid. */
#include "perf_data_world.h"

#include "format/common/format.h"
#include "format/perf_data/perf_data_frames.h"

#define S       1000000000ll
#define BOOT_NS (1700000000 * S + 1) /* on the wall clock, not a whole second */
#define CODE    0x7f1000000000

/* One pid runs program a from second 10 on and b from second 20, with a sample of each in code at
 * the same address, and ends in second 30. */
struct run {
	bool a_has_code, b_has_code;
	/* How the clocks relate: perf record -k; when the file was created, and last written. */
	bool has_clock;
	int64_t created_s, written_s;
	/* The perf map, and the process that has the pid now. */
	int64_t map_s, process_s;
	const char *a, *b;
	uint64_t unnamed;
};

static int64_t wall(int64_t s)
{
	return s ? BOOT_NS + s * S : 0;
}

static const char *name_of_code(void *ctx, uint32_t pid, uint64_t addr)
{
	(void)ctx;
	return pid == 10 && addr == CODE + 0x10 ? "jitted" : NULL;
}

static bool times_of_code(void *ctx, uint32_t pid, struct format_code_times *out)
{
	const struct run *run = ctx;
	*out = (struct format_code_times){ wall(run->map_s), wall(run->process_s) };
	return pid == 10;
}

static void put_clock(struct pdf *f)
{
	pdf_begin(f, 80, 0);
	pdf64(f, 29);
	pdf64(f, 1);
	pdf64(f, wall(5));
	pdf64(f, 5 * S);
	pdf_end(f);
}

static void put_program(struct pdf *f, int64_t begin_s, bool has_code)
{
	if (has_code)
		pdf_mmap(f, 10, CODE, 0x1000, 0, "//anon", begin_s * S + 1);
	put_at(f, 10, 10, (begin_s + 1) * S, CODE + 0x10);
}

static struct buf file_of(const struct run *run)
{
	struct pdf f = { .sample_type = PDF_SAMPLE_TYPE, .id = 71 };
	if (run->has_clock)
		put_clock(&f);
	pdf_comm(&f, 0, 10, 10, "perf", 0);
	pdf_comm(&f, PERF_RECORD_MISC_COMM_EXEC, 10, 10, "a", 10 * S);
	put_program(&f, 10, run->a_has_code);
	pdf_comm(&f, PERF_RECORD_MISC_COMM_EXEC, 10, 10, "b", 20 * S);
	put_program(&f, 20, run->b_has_code);
	pdf_task(&f, PERF_RECORD_EXIT, 10, 10, 1, 1, 30 * S);
	struct buf file = pdf_pipe(&f, &clock_event, 1);
	buf_done(&f.data);
	return file;
}

static void check_run(const struct run *run)
{
	const struct format_here here = { .host = "db7",
					  .code_name = name_of_code,
					  .code_times = times_of_code,
					  .ctx = (void *)run,
					  .written_ns = wall(run->written_s),
					  .created_ns = wall(run->created_s),
					  .bytes = 1 << 20 };
	struct buf file = file_of(run);
	struct input *in;
	struct profile *p = profile_new();
	ck_assert_int_eq(input_open_memory(file.data, file.len, &in, NULL), 0);
	ck_assert_int_eq(perf_data_read_here(in, profile_sink(p), &here, NULL), 0);
	ck_assert_uint_eq(p->samples.n, 2);
	for (size_t i = 0; i < 2; i++) {
		bool is_a = p->samples.time_ns[i] == 11 * S;
		ck_assert_str_eq(stack_text(p, i), is_a ? run->a : run->b);
	}
	ck_assert_uint_eq(p->meta.loss[LOSS_CODE_UNREAD], run->unnamed);
	input_close(in);
	profile_free(p);
	buf_done(&file);
}

#define NAMED   "jitted"
#define ANON    "[unknown]@[anon]"
#define NOWHERE "[unknown]"

/* Both generate code. Without -k the wall clock is known up to the time perf needs at its start and end. */
static const struct run two_programs[] = {
	/* With -k: from before a, of a, of b, of neither. */
	{ true, true, true, 0, 0, 5, 0, ANON, ANON, 2 },
	{ true, true, true, 0, 0, 12, 0, NAMED, ANON, 1 },
	{ true, true, true, 0, 0, 22, 0, ANON, NAMED, 1 },
	{ true, true, true, 0, 0, 500, 0, ANON, ANON, 2 },
	/* The same with the file as perf left it: created in 9, written in 31. */
	{ true, true, false, 9, 31, 5, 0, ANON, ANON, 2 },
	{ true, true, false, 9, 31, 12, 0, NAMED, ANON, 1 },
	{ true, true, false, 9, 31, 23, 0, ANON, NAMED, 1 },
	{ true, true, false, 9, 31, 20, 0, ANON, ANON, 2 },
	/* A copy, or a pipe: nothing is known of it. */
	{ true, true, false, 1000, 1000, 12, 0, ANON, ANON, 2 },
	{ true, true, false, 0, 0, 22, 0, ANON, ANON, 2 },
};

START_TEST(one_program_has_the_map)
{
	for (size_t i = 0; i < sizeof two_programs / sizeof *two_programs; i++)
		check_run(&two_programs[i]);
}
END_TEST

/* Only b generates code, as after a shell: the map is its own, unless it is certainly older. */
static const struct run one_program[] = {
	{ false, true, true, 0, 0, 22, 0, NOWHERE, NAMED, 0 },
	{ false, true, true, 0, 0, 12, 0, NOWHERE, ANON, 1 },
	{ false, true, false, 9, 31, 22, 0, NOWHERE, NAMED, 0 },
	{ false, true, false, 9, 31, 12, 0, NOWHERE, ANON, 1 },
	/* It was copied or touched later: as was the recording. */
	{ false, true, true, 0, 0, 500, 0, NOWHERE, NAMED, 0 },
	{ false, true, false, 9, 31, 500, 0, NOWHERE, NAMED, 0 },
	{ false, true, false, 1000, 1000, 22, 0, NOWHERE, NAMED, 0 },
	/* Another process has the pid now: it wrote the map, or has not yet. */
	{ false, true, true, 0, 0, 500, 400, NOWHERE, ANON, 1 },
	{ false, true, true, 0, 0, 22, 400, NOWHERE, NAMED, 0 },
};

START_TEST(the_only_program_with_code_has_the_map)
{
	for (size_t i = 0; i < sizeof one_program / sizeof *one_program; i++)
		check_run(&one_program[i]);
}
END_TEST

/* A process that was there before: its map is younger than the boot, and than itself if it still runs. */
static const struct {
	int64_t map_s, process_s;
	bool has_names;
} running[] = {
	{ 3, 0, true }, { -100, 0, false }, { 3, 2, true }, { 3, 4, false }, { 500, 2, true },
};

static void check_running(int64_t map_s, int64_t process_s, bool has_names)
{
	struct run run = { .map_s = map_s, .process_s = process_s };
	const struct format_here here = {
		.host = "db7", .code_name = name_of_code, .code_times = times_of_code, .ctx = &run
	};
	struct pdf f = { .sample_type = PDF_SAMPLE_TYPE, .id = 71 };
	struct input *in;
	struct profile *p = profile_new();
	put_clock(&f);
	pdf_comm(&f, 0, 10, 10, "app", 0);
	pdf_mmap(&f, 10, CODE, 0x1000, 0, "//anon", 0);
	put_at(&f, 10, 10, 11 * S, CODE + 0x10);
	struct buf file = pdf_pipe(&f, &clock_event, 1);
	ck_assert_int_eq(input_open_memory(file.data, file.len, &in, NULL), 0);
	ck_assert_int_eq(perf_data_read_here(in, profile_sink(p), &here, NULL), 0);
	ck_assert_str_eq(stack_text(p, 0), has_names ? NAMED : ANON);
	ck_assert_uint_eq(p->meta.loss[LOSS_CODE_UNREAD], !has_names);
	input_close(in);
	profile_free(p);
	buf_done(&file);
	buf_done(&f.data);
}

START_TEST(a_process_that_was_there_before)
{
	for (size_t i = 0; i < sizeof running / sizeof *running; i++)
		check_running(running[i].map_s, running[i].process_s, running[i].has_names);
}
END_TEST

/* A recording of this boot has almost the clock of CLOCK_MONOTONIC; one of another boot does not. */
START_TEST(clocks)
{
	const struct pd_info none = { 0 };
	struct format_here here = { .written_ns = wall(31),
				    .created_ns = wall(9),
				    .bytes = 1 << 20 };
	struct pd_wall w = pd_wall_of(&none, &here, 10 * S, 30 * S);
	ck_assert_int_eq(w.lo, BOOT_NS - S);
	ck_assert_int_ge(w.hi, BOOT_NS + S);
	ck_assert_int_lt(w.hi, BOOT_NS + 2 * S);
	here.created_ns = wall(30); /* in a second: a copy */
	w = pd_wall_of(&none, &here, 10 * S, 30 * S);
	ck_assert_int_eq(w.lo, INT64_MIN);
	here.mono_offset_ns = BOOT_NS;
	here.up_ns = 100 * S;
	w = pd_wall_of(&none, &here, 10 * S, 30 * S);
	ck_assert_int_gt(w.lo, BOOT_NS - 3 * S);
	ck_assert_int_lt(w.hi, BOOT_NS + 2 * S);
	here.mono_offset_ns = BOOT_NS + 3600 * S;
	w = pd_wall_of(&none, &here, 10 * S, 30 * S);
	ck_assert_int_eq(w.lo, INT64_MIN);
	here.written_ns -= 1; /* whole seconds, as from an archive */
	w = pd_wall_of(&none, &here, 10 * S, 30 * S);
	ck_assert_int_ge(w.hi, BOOT_NS + 3 * S - 1);
	w = pd_wall_of(&none, NULL, 10 * S, 30 * S);
	ck_assert(w.lo == INT64_MIN && w.hi == INT64_MAX);
}
END_TEST

UNIT_MAIN("perf_data_code", one_program_has_the_map, the_only_program_with_code_has_the_map,
	  a_process_that_was_there_before, clocks)
