// tier: test
/* The library that samples allocations, in a program of known heap (tests/live/prog/mem_sites.c): sums of its rows, and that no slot leads to it when it is
 * parked. */
#include "map_files.h"
#include "unit.h"

#include "base/clock.h"
#include "base/err.h"
#include "mem/live/live_read.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MEAN = 64 << 10, WAIT_MS = 60000, SITES_MAX = 16 };

struct program {
	pid_t pid;
	FILE *in, *out;
	struct live live;
};

static const char *built(const char *name)
{
	static char paths[4][256];
	static int at;
	const char *build = getenv("BUILD");

	snprintf(paths[at % 4], sizeof *paths, "%s/%s", build ? build : "build", name);
	return paths[at++ % 4];
}

static void ask(struct program *p, const char *what, char *line, size_t size)
{
	struct pollfd ready = { fileno(p->out), POLLIN, 0 };

	fprintf(p->in, "%s\n", what);
	fflush(p->in);
	ck_assert_int_eq(poll(&ready, 1, WAIT_MS), 1);
	ck_assert_ptr_nonnull(fgets(line, size, p->out));
}

/* Opens the memory of a program; its library may still be starting. */
static void open_live(pid_t pid, struct live *live)
{
	struct err err = { 0 };
	int rc = -ENOENT;

	for (int ms = 0; rc == -ENOENT && ms < WAIT_MS; ms += 5) {
		rc = live_open(pid, live, &err);
		if (rc)
			usleep(5000);
	}
	ck_assert_msg(rc == 0, "%s", err.text);
}

static void begin(struct program *p)
{
	char line[64], preload[300];
	int in[2], out[2];

	*p = (struct program){ 0 };
	ck_assert_int_eq(pipe2(in, O_CLOEXEC), 0);
	ck_assert_int_eq(pipe2(out, O_CLOEXEC), 0);
	snprintf(preload, sizeof preload, "%s", built("libcresset-mem.so"));
	p->pid = fork();
	if (p->pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		setenv("LD_PRELOAD", preload, 1);
		setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 1);
		execl(built("live/mem_sites"), "mem_sites", built("live/mem_late"), NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	p->in = fdopen(in[1], "w");
	p->out = fdopen(out[0], "r");
	ck_assert_ptr_nonnull(fgets(line, sizeof line, p->out));
	ck_assert_str_eq(line, "ready\n");
	open_live(p->pid, &p->live);
}

static void wait_state(const struct program *p, enum live_state state)
{
	for (int ms = 0; live_look(&p->live).state != state && ms < WAIT_MS; ms++)
		usleep(1000);
	ck_assert_int_eq(live_look(&p->live).state, state);
}

static void want(const struct program *p, bool on)
{
	/* far in the future: this test is slower than an agent where the machine is busy */
	live_want(&p->live, on, MEAN, clock_mono_ns() + 600ull * 1000000000);
	wait_state(p, on ? LIVE_RUNNING : LIVE_PARKED);
}

static void end(struct program *p)
{
	int status;

	fputs("end\n", p->in);
	fclose(p->in);
	ck_assert_int_eq(waitpid(p->pid, &status, 0), p->pid);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", status);
	fclose(p->out);
	live_close(&p->live);
}

/* --- sums ------------------------------------------------------------------------------------------ */

struct site {
	uint64_t size;
	double count; /* the estimate */
	uint64_t rows;
};
struct sites {
	struct site v[SITES_MAX];
	size_t n;
};

static void add_row(void *ctx, const struct live_block *b)
{
	struct sites *s = ctx;

	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].size == b->size) {
			s->v[i].count += b->weight;
			s->v[i].rows++;
		}
}

