// tier: test
/* Waits that last over many cuts, on the running kernel: reported again without their stacks, they are in each interval with their part and their
 * stack. */
#include "base/buf.h"
#include "base/clock.h"
#include "collect/collect.h"
#include "collect/kernel/sampler_opts.h"
#include "collect/proc/proc_stat.h"
#include "may_bpf.h"
#include "profile/profile.h"
#include "unit.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	IDLE = 24,
	THREADS = IDLE + 1,
	CUTS = 5,
	FIRST_CUTS = 40,
	MOVES_AFTER = 2,
	BYTES_OF_A_COPY = 2048,
	STACK_BYTES = 256 << 10
};

/* --- the process ------------------------------------------------------------------------------------------------------------ */

static int go[2], moved[2], never[2];

static __attribute__((noinline)) int wait_at(int depth, int fd)
{
	char byte;
	volatile int got = depth ? wait_at(depth - 1, fd) : (int)read(fd, &byte, 1);

	return got;
}

/* All of them share the read end of a pipe without data. */
static void *idle_main(void *depth)
{
	wait_at((int)(intptr_t)depth, never[0]);
	return NULL;
}

/* Waits in one place, later in another. */
static void *mover_main(void *tell)
{
	uint32_t tid = syscall(SYS_gettid);

	if (write(*(int *)tell, &tid, sizeof tid) != sizeof tid)
		_exit(1);
	wait_at(7, go[0]);
	if (write(*(int *)tell, &tid, sizeof tid) != sizeof tid)
		_exit(1);
	wait_at(14, never[0]);
	return NULL;
}

/* Memory that is copied without a wait: from the C library, anonymous by a device file, and a regular file without a disk. */
static void *stack_of(intptr_t i)
{
	int zero = i % 3 == 1 ? open("/dev/zero", O_RDWR | O_CLOEXEC) : -1;
	int file = i % 3 == 2 ? memfd_create("stack", MFD_CLOEXEC) : -1;

	if (zero >= 0)
		return mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, zero, 0);
	if (file >= 0 && !ftruncate(file, STACK_BYTES))
		return mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	return NULL;
}

static int begin_idle(intptr_t i)
{
	void *stack = stack_of(i);
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	if (stack == MAP_FAILED || (stack && pthread_attr_setstack(&attr, stack, STACK_BYTES)))
		return -1;
	return pthread_create(&t, &attr, idle_main, (void *)(i / 3 % 3));
}

static pid_t begin_waiting(uint32_t *mover)
{
	ck_assert(!pipe(go) && !pipe(moved) && !pipe(never));
	pid_t pid = fork();

	if (pid) {
		ck_assert_int_eq(read(moved[0], mover, sizeof *mover), sizeof *mover);
		return pid;
	}
	for (intptr_t i = 0; i < IDLE; i++)
		if (begin_idle(i))
			_exit(1);
	mover_main(&moved[1]);
	_exit(0);
}

/* Makes the mover wait in its other place. */
static void move(uint32_t mover)
{
	struct proc_stat st = { 0 };
	uint32_t tid;

	ck_assert_int_eq(write(go[1], "", 1), 1);
	ck_assert_int_eq(read(moved[0], &tid, sizeof tid), sizeof tid);
	for (int i = 0; i < 50000 && st.state != 'S'; i++) {
		poll(NULL, 0, 1);
		ck_assert_int_eq(proc_stat_read(mover, &st), 0);
	}
	ck_assert_int_eq(st.state, 'S');
}

/* --- reported events -------------------------------------------------------------------------------------------------------- */

struct told {
	uint32_t tid;
	int64_t off_ns;
	char *stack;
};
struct interval {
	struct told threads[2 * IDLE];
	size_t n;
	int64_t begin_ns, end_ns; /* of the cuts */
	uint64_t read_bytes;      /* most of one cut */
};

static char *stack_text(struct profile *p, uint32_t stack)
{
	uint32_t frames[STACK_MAX_DEPTH], n = stack_depth(&p->stacks, stack);
	struct buf b = { 0 };

	stack_frames(&p->stacks, stack, frames);
	for (uint32_t i = 0; i < n; i++) {
		const struct frame *f = &p->frames.frames.v[frames[i]];

		if (f->mapping != MAPPING_NONE)
			buf_addf(&b, ";+%" PRIx64, f->offset);
		else
			buf_addf(&b, ";%s", profile_str(p, f->function));
	}
	char *text = strdup(buf_cstr(&b));
	buf_done(&b);
	return text;
}

/* Each thread has one wait in an interval, or two if it was moved. */
static void take(struct interval *out, struct profile *p, pid_t pid)
{
	for (size_t i = 0; i < p->samples.n; i++) {
		size_t k = 0;

		if (p->samples.pid[i] != (uint32_t)pid || out->n == 2 * IDLE)
			continue;
		while (k < out->n && out->threads[k].tid != p->samples.tid[i])
			k++;
		struct told *t = &out->threads[k];
		if (k == out->n) {
			*t = (struct told){ .tid = p->samples.tid[i] };
			out->n++;
		}
		t->off_ns += p->samples.value[i];
		free(t->stack);
		t->stack = stack_text(p, p->samples.stack[i]);
	}
}

static const struct told *told_of(const struct interval *v, uint32_t tid)
{
	for (size_t i = 0; i < v->n; i++)
		if (v->threads[i].tid == tid)
			return &v->threads[i];
	ck_abort_msg("thread %u is not there", tid);
}

