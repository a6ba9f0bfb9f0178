// tier: test
/* A program's reports of stalls, true or not: this process plays the program, with its own ring and device code. */
#include "map_files.h"
#include "shell.h"

#include "base/clock.h"
#include "collect/gpu/gpu_stall.h"
#include "collect/gpu/gpu_stall_runs.h"
#include "collect/gpu/gpu_time.h"
#include "collect/kernel/gpu_stats.h"
#include "collect/resolve/resolve.h"
#include "gpu/code/stall_split.h"
#include "gpu/ring/ring_write.h"
#include "profile/profile.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define CUBIN  "tests/golden/gpu/lines.sm_90.cubin"
#define KERNEL "_Z5saxpyPfPKffi"

static const struct ring_shape shape = { .buffer_lanes = 1,
					 .buffer_size = 64 << 10,
					 .call_lanes = 1,
					 .call_size = 4096,
					 .names_size = 8192 };
enum { CONTEXT = 5, CRC = 77, STALLED = 3, NOT_ISSUED = 9 };

struct world {
	struct profile *profile;
	struct resolver *resolver;
	struct gpu_stall *stall;
	struct gpu_time *time;
	void *ring;
	uint8_t *cubins;
	uint64_t cubin_size, now_ns;
	struct ring_names names;
};

static void *make_memfd(const char *name, size_t size)
{
	int fd = memfd_create(name, MFD_ALLOW_SEALING | MFD_CLOEXEC);

	ck_assert_int_eq(ftruncate(fd, size), 0);
	ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	ck_assert_ptr_ne(map, MAP_FAILED);
	return map;
}

static void make_program(struct world *w)
{
	FILE *f = fopen(CUBIN, "re");

	w->ring = make_memfd(RING_NAME, ring_size(&shape));
	ring_lay_out(w->ring, &shape, getpid());
	w->names = (struct ring_names){ .ring = w->ring, .n_slots = 64 };
	w->names.slots = calloc(w->names.n_slots, sizeof *w->names.slots);
	w->cubins = make_memfd(CUBINS_NAME, CUBINS_SIZE);
	w->cubin_size = fread(w->cubins + CUBINS_AT, 1, 1 << 20, f);
	fclose(f);
	((struct ring_control *)w->ring)->features = RING_WANT_ANY;
	((struct ring_control *)w->ring)->magic = RING_MAGIC;
}

static struct world world_new(void)
{
	struct world w = { .profile = profile_new(), .now_ns = clock_mono_ns() };
	struct sink *s = profile_sink(w.profile);
	struct type stall = { .name = sink_string(s, "gpu-stall") },
		    not_issued = { .name = sink_string(s, "gpu-stall-not-issued") };
	struct resolve_links resolve = { .sink = s };
	struct gpu_stall_opts opts = { .sink = s };
	struct gpu_time_opts time = { .sink = s, .time_type = TYPE_NONE, .window_type = TYPE_NONE };

	memset(&resolve.types, 0xff, sizeof resolve.types); /* none */
	opts.type = resolve.types.gpu.stall = s->ops->type(s, &stall);
	opts.not_issued_type = resolve.types.gpu.not_issued = s->ops->type(s, &not_issued);
	time.resolver = opts.resolver = w.resolver =
		resolver_new(&(struct resolve_opts){ 0 }, &(struct sampler_opts){ 0 }, &resolve);
	time.stall = w.stall = gpu_stall_new(&opts);
	w.time = gpu_time_new(&time, w.now_ns);
	make_program(&w);
	gpu_time_expect(w.time, getpid(), w.now_ns);
	gpu_time_run(w.time, w.now_ns);
	ck_assert_uint_eq(((struct ring_control *)w.ring)->want & RING_WANT_STALLS,
			  RING_WANT_STALLS);
	return w;
}

static struct gpu_stall_stats world_end(struct world *w)
{
	struct gpu_stall_stats stats;
	struct ring_control *c = w->ring;