/* Compares what the program holds, "SIZE:COUNT …", with its rows. */
static void check_sites(const struct live *live, const char *line)
{
	uint64_t truth[SITES_MAX];
	struct sites s = { 0 };
	double sum = 0, sum_truth = 0, variance = 0;
	double mean = live_look(live).mean_bytes; /* earlier ones were smaller */
	int used;

	for (const char *p = line; s.n < SITES_MAX; p += used, s.n++)
		if (sscanf(p, "%" SCNu64 ":%" SCNu64 " %n", &s.v[s.n].size, &truth[s.n], &used) !=
		    2)
			break;
	ck_assert_uint_gt(s.n, 0);
	ck_assert_uint_eq(live_rows(live, add_row, &s), 0);
	for (size_t i = 0; i < s.n; i++) {
		const struct site *at = &s.v[i];
		double size = at->size, p = size >= mean ? 1 : 1 - exp(-size / mean);
		double sigma = sqrt(truth[i] * (1 - p) / p); /* of the count */
		ck_assert_msg(fabs(at->count - truth[i]) <= 5 * sigma + 0.5,
			      "size %" PRIu64 ": %.0f of %" PRIu64 ", sigma %.0f", at->size,
			      at->count, truth[i], sigma);
		sum += at->count * size;
		sum_truth += truth[i] * size;
		variance += sigma * sigma * size * size;
	}
	ck_assert_msg(fabs(sum - sum_truth) <= 5 * sqrt(variance) + 1,
		      "all: %.0f of %.0f, sigma %.0f", sum, sum_truth, sqrt(variance));
}

/* --- slots ----------------------------------------------------------------------------------------- */

/* Words in the mapped files of the program that are addresses of the library's code, as seen from outside. */
static uint64_t words_of_library(pid_t pid)
{
	char path[64], line[512];
	uint64_t from = 0, to = 0, found = 0;

	snprintf(path, sizeof path, "/proc/%d/maps", pid);
	FILE *f = fopen(path, "r");
	while (fgets(line, sizeof line, f)) {
		uint64_t start, end;
		char mode[8];
		if (strstr(line, "libcresset-mem.so") &&
		    sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", &start, &end, mode) == 3 &&
		    mode[2] == 'x')
			from = start, to = end;
	}
	ck_assert_uint_gt(to, from);
	rewind(f);
	snprintf(path, sizeof path, "/proc/%d/mem", pid);
	int mem = open(path, O_RDONLY | O_CLOEXEC);
	while (fgets(line, sizeof line, f)) {
		uint64_t start, end, words[512];
		char mode[8];
		if (!strchr(line, '/') || strstr(line, "libcresset-mem.so") ||
		    strstr(line, "memfd:") ||
		    sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", &start, &end, mode) != 3 ||
		    mode[0] != 'r')
			continue;
		for (; start < end; start += sizeof words) {
			ssize_t n = pread(mem, words, sizeof words, start);
			for (ssize_t i = 0; i < n / 8; i++)
				found += words[i] >= from && words[i] < to;
		}
	}
	close(mem);
	fclose(f);
	return found;
}

/* --- tests ----------------------------------------------------------------------------------------- */

START_TEST(sums)
{
	T_NEEDS_MAP_FILES();
	struct program p;
	char line[512];

	begin(&p);
	ck_assert_int_eq(live_look(&p.live).state, LIVE_PARKED);
	want(&p, true);
	ask(&p, "fill 20000", line, sizeof line);
	check_sites(&p.live, line);
	ask(&p, "halve", line, sizeof line);
	check_sites(&p.live, line);
	ask(&p, "short 300", line, sizeof line);
	check_sites(&p.live, line);
	ask(&p, "fill 10000", line, sizeof line);
	check_sites(&p.live, line);
	ck_assert_uint_eq(live_look(&p.live).dropped, 0);
	end(&p);
}
END_TEST

START_TEST(parked)
{
	T_NEEDS_MAP_FILES();
	struct program p;
	char line[512];

	begin(&p);
	ck_assert_uint_eq(words_of_library(p.pid), 0);
	for (int i = 0; i < 3; i++) {
		want(&p, true);
		struct live_now now = live_look(&p.live);
		ck_assert_uint_ge(now.slots, 8); /* the program's, and the C library's own */
		ck_assert_uint_eq(words_of_library(p.pid), now.slots);
		ask(&p, "fill 1000", line, sizeof line);
		want(&p, false);
		ck_assert_uint_eq(words_of_library(p.pid), 0);
		struct sites none = { { { .size = 24 } }, 1 };
		ck_assert_uint_eq(live_rows(&p.live, add_row, &none), 0);
		ck_assert_uint_eq(none.v[0].rows, 0);
	}
	uint64_t samples = live_look(&p.live).samples;
	ask(&p, "fill 5000", line, sizeof line);
	ask(&p, "halve", line, sizeof line);
	ck_assert_uint_eq(live_look(&p.live).samples, samples);
	end(&p);
}
END_TEST

