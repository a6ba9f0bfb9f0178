/* The sequence of an attach: checks, choice of a thread, stop, call, load, report. */
#include "attach/attach.h"

#include "attach/attach_call.h"
#include "attach/attach_code.h"
#include "attach/attach_frames.h"
#include "attach/attach_guard.h"
#include "attach/attach_load.h"
#include "attach/attach_quiet.h"
#include "attach/attach_refuse.h"
#include "attach/attach_status.h"
#include "attach/attach_symbols.h"
#include "attach/attach_thread.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/hash.h"
#include "symbol/elf/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* --- identity --------------------------------------------------------------------------------- */

/* Whether a process is still the one whose files were read. Its pid may be another process's by
 * now, and exec gives it another memory, in which all addresses are wrong. */

struct attach_identity {
	uint64_t start;    /* of the process, in ticks */
	uint64_t dev, ino; /* of its executable */
	/* /proc/PID/mem of that time, which is empty after exec; -1: cannot be opened */
	int memory;
};

static int program_of(uint32_t pid, struct stat *st)
{
	char path[32];

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/exe", pid);
	return stat(path, st);
}

/* Call it before anything of the process is read. Returns 0, to be closed; or -ESRCH. */
static int attach_identity_open(struct attach_identity *id, uint32_t pid)
{
	char path[32];
	struct stat st;

	*id = (struct attach_identity){ .start = attach_start_of(pid), .memory = -1 };
	if (!id->start || program_of(pid, &st) < 0)
		return -ESRCH;
	id->dev = st.st_dev;
	id->ino = st.st_ino;
	snprintf(path, sizeof path, "/proc/%" PRIu32 "/mem", pid);
	id->memory = open(path, O_RDONLY | O_CLOEXEC);
	return 0;
}

static void attach_identity_close(struct attach_identity *id)
{
	if (id->memory >= 0)
		close(id->memory);
	id->memory = -1;
}

/* --- a job ------------------------------------------------------------------------------------ */

#define WAIT_NS  5000000000ull
#define CALL_NS  2000000000ull
#define LOAD_NS  10000000000ull
#define BUSY_NS  1000000000ull /* a refusal is because of activity that is no older */
#define ENTER_NS 1000000000ull /* least time to watch threads if none is parked */
#define NONE_NS  500000000ull  /* without a parked thread for so long, others are tried */

/* A segment beyond the end of the file is mapped all the same; the process dies when it touches
 * it. */
static bool has_all_segments(const struct elf_file *f)
{
	size_t n = 0;
	GElf_Phdr p;

	if (elf_getphdrnum(f->elf, &n) < 0)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!gelf_getphdr(f->elf, i, &p) || p.p_offset > f->size ||
		    p.p_filesz > f->size - p.p_offset)
			return false;
	return n > 0;
}

static int check_image(const struct gpu_attach_opts *o, struct err *err)
{
	struct elf_file f = { 0 };
	bool right = false;

	if (o->size <= GPU_ATTACH_MAX_BYTES &&
	    elf_file_open_image(&f, o->image, o->size, NULL) == 0) {
		right = f.header.e_type == ET_DYN && f.header.e_machine == EM_X86_64 &&
			has_all_segments(&f);
		elf_file_close(&f);
	}
	return right ? 0
		     : err_set(err, EBADMSG, "%s is not a complete shared library for this machine",
			       o->library->name);
}

#ifdef __x86_64__

struct job {
	uint32_t pid;
	const struct gpu_attach_opts *opts;
	struct gpu_attach_report *out;
	struct err *err;
	struct attach_identity identity;
	struct attach_symbols symbols;
	struct attach_frames *frames;
	struct attach_guard guard;
	struct attach_safety safety;
	struct attach_quiet quiet;
	int pidfd, lock, rc;
};

static int refused(struct job *j, enum gpu_attach_refusal why)
{
	j->out->refusal = why;
	return -ECANCELED;
}

/* --- a thread --------------------------------------------------------------------------------- */