	c->seen = c->generation + 1; /* its window is closed */
	gpu_time_stop(w->time);
	gpu_time_flush(w->time);
	gpu_stall_flush(w->stall);
	gpu_stall_get_stats(w->stall, &stats);
	gpu_time_free(w->time);
	gpu_stall_free(w->stall);
	resolver_free(w->resolver);
	free(w->names.slots);
	munmap(w->ring, ring_size(&shape));
	munmap(w->cubins, CUBINS_SIZE);
	return stats;
}

static void put(struct world *w, struct ring_record *r, size_t size)
{
	bool shared;
	struct ring_lane *lane = ring_lane_take(w->ring, RING_LANE_BUFFER, gettid(), &shared);

	ck_assert(ring_write(w->ring, lane, shared, r, size));
}

static void name(struct world *w, uint32_t number, const char *text)
{
	struct ring_stall_name n = { .r = { .type = RING_STALL_NAME, .correlation = number },
				     .name = ring_name(&w->names, text),
				     .context = CONTEXT };

	put(w, &n.r, sizeof n);
}

static void begin(struct world *w, uint32_t period)
{
	struct ring_stall_config c = { .r = { .type = RING_STALL_CONFIG },
				       .device = 1,
				       .context = CONTEXT,
				       .period = period,
				       .mode = 1 };

	put(w, &c.r, sizeof c);
	name(w, STALLED, "smsp__pcsamp_warps_issue_stalled_long_scoreboard");
	name(w, NOT_ISSUED, "smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued");
}

static void module(struct world *w, uint64_t at, uint64_t size)
{
	struct ring_module m = { .r = { .type = RING_MODULE }, .crc = CRC, .at = at, .size = size };

	put(w, &m.r, sizeof m);
}

static void stall(struct world *w, const char *function, uint64_t offset, uint32_t reason,
		  uint32_t samples)
{
	struct ring_stall s = { .r = { .type = RING_STALL },
				.crc = CRC,
				.offset = offset,
				.name = ring_name(&w->names, function),
				.reason = reason,
				.samples = samples,
				.context = CONTEXT };

	put(w, &s.r, sizeof s);
}

/* A kernel whose launch has the stack of this number; 0: none. */
static void kernel(struct world *w, const char *function, uint32_t correlation, uint64_t ns)
{
	struct ring_kernel k = { .r = { .type = RING_KERNEL, .correlation = correlation },
				 .start_ns = w->now_ns,
				 .end_ns = w->now_ns + ns,
				 .name = ring_name(&w->names, function),
				 .device = 1 };

	put(w, &k.r, sizeof k);
}

/* "a;b;c": the names of a sample's frames. */
static const char *text_of(const struct world *w, size_t sample)
{
	static char text[1024];
	uint32_t frames[64], stack = w->profile->samples.stack[sample];
	uint32_t n = stack_depth(&w->profile->stacks, stack);
	size_t len = 0;

	ck_assert_uint_le(n, 64);
	stack_frames(&w->profile->stacks, stack, frames);
	for (uint32_t i = 0; i < n; i++)
		len += snprintf(
			text + len, sizeof text - len, "%s%s", i ? ";" : "",
			profile_str(w->profile, w->profile->frames.frames.v[frames[i]].function));
	return text;
}

static uint64_t sum_of(const struct world *w, uint32_t type)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < w->profile->samples.n; i++)
		if (w->profile->series.series.v[w->profile->samples.series[i]].type == type)
			sum += w->profile->samples.value[i];
	return sum;
}