static void cut(struct collector *c, struct interval *v)
{
	struct collect_stats before, stats;
	struct err err = { 0 };

	do {
		collect_get_stats(c, &before);
		for (uint64_t end_ns = clock_mono_ns() + 300000000; clock_mono_ns() < end_ns;)
			ck_assert_msg(collect_run(c, 20, &err) == 0, "%s", err.text);
		v->begin_ns = clock_mono_ns();
		ck_assert_msg(collect_cut(c, &err) == 0, "%s", err.text);
		v->end_ns = clock_mono_ns();
		collect_get_stats(c, &stats);
		if (stats.read_bytes - before.read_bytes > v->read_bytes)
			v->read_bytes = stats.read_bytes - before.read_bytes;
	} while (stats.cut_is_held);
}

static void forget_threads(struct interval *v)
{
	for (size_t i = 0; i < v->n; i++)
		free(v->threads[i].stack);
	v->n = 0;
}

static bool is_whole(const struct interval *v)
{
	for (size_t i = 0; i < v->n; i++)
		if (strstr(v->threads[i].stack, "truncated") ||
		    !strstr(v->threads[i].stack, "[blocked: pipe/socket read]"))
			return false;
	return v->n == THREADS;
}

static struct profile *next_sink(struct collector *c)
{
	struct profile *sink = profile_new();
	struct err err = { 0 };

	ck_assert_msg(collect_set_sink(c, profile_sink(sink), NULL, &err) == 0, "%s", err.text);
	return sink;
}

/* Cuts, takes the interval from the sink, and frees that. Returns the next sink. */
static struct profile *cut_and_take(struct collector *c, struct profile *sink, struct interval *v,
				    pid_t pid)
{
	cut(c, v);
	collect_name_kernel(c);
	struct profile *next = next_sink(c);
	take(v, sink, pid);
	profile_free(sink);
	return next;
}

/* On a busy machine, threads may not wait yet, and mappings and files of the process may arrive late. Mappings are requested again after a
 * second. Stacks copied until then are truncated, and copied again at the next report. */
static struct profile *await_whole(struct collector *c, struct profile *sink, struct interval *v,
				   pid_t pid)
{
	for (int i = 0; i < FIRST_CUTS && !is_whole(v); i++) {
		forget_threads(v);
		sink = cut_and_take(c, sink, v, pid);
	}
	ck_assert_msg(is_whole(v), "stacks stay truncated, or threads are missing: %zu are there",
		      v->n);
	return sink;
}

static void record(struct interval *v, pid_t pid, uint32_t mover)
{
	uint32_t id = pid;
	struct collect_opts opts = { .sampler = { .target = TARGET_PID,
						  .ids = &id,
						  .n_ids = 1,
						  .events = COLLECT_OFF_CPU,
						  .waits.min_block_ns = WAIT_MIN_BLOCK_NS } };
	struct profile *sink = profile_new();
	struct collector *c = NULL;
	struct err err = { 0 };

	ck_assert_msg(collect_open(&opts, profile_sink(sink), &c, &err) == 0, "%s", err.text);
	ck_assert_msg(collect_start(c, &err) == 0, "%s", err.text);
	sink = await_whole(c, sink, &v[0], pid);
	for (int i = 1; i < CUTS; i++) {
		if (i == MOVES_AFTER)
			move(mover);
		sink = cut_and_take(c, sink, &v[i], pid);
	}
	ck_assert_int_eq(collect_stop(c, &err), 0);
	collect_free(c);
	profile_free(sink);
}

/* From cut to cut, within the time of one cut; stacks are the previous, complete ones. */
static void check(const struct interval *v, const struct interval *before, uint32_t mover,
		  bool moves)
{
	ck_assert_uint_eq(v->n, THREADS);
	for (size_t i = 0; i < v->n; i++) {
		const struct told *t = &v->threads[i], *b = told_of(before, t->tid);

		ck_assert_msg(!strstr(t->stack, "truncated"), "%s", t->stack);
		ck_assert_ptr_nonnull(strstr(t->stack, "[blocked: pipe/socket read]"));
		if (t->tid == mover && moves) {
			ck_assert_str_ne(t->stack, b->stack);
			continue;
		}
		ck_assert_str_eq(t->stack, b->stack);
		ck_assert_int_ge(t->off_ns, v->begin_ns - before->end_ns);
		ck_assert_int_le(t->off_ns, v->end_ns - before->begin_ns);
	}
}

START_TEST(stacks_stay)
{
	struct interval v[CUTS] = { 0 };
	uint32_t mover;

	if (!may_load_bpf())
		T_SKIP("needs root, and a kernel that takes BPF programs");
	pid_t pid = begin_waiting(&mover);
	record(v, pid, mover);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	ck_assert_uint_ge(v[0].read_bytes, IDLE * BYTES_OF_A_COPY);
	for (int i = 1; i < CUTS; i++) {
		check(&v[i], &v[i - 1], mover, i == MOVES_AFTER);
		ck_assert_uint_lt(v[i].read_bytes, IDLE * BYTES_OF_A_COPY);
	}
	ck_assert_uint_gt(strlen(told_of(&v[CUTS - 1], mover)->stack),
			  strlen(told_of(&v[0], mover)->stack));
	for (int i = 0; i < CUTS; i++)
		forget_threads(&v[i]);
}
END_TEST

UNIT_MAIN("collect_going_on", stacks_stay)