static void note_thread(struct gpu_attach_report *out, uint32_t tid, const char *name, int nr)
{
	char path[64];

	out->tid = tid;
	snprintf(out->thread, sizeof out->thread, "%s", name);
	snprintf(path, sizeof path, "/proc/%" PRIu32 "/comm", tid);
	if (!*name)
		fs_read_line(path, out->thread, sizeof out->thread);
	out->syscall = attach_parking_call(nr); /* NULL: in none */
}

/* The lock of the mappings can only be held by another thread. */
static bool is_alone(const struct job *j)
{
	uint32_t tids[2];

	return attach_threads(j->pid, tids, 2) == 1;
}

static bool is_still_quiet(const struct job *j)
{
	return is_alone(j) || attach_quiet_still(&j->quiet);
}

/* As struct pt_regs: the registers of ptrace start with it. */
static void regs_of(const struct attach_stop *s, uint64_t regs[PT_REGS_WORDS])
{
	_Static_assert(offsetof(struct user_regs_struct, ss) == (PT_REGS_WORDS - 1) * 8, "pt_regs");
	memcpy(regs, &s->regs, PT_REGS_WORDS * sizeof *regs);
}

/* The thread may have continued since it was found. */
static bool is_still_safe(struct job *j, const struct attach_stop *s, uint64_t stack_end)
{
	struct attach_place p = { s->nr, s->regs.rdi, s->regs.rsp, s->site + 2 };
	uint64_t regs[PT_REGS_WORDS];

	regs_of(s, regs);
	return is_still_quiet(j) &&
	       attach_parked_is_safe(j->pid, &p, stack_end, regs, j->frames, &j->symbols) &&
	       attach_can_call(j->pid, s->tid, j->opts);
}

static bool is_safe_running(struct job *j, const struct attach_stop *s)
{
	uint64_t regs[PT_REGS_WORDS];

	regs_of(s, regs);
	return is_still_quiet(j) &&
	       attach_running_is_safe(j->pid, s->tid, regs, s->regs.fs_base, j->frames,
				      &j->symbols) &&
	       attach_can_call(j->pid, s->tid, j->opts);
}

/* Checks while the thread is stopped, so that the result stays true. */
static bool is_the_same(const struct job *j)
{
	const struct attach_identity *id = &j->identity;
	uint64_t addr = j->symbols.pthread_create; /* in a mapping that stays */
	struct stat st;
	char byte;

	return attach_start_of(j->pid) == id->start && program_of(j->pid, &st) == 0 &&
	       st.st_dev == id->dev && st.st_ino == id->ino &&
	       (id->memory < 0 || pread(id->memory, &byte, 1, addr) == 1);
}

static int changed(struct job *j, struct attach_stop *s)
{
	attach_give_back(s);
	attach_hurry(false);
	return refused(j, attach_say(GPU_ATTACH_CHANGED, j->pid, "", j->err));
}

/* The kernel releases the thread when ours ends, which is next. */
static int cannot_stop(struct job *j)
{
	return refused(j, attach_say(GPU_ATTACH_UNINTERRUPTIBLE, j->pid, "", j->err));
}

/* A thread that has ended cannot be stopped either. Returns 0: it has, its process has not. */
static int not_permitted(struct job *j, uint32_t tid)
{
	enum gpu_attach_refusal why = attach_refused_by_kernel(j->pid, tid, j->err);

	return why == GPU_ATTACH_NOT_REFUSED ? 0 : refused(j, why);
}

/* Returns 1: stopped; 0: not this one; or -errno. */
static int judge_stop(struct job *j, int rc, struct attach_stop *s, uint32_t tid, bool is_safe)
{
	if (rc == -ETIMEDOUT)
		return cannot_stop(j);
	if (rc == 0 && !is_the_same(j))
		return changed(j, s);
	if (rc == 0 && is_safe)
		return 1;
	if (rc == 0)
		attach_give_back(s);
	attach_hurry(false);
	return rc == -EPERM ? not_permitted(j, tid) : 0;
}

static int try_stop(struct job *j, const struct attach_choice *c, struct attach_stop *s)
{
	attach_hurry(true);
	int rc = attach_stop(s, &j->safety, j->pid, c->best.tid);

	return judge_stop(j, rc, s, c->best.tid, rc == 0 && is_still_safe(j, s, c->best.stack_end));
}

