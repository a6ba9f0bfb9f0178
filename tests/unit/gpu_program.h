/* tests/unit/gpu_program.h: a program (tests/live/prog/gpu_play.c) on the doubles with the library inside, and the content of its ring. */
#ifndef CRESSET_TESTS_GPU_PROGRAM_H
#define CRESSET_TESTS_GPU_PROGRAM_H

#include "base/clock.h"
#include "base/err.h"
#include "gpu/ring/ring_read.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PROGRAM_SUMS = 128, PROGRAM_WAIT_MS = 10000 };

struct gpu_sum {
	char name[RING_NAME_BYTES + 1];
	uint32_t device;
	uint64_t count, sum;
};
struct gpu_program {
	pid_t pid;
	FILE *to, *from;
	char script[64];
	struct ring_reader *ring;
	struct gpu_sum sums[PROGRAM_SUMS];
	size_t n_sums;
	uint64_t records, opened, closed;
	uint64_t earliest_ns, latest_ns; /* of kernels */
	uint32_t first_call, last_call;  /* correlation ids in order of arrival */
	uint64_t weights;
	ring_record_fn *also; /* told each record, too */
	void *also_ctx;
};

static inline void program_pause(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

/* Until a shell command ends with 0. */
static inline void program_until(const char *command)
{
	for (int i = 0; system(command); i++) {
		ck_assert_msg(i < PROGRAM_WAIT_MS, "%s", command);
		program_pause();
	}
}

static inline const char *program_build(void)
{
	return getenv("BUILD") ? getenv("BUILD") : "build";
}

/* Reads one line of the program's output, which must be this one. */
static inline void program_expect(struct gpu_program *p, const char *want)
{
	char line[128] = "";

	ck_assert_ptr_nonnull(fgets(line, sizeof line, p->from));
	line[strcspn(line, "\n")] = 0;
	ck_assert_str_eq(line, want);
}

static inline void program_run(struct gpu_program *p, int in[2], int out[2], const char *argument)
{
	char library[4096], doubles[4096], program[4096], cwd[2048], copy[128];
	const char *first = getenv("PROGRAM_FIRST"); /* a directory of libraries that precede */

	ck_assert_ptr_nonnull(getcwd(cwd, sizeof cwd));
	snprintf(library, sizeof library, "%s/%s/libcresset-cuda.so", cwd, program_build());
	snprintf(doubles, sizeof doubles, "%s:%s/%s/doubles", first ? first : "", cwd,
		 program_build());
	snprintf(program, sizeof program, "%s/%s/live/gpu_play", cwd, program_build());
	snprintf(copy, sizeof copy, "%s.so", p->script);
	if (!argument || !strcmp(argument, "cupti"))
		setenv("CUDA_INJECTION64_PATH", library, 1);
	setenv("CRESSET_LATE", library, 1);
	setenv("CRESSET_LATE_COPY", copy, 1);
	setenv("LD_LIBRARY_PATH", doubles, 1);
	setenv("CRESSET_DOUBLE", p->script, 1);
	dup2(in[0], 0);
	dup2(out[1], 1);
	execl(program, program, argument, NULL);
	_exit(127);
}

/* Starts it with this scenario, and waits until it is ready and its ring exists. */
static inline void program_start(struct gpu_program *p, const char *scenario, const char *argument)
{
	int in[2], out[2];

	snprintf(p->script, sizeof p->script, "/tmp/cresset-gpu.XXXXXX");
	int fd = mkstemp(p->script);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, scenario, strlen(scenario)), strlen(scenario));
	close(fd);
	ck_assert_int_eq(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC), 0);
	if (argument && !strcmp(argument, "late")) {
		char command[512];

		snprintf(command, sizeof command, "cp %s/libcresset-cuda.so %s.so", program_build(),
			 p->script);
		ck_assert_int_eq(system(command), 0);
	}
	p->pid = fork();
	if (!p->pid)
		program_run(p, in, out, argument);
	/* What reads its ring has the CPU before others, where that is allowed: a reader that waits for one loses records. */
	setpriority(PRIO_PROCESS, 0, -20);
	close(in[0]);
	close(out[1]);
	p->to = fdopen(in[1], "w");
	p->from = fdopen(out[0], "r");
	setvbuf(p->to, NULL, _IONBF, 0);
	program_expect(p, "ready");
	if (argument && !strcmp(argument, "attached")) {
		char command[512];

		snprintf(command, sizeof command,
			 "%s/cresset gpu attach %d --force young --library %s/libcresset-cuda.so "
			 ">&2",
			 program_build(), p->pid, program_build());
		ck_assert_int_eq(system(command), 0);
	}
	struct err err = { 0 };
	int rc = -ENOENT;

	for (int i = 0; rc == -ENOENT || rc == -EPROTO; i++) { /* the library's thread makes it */
		rc = ring_open(p->pid, clock_mono_ns(), &p->ring, &err);
		ck_assert_msg(rc == 0 || i < PROGRAM_WAIT_MS, "%s", err.text);
		if (rc)
			program_pause();
	}
	ck_assert_msg(rc == 0, "%s", err.text);
}

static inline void program_end(struct gpu_program *p)
{
	int status;

	ring_close(p->ring);
	fclose(p->to);
	waitpid(p->pid, &status, 0);
	ck_assert_int_eq(status, 0);
	fclose(p->from);
	unlink(p->script);
}

static inline struct gpu_sum *program_sum(struct gpu_program *p, const char *name, uint32_t device)
{
	for (size_t i = 0; i < p->n_sums; i++)
		if (p->sums[i].device == device && !strcmp(p->sums[i].name, name))
			return &p->sums[i];
	ck_assert_uint_lt(p->n_sums, PROGRAM_SUMS);
	struct gpu_sum *s = &p->sums[p->n_sums++];

	memset(s, 0, sizeof *s);
	snprintf(s->name, sizeof s->name, "%s", name);
	s->device = device;
	return s;
}