/* The agent is gone: its heartbeat is old. */
START_TEST(no_agent)
{
	T_NEEDS_MAP_FILES();
	struct program p;

	begin(&p);
	live_want(&p.live, true, MEAN, clock_mono_ns());
	wait_state(&p, LIVE_RUNNING);
	wait_state(&p, LIVE_PARKED);
	ck_assert_uint_eq(words_of_library(p.pid), 0);
	end(&p);
}
END_TEST

/* A child has separate memory: its calls change nothing here. */
START_TEST(child)
{
	T_NEEDS_MAP_FILES();
	struct program p;
	char line[512], of_child[256];
	struct live live = { 0 };
	int pid, used;

	begin(&p);
	want(&p, true);
	ask(&p, "fill 5000", line, sizeof line);
	ask(&p, "child", of_child, sizeof of_child);
	ck_assert_int_eq(sscanf(of_child, "child %d %n", &pid, &used), 1);
	check_sites(&p.live, line);
	open_live(pid, &live);
	check_sites(&live, of_child + used);
	live_close(&live);
	ask(&p, "fill 0\nfill 0", line, sizeof line); /* the first line ends the child */
	check_sites(&p.live, line);
	end(&p);
}
END_TEST

/* A child has no thread that parks it. */
START_TEST(child_unwanted)
{
	T_NEEDS_MAP_FILES();
	struct program p;
	char line[512], of_child[256];
	struct live live = { 0 };
	struct live_now parents;
	struct err err = { 0 };
	int pid;

	begin(&p);
	want(&p, true);
	ask(&p, "child", of_child, sizeof of_child);
	ck_assert_int_eq(sscanf(of_child, "child %d", &pid), 1);
	open_live(pid, &live);
	ck_assert_int_eq(live_look(&live).state, LIVE_CHILD);
	live_want(&live, false, MEAN, clock_mono_ns());
	uint64_t samples = live_look(&live).samples;
	ask(&p, "more", line, sizeof line);
	ck_assert_uint_eq(live_look(&live).samples, samples);
	live_want(&live, true, MEAN, clock_mono_ns() + 600ull * 1000000000);
	ask(&p, "more", line, sizeof line);
	check_sites(&live, "4000:1000"); /* the others are of another recording */
	ck_assert_int_eq(live_decide(pid, LIVE_DETACHED, &err), 0);
	ck_assert_int_eq(live_peek(p.pid, &parents, &err), 0);
	ck_assert_int_eq(parents.by_hand, LIVE_UNDECIDED);
	samples = live_look(&live).samples;
	ask(&p, "more", line, sizeof line);
	ck_assert_uint_eq(live_look(&live).samples, samples);
	live_close(&live);
	ask(&p, "fill 0\nfill 0", line, sizeof line); /* the first line ends the child */
	end(&p);
}
END_TEST

/* A person's decision stands, whatever the agent wants; its memory is free then. */
START_TEST(detached)
{
	T_NEEDS_MAP_FILES();
	enum { CONTROL_BYTES = 16 << 10 };
	struct program p;
	struct live_now now = { 0 };
	struct err err = { 0 };
	struct stat st;
	char line[512];

	begin(&p);
	ck_assert_int_eq(live_peek(p.pid, &now, &err), 0);
	ck_assert_int_eq(now.by_hand, LIVE_UNDECIDED);
	ck_assert(now.has_reader);
	want(&p, true);
	ask(&p, "fill 5000", line, sizeof line);
	ck_assert_int_eq(fstat(p.live.lock, &st), 0);
	ck_assert_int_gt(st.st_blocks * 512, CONTROL_BYTES);
	ck_assert_int_eq(live_decide(p.pid, LIVE_DETACHED, &err), 0);
	ck_assert_int_eq(live_look(&p.live).state, LIVE_PARKED);
	ck_assert_uint_eq(words_of_library(p.pid), 0);
	ck_assert_int_eq(fstat(p.live.lock, &st), 0);
	ck_assert_int_le(st.st_blocks * 512, CONTROL_BYTES);
	ck_assert_int_eq(live_decide(p.pid, LIVE_DETACHED, &err), -EALREADY);
	uint64_t samples = live_look(&p.live).samples;
	live_want(&p.live, true, MEAN, clock_mono_ns() + 600ull * 1000000000);
	live_ring(&p.live);
	ask(&p, "fill 10000", line, sizeof line);
	ck_assert_uint_eq(live_look(&p.live).samples, samples);
	ck_assert_int_eq(live_decide(p.pid, LIVE_ATTACHED, &err), 0);
	wait_state(&p, LIVE_RUNNING);
	ask(&p, "short 1000", line, sizeof line);
	check_sites(&p.live, "24:1000");
	pid_t pid = p.pid;
	end(&p);
	ck_assert_int_eq(live_decide(pid, LIVE_DETACHED, &err), -ENOENT);
}
END_TEST