static int try_running(struct job *j, uint32_t tid, struct attach_stop *s)
{
	attach_hurry(true);
	int rc = attach_stop_running(s, &j->safety, j->pid, tid);

	return judge_stop(j, rc, s, tid, rc == 0 && is_safe_running(j, s));
}

/* Whether a thread that is stopped now could map memory immediately. */
static bool is_quiet(struct job *j)
{
	bool is = is_alone(j) || attach_quiet_look(&j->quiet);

	j->out->busy = j->quiet.busy;
	return is;
}

static int gone(struct job *j)
{
	return refused(j, attach_say(GPU_ATTACH_GONE, j->pid, "", j->err));
}

/* The search for a parked thread. */
struct search {
	uint64_t seen_ns;  /* when one was parked */
	uint32_t skip;     /* the last one, which could not be used: another one is tried next */
	uint32_t at_once;  /* tries without a pause, for lack of tables */
	uint32_t refused;  /* stops in vain */
	uint32_t prepared; /* the thread with tables for its frames */
};
enum { AT_ONCE_MAX = 16, REFUSED_MAX = 32 };

static bool frames_decide(const struct job *j, const struct attach_choice *c)
{
	return c->best.words != ATTACH_WORDS_CLEAR || j->symbols.allocators.n;
}

/* Its frames had to decide, and could not: returns whether they may now. */
static bool lacks_tables(struct job *j, const struct attach_choice *c)
{
	return frames_decide(j, c) && attach_frames_update(j->frames);
}

/* A poll that was interrupted in vain is another call afterwards (restart_syscall), in which its
 * thread cannot be stopped again. So its frames have their tables before. */
static void prepare(struct job *j, const struct attach_choice *c, struct search *q)
{
	if (q->prepared == c->best.tid || !frames_decide(j, c))
		return;
	q->prepared = c->best.tid;
	attach_frames_prepare(j->frames, c->best.place.pc, c->best.place.sp, c->best.stack_end);
}

/* Tries the best of the threads. Returns 1: stopped, or with dry_run found; 0: not this one, after
 * a pause another; or -errno. *at_once: without one. */
static int try_parked(struct job *j, const struct attach_choice *c, struct search *q, bool *at_once,
		      struct attach_stop *s)
{
	note_thread(j->out, c->best.tid, c->best.name, c->best.place.nr);
	if (j->opts->dry_run)
		return 1;
	q->skip = c->best.tid;
	prepare(j, c, q);
	if (!is_quiet(j))
		return 0;
	int rc = try_stop(j, c, s);
	*at_once = !rc && lacks_tables(j, c) && q->at_once++ < AT_ONCE_MAX;
	q->refused += !rc && !*at_once;
	q->skip = *at_once ? 0 : q->skip;
	return rc;
}

/* Whether it is worth to look on: threads were parked a moment ago, and not all in vain. */
static bool is_promising(const struct job *j, const struct search *q)
{
	return j->opts->dry_run ||
	       (clock_mono_ns() - q->seen_ns < NONE_NS && q->refused < REFUSED_MAX);
}

/* Returns as try_parked, 0: none until until_ns. */
static int stop_parked(struct job *j, uint64_t until_ns, struct attach_stop *s)
{
	struct search q = { .seen_ns = clock_mono_ns() };
	struct timespec nap = { 0, 1000000 };
	struct attach_choice c;

	do {
		bool at_once = false;
		int rc = attach_choose(j->pid, j->opts, &j->symbols, q.skip, &c);
		if (rc < 0 || attach_has_ended(j->pid, 0))
			return gone(j);
		j->out->rounds++;
		j->out->threads = c.threads;
		j->out->parked = c.parked;
		j->out->kept_out = c.kept_out;
		q.seen_ns = c.parked || q.skip ? clock_mono_ns() : q.seen_ns;
		q.skip = 0;
		rc = c.parked ? try_parked(j, &c, &q, &at_once, s) : 0;
		if (rc)
			return rc;
		if (at_once)
			continue;
		nanosleep(&nap, NULL);
		nap.tv_nsec = nap.tv_nsec < 16000000 ? nap.tv_nsec * 2 : nap.tv_nsec;
	} while (clock_mono_ns() < until_ns && is_promising(j, &q));
	return 0;
}