/* Each layer of a place, even if the image changes after it was copied. */
START_TEST(layers)
{
	struct world w = world_new();

	begin(&w, 11);
	module(&w, CUBINS_AT, w.cubin_size);
	stall(&w, KERNEL, 0x100, STALLED, 40);
	stall(&w, KERNEL, 0x100, NOT_ISSUED, 15);
	gpu_time_run(w.time, w.now_ns + 100000000);
	memset(w.cubins, 0xff, 1 << 20);
	module(&w, CUBINS_AT, CUBINS_SIZE - CUBINS_AT); /* it is copied already: nothing changes */
	stall(&w, KERNEL, 0x100, STALLED, 2);
	struct gpu_stall_stats stats = world_end(&w);

	ck_assert_uint_eq(stats.samples, 42);
	ck_assert_uint_eq(stats.not_issued, 15);
	ck_assert_uint_eq(stats.no_stack, 42);
	ck_assert_uint_eq(stats.no_code + stats.refused + stats.exact + stats.estimated, 0);
	ck_assert_uint_eq(stats.modules, 1);
	ck_assert_uint_eq(stats.shortest_period, 11);
	ck_assert_uint_eq(w.profile->samples.n, 2);
	ck_assert_str_eq(
		text_of(&w, 0),
		"[no stack];tmp;cresset-gpu;lib;scale.cuh;saxpy(float*, float const*, float, int);"
		"deep::outer(float);bend(float);float scale<3>(float);HFMA2;memory (long "
		"scoreboard);0x100");
	ck_assert_uint_eq(sum_of(&w, 0), 42);
	ck_assert_uint_eq(sum_of(&w, 1), 15);
	ck_assert_int_eq(w.profile->series.series.v[w.profile->samples.series[0]].period, 2048);
	profile_free(w.profile);
}
END_TEST

/* Maps a file with its own code, as the loader would. */
static void map_program(const char *entries)
{
	char dir[32];

	temp_dir(dir);
	shell_do("me=$(readlink -f /bin/true); cd tests/golden/gpu && python3 fatbin.py %s/p "
		 "ELF:$me %s",
		 dir, entries);
	char *path = shell("echo -n %s/p", dir);
	int fd = file_open(path);

	ck_assert_ptr_ne(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0), MAP_FAILED);
	close(fd);
	free(path);
	shell_do("rm -rf %s", dir);
}

static uint64_t read_and_flush(struct world *w)
{
	struct gpu_stall_stats stats;

	w->now_ns += 100000000;
	gpu_time_run(w->time, w->now_ns);
	gpu_stall_flush(w->stall);
	gpu_stall_get_stats(w->stall, &stats);
	return stats.no_code;
}

/* Code loaded earlier is in a file; later samples narrow down the candidates, until none is left. */
START_TEST(out_of_files)
{
	T_NEEDS_MAP_FILES();
	struct world w = world_new();

	map_program("lz4:90:lines.sm_90.cubin / zstd:90:linked.sm_90.cubin");
	begin(&w, 11);
	stall(&w, KERNEL, 0x100, STALLED, 40); /* both agree */
	ck_assert_uint_eq(read_and_flush(&w), 0);
	ck_assert_ptr_nonnull(strstr(text_of(&w, 0), ";HFMA2;memory (long scoreboard);0x100"));
	stall(&w, KERNEL, 672, STALLED, 5); /* they do not */
	ck_assert_uint_eq(read_and_flush(&w), 5);
	stall(&w, "_ZN4deep5heavyEfi", 0, STALLED, 3); /* it is linked.sm_90.cubin */
	stall(&w, KERNEL, 672, STALLED, 7);
	ck_assert_uint_eq(read_and_flush(&w), 5);
	ck_assert_ptr_nonnull(strstr(text_of(&w, 2), ";STG;memory (long scoreboard);0x2a0"));
	stall(&w, KERNEL, 1904, STALLED, 2); /* it does not: it has 896 bytes there */
	ck_assert_uint_eq(read_and_flush(&w), 7);
	stall(&w, KERNEL, 0x100, STALLED, 1); /* and neither do the known ones */
	ck_assert_uint_eq(read_and_flush(&w), 8);
	struct gpu_stall_stats stats = world_end(&w);

	ck_assert_uint_eq(stats.samples, 58);
	ck_assert_uint_eq(stats.unclear, 5);
	ck_assert_uint_eq(stats.in_files + stats.modules + stats.unread, 0);
	profile_free(w.profile);
}
END_TEST

