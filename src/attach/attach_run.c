/* The sequence of an attach: checks, choice of a thread, stop, call, load, report. */
#include "attach/attach.h"

#include "attach/attach_call.h"
#include "attach/attach_code.h"
#include "attach/attach_guard.h"
#include "attach/attach_load.h"
#include "attach/attach_quiet.h"
#include "attach/attach_refuse.h"
#include "attach/attach_status.h"
#include "attach/attach_symbols.h"
#include "attach/attach_thread.h"
#include "base/clock.h"
#include "base/err.h"
#include "symbol/elf/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* --- files ------------------------------------------------------------------------------------ */

/* If memfds cannot be executed, the bytes are in a file in /tmp of the process, which is removed as
 * soon as it is open there. */
struct attach_file {
	int fd, dir;    /* dir: the directory it is in */
	char path[120]; /* as the process sees it */
};

/* Links cannot lead out of the process's root. */
static int open_tmp(uint32_t pid)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	char path[32];

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/root", pid);
	int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	int dir = syscall(SYS_openat2, root, "tmp", &how, sizeof how);
	int rc = dir < 0 ? -errno : dir;
	close(root);
	return rc;
}

/* Removes its name, and closes it. */
static void attach_file_drop(struct attach_file *f)
{
	if (f->fd >= 0) {
		unlinkat(f->dir, f->path + strlen("/tmp/"), 0);
		close(f->fd);
	}
	if (f->dir >= 0)
		close(f->dir);
	f->fd = f->dir = -1;
}

/* Makes a new, empty file, owned by the process's user. Returns 0, to be dropped; or -errno and
 * err. */
static int attach_file_make(uint32_t pid, const char *name, struct attach_file *f, struct err *err)
{
	char proc[32];
	struct stat owner;
	int dir = open_tmp(pid);

	if (dir < 0)
		return err_set(err, -dir, "cannot open /tmp of process %" PRIu32 ": %s", pid,
			       strerror(-dir));
	snprintf(f->path, sizeof f->path, "/tmp/%.60s.%" PRIu32 ".%" PRIx64, name, pid,
		 clock_mono_ns());
	snprintf(proc, sizeof proc, "/proc/%" PRIu32, pid);
	f->dir = dir;
	f->fd = openat(dir, f->path + strlen("/tmp/"),
		       O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int rc = f->fd < 0 ? -errno : 0;
	if (rc == 0 && (stat(proc, &owner) < 0 || fchown(f->fd, owner.st_uid, owner.st_gid) < 0))
		rc = -errno;
	if (rc == 0)
		return 0;
	err_set(err, -rc, "cannot make a file in /tmp of process %" PRIu32 ": %s", pid,
		strerror(-rc));
	attach_file_drop(f);
	return rc;
}

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
	out->tid = tid;
	snprintf(out->thread, sizeof out->thread, "%s", name);
	out->syscall = attach_parking_call(nr);
}