static bool is_wanted(void *ctx, const struct attach_stop *s)
{
	struct job *j = ctx;

	return s->nr != SYS_futex && attach_parking_call(s->nr) &&
	       is_still_safe(j, s, attach_stack_end(j->pid, j->opts->view, s->regs.rsp));
}

/* Watches a thread until it enters a call of the list, never a futex or a call that changes
 * mappings. Returns as judge_stop. */
static int stop_entering(struct job *j, uint32_t tid, uint64_t until_ns, struct attach_stop *s)
{
	int rc = attach_stop_at_entry(s, &j->safety, j->pid, tid, until_ns, is_wanted, j);

	if (rc == -EPERM)
		return not_permitted(j, tid);
	if (rc == -ETIMEDOUT)
		return cannot_stop(j);
	if (rc == 0 && !is_the_same(j))
		return changed(j, s);
	if (rc < 0)
		return 0;
	j->out->at_entry = true;
	note_thread(j->out, tid, "", s->nr);
	return 1;
}

/* Stops a thread that makes no system call at some moments, until it is in its own code at one.
 * Moments have different distances: a loop must not be met at the same place each time. */
static int stop_running(struct job *j, uint32_t tid, uint64_t until_ns, struct attach_stop *s)
{
	enum { LEAST_NS = 200000, SPREAD_NS = 1 << 20 };
	int rc = 0;

	while (!rc && clock_mono_ns() < until_ns) {
		attach_frames_update(j->frames);
		if (attach_may_run(j->pid, tid, j->opts) && is_quiet(j))
			rc = try_running(j, tid, s);
		if (!rc)
			nanosleep(&(struct timespec){ 0, LEAST_NS + hash_mix(clock_mono_ns(), tid) %
									    SPREAD_NS },
				  NULL);
	}
	if (rc == 1)
		note_thread(j->out, tid, "", -1);
	return rc;
}

/* Takes threads that are not seen parked in turn, for some time each. Returns as stop_parked. */
static int stop_busy(struct job *j, uint64_t until_ns, struct attach_stop *s)
{
	enum { TURN_NS = 50000000, TURNS = 64 };
	uint32_t tids[TURNS];
	size_t n = attach_threads(j->pid, tids, TURNS);
	int rc = 0;

	for (size_t i = 0; n && !rc && clock_mono_ns() < until_ns; i = (i + 1) % n) {
		if (attach_has_ended(j->pid, 0))
			return gone(j);
		if (!is_quiet(j))
			continue;
		attach_frames_update(j->frames);
		rc = stop_entering(j, tids[i], clock_mono_ns() + TURN_NS, s);
		if (!rc)
			rc = stop_running(j, tids[i], clock_mono_ns() + TURN_NS, s);
	}
	return rc;
}

static bool is_just_busy(const struct job *j)
{
	return j->quiet.busy && clock_mono_ns() - j->quiet.busy_ns < BUSY_NS;
}

static int stop_some(struct job *j, struct attach_stop *s)
{
	uint64_t wait_ns = j->opts->wait_ns ? j->opts->wait_ns : WAIT_NS, now_ns = clock_mono_ns();
	char detail[96];
	int rc = stop_parked(j, now_ns + wait_ns, s);

	if (rc == 0 && is_just_busy(j))
		return refused(j, attach_say(GPU_ATTACH_BUSY, j->pid, "", j->err));
	if (rc == 0 && !j->opts->dry_run)
		rc = stop_busy(j, clock_mono_ns() + (wait_ns > ENTER_NS ? wait_ns : ENTER_NS), s);
	if (rc == 0 && is_just_busy(j))
		return refused(j, attach_say(GPU_ATTACH_BUSY, j->pid, "", j->err));
	if (rc)
		return rc;
	int n = snprintf(detail, sizeof detail, "%" PRIu32 " checked", j->out->threads);
	if (j->out->kept_out)
		snprintf(detail + n, sizeof detail - n,
			 ", %" PRIu32 " of them filtered by seccomp, frozen or uninterruptible",
			 j->out->kept_out);
	return refused(j, attach_say(GPU_ATTACH_NO_THREAD, j->pid, detail, j->err));
}