START_TEST(late_library)
{
	T_NEEDS_MAP_FILES();
	struct program p;
	char line[512];

	begin(&p);
	want(&p, true);
	for (int i = 1; i <= 2; i++) {
		uint32_t slots = live_look(&p.live).slots;
		ask(&p, "open", line, sizeof line);
		ck_assert_str_eq(line, "open\n");
		for (int ms = 0; live_look(&p.live).slots <= slots && ms < WAIT_MS; ms++)
			usleep(1000);
		ck_assert_uint_gt(live_look(&p.live).slots, slots);
		ask(&p, "use", line, sizeof line);
		snprintf(line, sizeof line, "3008:%d", 10000 * i);
		check_sites(&p.live, line);
		ask(&p, "close", line, sizeof line);
		for (int ms = 0; live_look(&p.live).slots > slots && ms < WAIT_MS; ms++)
			usleep(1000);
	}
	want(&p, false);
	ck_assert_uint_eq(words_of_library(p.pid), 0);
	end(&p);
}
END_TEST

/* --- rows that lie --------------------------------------------------------------------------------- */

/* A second reader would end the samples of the first one. */
START_TEST(one_reader)
{
	T_NEEDS_MAP_FILES();
	struct program p;
	struct live second = { 0 };
	struct err err = { 0 };
	char line[512];

	begin(&p);
	want(&p, true);
	ask(&p, "fill 5000", line, sizeof line);
	pid_t pid = p.live.pid;
	ck_assert_int_eq(live_open(pid, &second, &err), -EBUSY);
	ck_assert_ptr_null(second.memory);
	check_sites(&p.live, line);
	live_close(&p.live);
	open_live(pid, &p.live);
	check_sites(&p.live, line);
	end(&p);
}
END_TEST

static void count_rows(void *ctx, const struct live_block *b)
{
	ck_assert_uint_lt(b->size, 1ull << 47);
	ck_assert(b->weight >= 1 && b->weight <= 1e12);
	++*(uint64_t *)ctx;
}

START_TEST(forged)
{
	char *memory = calloc(1, LIVE_SIZE);
	struct live live = { .memory = memory, .pid = 1 };
	struct live_row *rows = (struct live_row *)(memory + LIVE_ROWS_AT);
	uint64_t n = 0, seed = 1;

	rows[0] = (struct live_row){ 4096, 100, 1, 1, 0 };
	rows[1] = (struct live_row){ 4096, UINT64_MAX, 1, 1, 0 };
	rows[2] = (struct live_row){ 4096, 100, 0, 1, 0 };
	rows[3] = (struct live_row){ 4096, 100, 1, NAN, 0 };
	rows[4] = (struct live_row){ 4096, 100, 1, INFINITY, 0 };
	rows[5] = (struct live_row){ 4096, 100, 1, -1, 0 };
	rows[6] = (struct live_row){ UINT64_MAX, 100, 1, 1, 0 };
	ck_assert_uint_eq(live_rows(&live, count_rows, &n), 6);
	ck_assert_uint_eq(n, 1);
	for (size_t i = 0; i < LIVE_SIZE / 8; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		((uint64_t *)memory)[i] = seed;
	}
	n = 0;
	uint32_t wrong = live_rows(&live, count_rows, &n);
	ck_assert_uint_le(wrong + n, LIVE_ROWS);
	ck_assert_uint_gt(wrong, 0);
	free(memory);
}
END_TEST

UNIT_MAIN("mem_inject", sums, parked, no_agent, child, child_unwanted, detached, late_library,
	  one_reader, forged)