/* The thread may have continued since it was found safe. */
static bool is_still_safe(struct job *j, const struct attach_stop *s, uint64_t stack_end)
{
	struct attach_place p = { s->nr, s->regs.rdi, s->regs.rsp, s->site + 2 };

	return attach_quiet_still(&j->quiet) &&
	       attach_place_is_safe(j->pid, &p, stack_end, &j->symbols) &&
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

/* Returns 1: stopped; 0: not this one; or -errno. */
static int try_stop(struct job *j, const struct attach_choice *c, struct attach_stop *s)
{
	attach_hurry(true);
	int rc = attach_stop(s, &j->safety, j->pid, c->best.tid);

	if (rc == -EPERM)
		return refused(j, attach_refused_by_kernel(j->pid, j->err));
	if (rc == -ETIMEDOUT)
		return cannot_stop(j);
	if (rc == 0 && !is_the_same(j))
		return changed(j, s);
	if (rc == 0 && is_still_safe(j, s, c->best.stack_end))
		return 1;
	if (rc == 0)
		attach_give_back(s);
	attach_hurry(false);
	return 0;
}

/* Whether a thread that is stopped now could map memory immediately. */
static bool is_quiet(struct job *j)
{
	bool is = attach_quiet_look(&j->quiet);

	j->out->busy = j->quiet.busy;
	return is;
}

/* Returns 1: stopped, or with dry_run found; 0: none until until_ns; or -errno. */
static int stop_parked(struct job *j, uint64_t until_ns, struct attach_stop *s)
{
	struct timespec nap = { 0, 1000000 };
	struct attach_choice c;
	uint32_t skip = 0;

	do {
		int rc = attach_choose(j->pid, j->opts, &j->symbols, skip, &c);
		if (rc < 0)
			return refused(j, attach_say(GPU_ATTACH_GONE, j->pid, "", j->err));
		j->out->rounds++;
		j->out->threads = c.threads;
		j->out->parked = c.parked;
		j->out->kept_out = c.kept_out;
		skip = c.parked ? c.best.tid : 0; /* if it fails, another one is tried next */
		if (c.parked) {
			note_thread(j->out, c.best.tid, c.best.name, c.best.place.nr);
			rc = j->opts->dry_run ? 1 : is_quiet(j) ? try_stop(j, &c, s) : 0;
			if (rc)
				return rc;
		}
		nanosleep(&nap, NULL);
		nap.tv_nsec = nap.tv_nsec < 16000000 ? nap.tv_nsec * 2 : nap.tv_nsec;
	} while (clock_mono_ns() < until_ns);
	return 0;
}

static bool is_wanted(void *ctx, const struct attach_stop *s)
{
	struct job *j = ctx;

	return s->nr != SYS_futex && attach_parking_call(s->nr) &&
	       is_still_safe(j, s, attach_stack_end(j->pid, j->opts->view, s->regs.rsp));
}

/* Watches threads in turn, for some time each, until one enters a call. Returns as stop_parked. */
static int stop_entering(struct job *j, uint64_t until_ns, struct attach_stop *s)
{
	enum { TURN_NS = 50000000, TURNS = 64 };
	uint32_t tids[TURNS];
	size_t n = attach_threads(j->pid, tids, TURNS);

	for (size_t i = 0; n && clock_mono_ns() < until_ns; i = (i + 1) % n) {
		if (!is_quiet(j))
			continue;
		int rc = attach_stop_at_entry(s, &j->safety, j->pid, tids[i],
					      clock_mono_ns() + TURN_NS, is_wanted, j);
		if (rc == -EPERM)
			return refused(j, attach_refused_by_kernel(j->pid, j->err));
		if (rc == -ETIMEDOUT)
			return cannot_stop(j);
		if (rc == 0 && !is_the_same(j))
			return changed(j, s);
		if (rc < 0)
			continue;
		j->out->at_entry = true;
		note_thread(j->out, tids[i], "", s->nr);
		return 1;
	}
	return 0;
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
		rc = stop_entering(j, clock_mono_ns() + (wait_ns > ENTER_NS ? wait_ns : ENTER_NS),
				   s);
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
	int rc = run_guarded(j);
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

/* Two files of the process that open only for users with rights over it: so no other user can hold
 * their locks. To open the first one waits for nothing, but a user with the right to trace may lack
 * the one to read others' files. All open the second. */
struct attach_lock {
	int early; /* the first file; below 0: not open */
	int fd;    /* the second one, or -errno */
};

/* Returns the descriptor, or -errno; -EWOULDBLOCK: another process has the lock. */
static int lock_file(uint32_t pid, const char *name)
{
	char path[48];

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/%s", pid, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	int rc = -errno;
	close(fd);
	return rc;
}

static void unlock(struct attach_lock *l)
{
	if (l->fd >= 0)
		close(l->fd);
	if (l->early >= 0)
		close(l->early);
}

/* Prevents two processes from loading it at one time. The last process with the second descriptor
 * releases that lock. Returns -EWOULDBLOCK: another process has one of them. */
static int lock(uint32_t pid, struct attach_lock *l)
{
	*l = (struct attach_lock){ lock_file(pid, "personality"), -EWOULDBLOCK };
	if (l->early != -EWOULDBLOCK)
		l->fd = lock_file(pid, "maps");
	if (l->fd == -EWOULDBLOCK)
		unlock(l);
	return l->fd == -EWOULDBLOCK ? -EWOULDBLOCK : 0;
}

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
	if (lock(pid, &held))
		return err_set(err, EBUSY, "another process is attaching to process %" PRIu32, pid);
	rc = attach_locked(pid, opts, held.fd, out, err);
	unlock(&held);
	return rc;
}