/* --- the steps -------------------------------------------------------------------------------- */

static int call_and_load(struct job *j, struct attach_call *c, struct attach_stop *s,
			 bool is_written)
{
	struct attach_load load = {
		.pidfd = j->pidfd,
		.is_written = is_written,
		.image = j->opts->image,
		.size = j->opts->size,
		.limit_ns = j->opts->load_ns ? j->opts->load_ns : LOAD_NS,
	};
	int rc = attach_call(c, s, j->err);
	uint64_t then_ns = clock_mono_ns();
	attach_hurry(false);

	j->out->held_ns =
		then_ns - s->since_ns > j->out->held_ns ? then_ns - s->since_ns : j->out->held_ns;
	j->out->restarted = s->is_rewound || j->out->at_entry;
	j->out->running = s->nr < 0;
	j->out->pages_left = c->stays_mapped ? ATTACH_BYTES / 4096 : 0;
	load.memory = c->fd;
	if (rc == 0)
		rc = attach_load(&load, j->err);
	j->out->load_ns = clock_mono_ns() - then_ns;
	if (c->fd >= 0)
		close(c->fd);
	j->out->loaded = rc == 0;
	return rc;
}

/* Gives a thread back rather than let it wait for the loader's lock, and tries again a moment
 * later, for half of the available time. */
static int stop_and_load(struct job *j, struct attach_call *c, bool is_written)
{
	uint64_t wait_ns = j->opts->wait_ns ? j->opts->wait_ns : WAIT_NS,
		 until_ns = clock_mono_ns() + wait_ns / 2;
	struct timespec nap = { 0, 500000 };
	struct attach_stop s;

	for (;;) {
		int rc = j->opts->dry_run || attach_guard_is_there(&j->guard)
				 ? stop_some(j, &s)
				 : err_set(j->err, ECHILD, "the guardian has ended");
		if (rc == 1 && j->opts->dry_run)
			return 0;
		if (rc == 1)
			rc = call_and_load(j, c, &s, is_written);
		if (rc != -EAGAIN)
			return rc;
		j->out->given_back++;
		nanosleep(&nap, NULL);
		nap.tv_nsec = nap.tv_nsec < 32000000 ? nap.tv_nsec * 3 / 2 : nap.tv_nsec;
		c->is_patient = clock_mono_ns() > until_ns;
	}
}

static int with_files(struct job *j, struct attach_call *c, struct attach_file *memory,
		      struct attach_file *library)
{
	ssize_t n = pwrite(library->fd, j->opts->image, j->opts->size, 0);
	int rc = n == (ssize_t)j->opts->size ? 0 : n < 0 ? -errno : -ENOSPC;

	if (rc < 0)
		return err_set(j->err, -rc, "cannot write %s of process %" PRIu32 ": %s",
			       library->path, j->pid, strerror(-rc));
	c->file = memory->path;
	c->library = library->path;
	j->out->by_file = true;
	rc = stop_and_load(j, c, true);
	if (rc == -EACCES || rc == -EPERM)
		return refused(
			j, attach_say(GPU_ATTACH_NO_EXEC_MEMORY, j->pid, strerror(-rc), j->err));
	return rc;
}

static int by_file(struct job *j, struct attach_call *c)
{
	struct attach_file memory, library;
	int rc = attach_file_make(j->pid, "cresset-attach", &memory, j->err);

	if (rc < 0)
		return rc;
	rc = attach_file_make(j->pid, j->opts->library->name, &library, j->err);
	if (rc == 0) {
		rc = with_files(j, c, &memory, &library);
		attach_file_drop(&library);
	}
	attach_file_drop(&memory);
	return rc;
}

static int work(struct job *j)
{
	struct attach_call c = {
		.symbols = &j->symbols,
		.pidfd = j->pidfd,
		.library = j->opts->library->name,
		.limit_ns = j->opts->call_ns ? j->opts->call_ns : CALL_NS,
		.fd = -1,
	};
	struct err first = { 0 };
	struct err *err = j->err;

	j->err = err ? err : &first;
	int rc = stop_and_load(j, &c, false);
	if (c.no_exec) {
		*j->err = (struct err){ 0 };
		rc = by_file(j, &c);
	}
	j->err = err;
	return rc;
}