/* Samples after a flush go to the new sink, and earlier ones are not repeated. */
START_TEST(another_sink)
{
	struct world w = world_new();
	struct profile *second = profile_new();
	struct sink *s = profile_sink(second);
	struct type stall_type = { .name = sink_string(s, "gpu-stall") };
	struct resolve_types types;

	begin(&w, 11);
	module(&w, CUBINS_AT, w.cubin_size);
	stall(&w, KERNEL, 0x100, STALLED, 40);
	gpu_time_run(w.time, w.now_ns + 100000000);
	gpu_stall_flush(w.stall);
	ck_assert_uint_eq(sum_of(&w, 0), 40);
	memset(&types, 0xff, sizeof types);
	types.gpu.stall = s->ops->type(s, &stall_type);
	gpu_time_set_sink(w.time, s, &types.gpu);
	gpu_stall_set_sink(w.stall, s, &types.gpu);
	resolve_set_sink(w.resolver, s, &types, NULL);
	stall(&w, KERNEL, 0x100, STALLED, 3);
	struct profile *first = w.profile;

	w.profile = second;
	ck_assert_uint_eq(world_end(&w).samples, 43);
	ck_assert_uint_eq(sum_of(&w, types.gpu.stall), 3);
	ck_assert_uint_eq(second->samples.n, 1);
	ck_assert_ptr_nonnull(strstr(text_of(&w, 0), ";HFMA2;memory (long scoreboard);0x100"));
	profile_free(first);
	profile_free(second);
}
END_TEST

/* Code that is absent, invalid, truncated, or without the function or place: known data stay, and it is counted. */
/* Ended programs do not keep entries for ever: a new sink removes them. */
START_TEST(ended)
{
	struct world w = world_new();
	struct resolve_types types;
	struct gpu_stall_stats before;
	union ring_any r = { .stall_config = { .r = { .type = RING_STALL_CONFIG }, .period = 5 } };
	pid_t gone = fork();

	if (!gone)
		_exit(0);
	waitpid(gone, NULL, 0);
	memset(&types, 0xff, sizeof types);
	types.gpu.stall = types.gpu.not_issued = 0;
	for (uint32_t i = 0; i < GPU_STALL_CONTEXTS; i++) {
		r.stall_config.context = i;
		gpu_stall_record(w.stall, &(struct gpu_stall_told){ gone, 0, w.now_ns, &r, "" });
	}
	begin(&w, 5);
	stall(&w, "f", 0x10, STALLED, 7);
	gpu_time_read(w.time, w.now_ns);
	gpu_stall_get_stats(w.stall, &before);
	ck_assert_uint_eq(before.refused, 7);
	gpu_stall_flush(w.stall);
	gpu_stall_set_sink(w.stall, profile_sink(w.profile), &types.gpu);
	begin(&w, 5);
	stall(&w, "f", 0x10, STALLED, 9);
	gpu_time_read(w.time, w.now_ns);
	struct gpu_stall_stats after = world_end(&w);

	ck_assert_uint_eq(after.refused, 7);
	ck_assert_uint_eq(after.samples, 9);
	profile_free(w.profile);
}
END_TEST

START_TEST(no_code)
{
	static const struct {
		uint64_t at, size;
		const char *function;
		uint64_t offset;
	} cases[] = {
		{ 0, 0, KERNEL, 0x100 },
		{ CUBINS_SIZE - 8, 64, KERNEL, 0x100 },
		{ CUBINS_AT + 1, 4096, KERNEL, 0x100 },
		{ CUBINS_AT, 200, KERNEL, 0x100 },
		{ CUBINS_AT, 0 /* all of it */, "_Z5otherv", 0x100 },
		{ CUBINS_AT, 0, KERNEL, UINT64_MAX },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct world w = world_new();
		char want[128];

		begin(&w, 11);
		if (cases[i].at)
			module(&w, cases[i].at, cases[i].size ? cases[i].size : w.cubin_size);
		stall(&w, cases[i].function, cases[i].offset, STALLED, 7);
		struct gpu_stall_stats stats = world_end(&w);

		ck_assert_msg(stats.samples == 7 && stats.no_code == 7, "case %zu", i);
		snprintf(want, sizeof want, "[no stack];%s;memory (long scoreboard);0x%" PRIx64,
			 i == 4 ? "other()" : "saxpy(float*, float const*, float, int)",
			 cases[i].offset);
		ck_assert_str_eq(text_of(&w, 0), want);
		profile_free(w.profile);
	}
}
END_TEST