static inline void program_add(struct gpu_program *p, const char *name, uint32_t device, uint64_t n)
{
	struct gpu_sum *s = program_sum(p, name, device);

	s->count++;
	s->sum += n;
}

static inline void program_record(void *ctx, const union ring_any *r, const char *name)
{
	struct gpu_program *p = ctx;

	p->records++;
	if (p->also)
		p->also(p->also_ctx, r, name);
	switch (r->r.type) {
	case RING_KERNEL:
		program_add(p, name, r->kernel.device, r->kernel.end_ns - r->kernel.start_ns);
		if (!p->earliest_ns || r->kernel.start_ns < p->earliest_ns)
			p->earliest_ns = r->kernel.start_ns;
		if (r->kernel.end_ns > p->latest_ns)
			p->latest_ns = r->kernel.end_ns;
		break;
	case RING_GRAPH:
		program_add(p, "graph", r->graph.device, r->graph.end_ns - r->graph.start_ns);
		break;
	case RING_COPY:
		program_add(p, "copy", r->copy.device, r->copy.bytes);
		break;
	case RING_CALL:
		program_add(p, "calls", 0, 0);
		p->first_call = p->first_call ? p->first_call : r->r.correlation;
		p->last_call = r->r.correlation;
		p->weights += r->call.weight;
		break;
	case RING_WINDOW:
		r->window.open ? p->opened++ : p->closed++;
		break;
	default:
		break;
	}
}

static inline struct ring_state_now program_state(struct gpu_program *p)
{
	struct ring_state_now now;

	ring_now(p->ring, &now);
	return now;
}

/* Waits until the library has handled the last request for a window: it is open, or will not be. */
static inline struct ring_state_now program_wait(struct gpu_program *p)
{
	struct ring_state_now now;

	for (int i = 0; i < PROGRAM_WAIT_MS; i++) {
		ring_beat(p->ring, clock_mono_ns());
		ring_now(p->ring, &now);
		if (now.state == RING_OPEN || now.generation_seen == now.generation_asked)
			return now;
		program_pause();
	}
	ck_abort_msg("the window is neither open nor refused");
	return now;
}

static inline struct ring_state_now program_open_with(struct gpu_program *p, uint32_t want,
						      uint32_t stacks_per_s)
{
	uint64_t at = clock_mono_ns();

	setpriority(PRIO_PROCESS, 0, -20); /* as root: it reads in time on a busy machine */
	ring_window(p->ring, want, stacks_per_s, at, at + 60000000000ull);
	return program_wait(p);
}
static inline struct ring_state_now program_open(struct gpu_program *p, uint32_t want)
{
	return program_open_with(p, want, 0);
}

/* Closes the window, waits for that, and reads the rest. */
static inline struct ring_state_now program_close(struct gpu_program *p)
{
	struct ring_state_now now = { 0 };

	ring_window(p->ring, 0, 0, clock_mono_ns(), 0);
	for (int i = 0; i < PROGRAM_WAIT_MS && now.generation_seen != now.generation_asked + !i;
	     i++) {
		ring_poll(p->ring, SIZE_MAX, program_record, p);
		program_pause();
		ring_now(p->ring, &now);
	}
	ck_assert_uint_eq(now.generation_seen, now.generation_asked);
	ring_poll(p->ring, SIZE_MAX, program_record, p);
	return program_state(p);
}

/* Plays the scenario, reading meanwhile (unless it acts as a slow reader). */
static inline void program_play(struct gpu_program *p, bool reads)
{
	int flags = fcntl(fileno(p->from), F_GETFL);
	char line[16] = "";
	ssize_t n = -1;

	fputs("go\n", p->to);
	fcntl(fileno(p->from), F_SETFL, flags | O_NONBLOCK);
	for (int i = 0; n < 0 && i < 6 * PROGRAM_WAIT_MS; i++) {
		if (p->ring) /* it may be detached */
			ring_beat(p->ring, clock_mono_ns());
		if (reads)
			ring_poll(p->ring, SIZE_MAX, program_record, p);
		n = read(fileno(p->from), line, sizeof line);
		if (n < 0)
			program_pause();
	}
	fcntl(fileno(p->from), F_SETFL, flags);
	ck_assert_int_eq(n, 5);
	ck_assert_int_eq(memcmp(line, "done\n", 5), 0);
}

/* Compares the sums with those that gpu_answers.py computes from the scenario. */
static inline void program_check_as(struct gpu_program *p, const char *how)
{
	char command[256], name[RING_NAME_BYTES + 1];
	uint64_t count, sum;
	uint32_t device;
	size_t n = 0;

	snprintf(command, sizeof command, "python3 tests/unit/gpu_answers.py %s %s", p->script,
		 how);
	FILE *f = popen(command, "r");

	ck_assert_ptr_nonnull(f);
	while (fscanf(f, "%256s %u %lu %lu", name, &device, &count, &sum) == 4) {
		struct gpu_sum *s = program_sum(p, name, device);

		ck_assert_msg(s->count == count && s->sum == sum,
			      "%s on device %u: %lu, %lu; must be %lu, %lu", name, device, s->count,
			      s->sum, count, sum);
		n++;
	}
	ck_assert_int_eq(pclose(f), 0);
	ck_assert_uint_gt(n, 0);
	ck_assert_uint_eq(n, p->n_sums);
}
static inline void program_check(struct gpu_program *p)
{
	program_check_as(p, "");
}

#endif