/* The kernel regards this thread as the tracer, and releases everything when it ends. */
static void *run(void *arg)
{
	struct job *j = arg;

	prctl(PR_SET_TIMERSLACK, 1);
	j->rc = work(j);
	return NULL;
}

/* Blocks signals in the meantime: none may end us while a thread has our registers. */
static int run_apart(struct job *j)
{
	sigset_t all, before;
	pthread_t thread;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int rc = pthread_create(&thread, NULL, run, j);
	if (rc == 0)
		pthread_join(thread, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc ? err_set(j->err, rc, "cannot start a thread: %s", strerror(rc)) : j->rc;
}

static void tell_slow(void *ctx, pid_t tid)
{
	const struct job *j = ctx;

	if (j->opts->slow)
		j->opts->slow(j->opts->slow_ctx, j->pid, tid);
}

/* A dry run touches nothing, and needs no guardian. */
static int run_guarded(struct job *j)
{
	int rc = j->opts->dry_run ? 0 : attach_guard_start(&j->guard, j->lock, j->err);

	if (rc < 0)
		return rc;
	rc = attach_quiet_open(&j->quiet, j->pid, j->symbols.pthread_create);
	if (rc < 0)
		err_set(j->err, -rc, "cannot start a process: %s", strerror(-rc));
	j->safety = (struct attach_safety){ j->symbols.shelter, j->guard.kept, tell_slow, j };
	if (rc == 0)
		rc = run_apart(j);
	attach_quiet_close(&j->quiet);
	if (j->guard.pid)
		attach_guard_stop(&j->guard);
	return rc;
}

static int run_known(struct job *j)
{
	if (attach_symbols_find(j->pid, j->opts->view, &j->symbols, NULL) < 0)
		return refused(j, attach_say(GPU_ATTACH_LIBC, j->pid, "", j->err));
	j->frames = attach_frames_new(j->pid, j->opts->view);
	int rc = run_guarded(j);
	attach_frames_free(j->frames);
	attach_symbols_done(&j->symbols);
	return rc;
}

static int attach(uint32_t pid, const struct gpu_attach_opts *opts, int lock,
		  struct gpu_attach_report *out, struct err *err)
{
	struct job j = { .pid = pid, .opts = opts, .out = out, .err = err, .lock = lock };

	j.pidfd = syscall(SYS_pidfd_open, pid, 0);
	int rc = j.pidfd < 0 ? -errno : attach_identity_open(&j.identity, pid);
	if (rc < 0) {
		rc = refused(&j, attach_say(GPU_ATTACH_GONE, pid, "", err));
	} else {
		rc = run_known(&j);
		attach_identity_close(&j.identity);
	}
	if (j.pidfd >= 0)
		close(j.pidfd);
	return rc;
}

#else

static int attach(uint32_t pid, const struct gpu_attach_opts *opts, int lock,
		  struct gpu_attach_report *out, struct err *err)
{
	(void)opts, (void)lock;
	out->refusal = attach_say(GPU_ATTACH_32BIT, pid, "", err);
	return -ECANCELED;
}

#endif

static int attach_locked(uint32_t pid, const struct gpu_attach_opts *opts, int held,
			 struct gpu_attach_report *out, struct err *err)
{
	out->refusal = attach_refuse(pid, opts, &out->already, err);
	if (out->refusal)
		return -ECANCELED;
	if (out->already)
		return 0;
	return held < 0 ? err_set(err, -held, "cannot lock process %" PRIu32 ": %s", pid,
				  strerror(-held))
			: attach(pid, opts, held, out, err);
}

int gpu_attach(uint32_t pid, const struct gpu_attach_opts *opts, struct gpu_attach_report *out,
	       struct err *err)
{
	*out = (struct gpu_attach_report){ 0 };
	int rc = opts->dry_run ? 0 : check_image(opts, err);

	if (rc < 0)
		return rc;
	struct attach_lock held;
	if (attach_lock(pid, &held))
		return err_set(err, EBUSY, "another process is attaching to process %" PRIu32, pid);
	rc = attach_locked(pid, opts, held.fd, out, err);
	attach_unlock(&held);
	return rc;
}