/* Samples with unknown reasons and contexts are only counted; more samples that were not issued than samples. */
START_TEST(lies)
{
	struct world w = world_new();

	stall(&w, KERNEL, 0, STALLED, 5); /* before its context */
	begin(&w, 200);
	stall(&w, KERNEL, 0, 1000, 6); /* of no known reason */
	stall(&w, "", UINT64_MAX, NOT_ISSUED, UINT32_MAX);
	name(&w, STALLED, ""); /* a reason without a name */
	stall(&w, KERNEL, 16, STALLED, 1);
	struct gpu_stall_stats stats = world_end(&w);

	ck_assert_uint_eq(stats.refused, 11);
	ck_assert_uint_eq(stats.samples, 1ull + UINT32_MAX);
	ck_assert_uint_eq(stats.not_issued, UINT32_MAX);
	ck_assert_uint_eq(stats.shortest_period, 0);
	ck_assert_uint_eq(sum_of(&w, 0), 1ull + UINT32_MAX);
	profile_free(w.profile);
}
END_TEST

/* Launches of a kernel without a known stack get its samples: exactly, as there is no other launcher. */
START_TEST(one_launcher)
{
	struct world w = world_new();

	begin(&w, 11);
	kernel(&w, KERNEL, 1, 500);
	kernel(&w, "other", 2, 300);
	stall(&w, KERNEL, 0, STALLED, 10);
	stall(&w, "_Z6devicev", 0, STALLED, 4); /* a function that is never launched */
	struct gpu_stall_stats stats = world_end(&w);

	ck_assert_uint_eq(stats.samples, 14);
	ck_assert_uint_eq(stats.no_stack, 14);
	ck_assert_uint_eq(stats.functions, 2);
	profile_free(w.profile);
}
END_TEST

/* Split by launcher, in proportion to run time; anything that is no kernel, over all; a single launcher has it exactly. */
START_TEST(shares)
{
	struct gpu_stall_runs runs = { 0 };
	struct gpu_share share = { .pid = 1, .is_exact = true };
	uint32_t n;

	for (uint32_t i = 0; i < 6; i++) {
		share.stack = 1 + i % 2;
		share.ns = 100;
		gpu_stall_runs_add(&runs, &share, 3, 7);
	}
	share.ns = 50;
	share.stack = 9;
	gpu_stall_runs_add(&runs, &share, 3, 8);
	share.is_exact = false;
	share.low_ns = 0;
	share.high_ns = 196 * 2;
	gpu_stall_runs_add(&runs, &share, 3, GPU_STALL_ALL);
	struct stall_stack *s = gpu_stall_runs_get(&runs, 1, 3, 7, &n);

	ck_assert_uint_eq(n, 2);
	ck_assert(s[0].stack == 1 && s[0].ns == 300 && s[1].stack == 2 && s[1].ns == 300);
	free(s);
	s = gpu_stall_runs_get(&runs, 1, 3, 8, &n);
	ck_assert(n == 1 && s->stack == 9 && s->ns == 50 && s->variance == 0);
	free(s);
	s = gpu_stall_runs_get(&runs, 1, 3, 1000, &n);
	ck_assert_uint_eq(n, 3);
	ck_assert(s[2].stack == 9 && s[2].ns == 100);
	ck_assert_double_eq_tol(s[2].variance, 10000, 1);
	free(s);
	s = gpu_stall_runs_get(&runs, 1, 4, 7, &n);
	ck_assert(n == 1 && s->stack == 0);
	free(s);
	gpu_stall_runs_done(&runs);
}
END_TEST

UNIT_MAIN("gpu-stall", layers, out_of_files, another_sink, ended, no_code, lies, one_launcher,
	  shares)
