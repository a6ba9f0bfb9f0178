/* Forks a helper that attaches a library to one process at a time, and takes its result. */
#include "agent/attaching.h"

#include "agent/attach_list.h"
#include "agent/up.h"
#include "agent/wire.h"
#include "attach/attach_library.h"
#include "attach/attach_status.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "collect/collect.h"
#include "collect/host/host_sources.h"
#include "collect/inspect/inspect.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct attaching {
	const struct up_attach *opts;
	struct attacher_opts how;
	struct attacher attacher;
	struct attach_list list;
	struct collector *collector; /* set while attaching_run runs */
	struct host_attach counts;
	char own_exe[PATH_MAX];
};

/* --- life ------------------------------------------------------------------------------------- */

/* "": unknown. Without the mark of a file that a newer version has replaced. */
static void read_exe(uint32_t pid, char out[PATH_MAX])
{
	static const char mark[] = " (deleted)";
	char path[32];

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/exe", pid);
	ssize_t n = readlink(path, out, PATH_MAX - 1);
	out[n < 0 ? 0 : n] = '\0';
	char *end = strstr(out, mark);
	if (end && !end[strlen(mark)])
		*end = '\0';
}

/* Never a process of cresset itself. */
static bool takes(void *ctx, uint32_t pid)
{
	struct attaching *a = ctx;
	char exe[PATH_MAX];

	read_exe(pid, exe);
	return *exe && strcmp(exe, a->own_exe) != 0 &&
	       collect_ask_labels(a->collector, pid, a->opts->events, &a->opts->takes);
}

static uint64_t start_of(void *ctx, uint32_t pid)
{
	(void)ctx;
	return attach_start_of(pid);
}

struct attaching *attaching_new(const struct up_attach *opts)
{
	if (!opts->takes.apply)
		return NULL;
	struct attaching *a = xcalloc(1, sizeof *a);
	const struct attach_list_opts list = { takes, start_of, a };
	struct err err;

	a->opts = opts;
	a->how = (struct attacher_opts){ &attach_view, opts->kind, opts->library, opts->forced };
	read_exe((uint32_t)getpid(), a->own_exe);
	attach_list_init(&a->list, &list);
	if (!attacher_start(&a->how, &a->attacher, &err))
		return a;
	log_warn("no program gets the %s: %s", opts->words, err.text);
	attach_list_done(&a->list);
	free(a);
	return NULL;
}

void attaching_free(struct attaching *a)
{
	if (!a)
		return;
	attacher_stop(&a->attacher);
	attach_list_done(&a->list);
	free(a);
}

static void on_program(void *ctx, enum gpu_program_news what, uint32_t pid, uint32_t parent)
{
	struct attaching *a = ctx;
	uint64_t now_ns = clock_mono_ns();

	switch (what) {
	case GPU_PROGRAM_MAPPED:
		attach_list_mapped(&a->list, pid, now_ns);
		break;
	case GPU_PROGRAM_FORKED:
		attach_list_forked(&a->list, parent, pid, now_ns);
		break;
	case GPU_PROGRAM_EXEC:
		attach_list_exec(&a->list, pid, now_ns);
		break;
	case GPU_PROGRAM_ENDED:
		attach_list_ended(&a->list, pid);
		break;
	}
}

void attaching_hook(struct attaching *a, struct collect_opts *opts)
{
	if (!a)
		return;
	if (a->opts->events & COLLECT_HEAP) {
		opts->heap.program = on_program;
		opts->heap.program_ctx = a;
	} else {
		opts->gpu.program = on_program;
		opts->gpu.program_ctx = a;
	}
}

int attaching_watch(struct attaching *a, struct collector *c, struct err *err)
{
	return a ? collect_watch(c, a->attacher.fd, err) : 0;
}

const struct host_attach *attaching_counts(const struct attaching *a)
{
	return a ? &a->counts : NULL;
}

/* --- results ---------------------------------------------------------------------------------- */

static void say_loaded(const struct attaching *a, const struct attacher_answer *r)
{
	char path[32], name[16] = "";

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/comm", r->pid);
	fs_read_line(path, name, sizeof name);
	log_info("process %" PRIu32 " (%s) has the %s now: its thread %" PRIu32
		 " was stopped in %s for %" PRIu64 " us; it was loaded %" PRIu64 " us later",
		 r->pid, name, a->opts->words, r->report.tid,
		 r->report.running ? "its own code"
		 : *r->call        ? r->call
				   : "a system call",
		 r->report.held_ns / 1000, r->report.load_ns / 1000);
}

static void say_later(const struct attacher_answer *r, const struct attach_told *told)
{
	unsigned s = told->pause_ns / 1000000000;

	if (told->is_news)
		log_info("not attached yet: %s; next try in %u s", r->err.text, s);
	else
		log_verbose("not attached yet: %s; next try in %u s", r->err.text, s);
}

static void say(const struct attaching *a, const struct attacher_answer *r,
		const struct attach_told *told)
{
	switch (told->end) {
	case ATTACH_END_GONE:
		log_verbose("nothing to attach to: %s", r->err.text);
		break;
	case ATTACH_END_THERE:
		log_verbose("process %" PRIu32 " had the %s before", r->pid, a->opts->words);
		break;
	case ATTACH_END_LOADED:
		say_loaded(a, r);
		break;
	case ATTACH_END_LATER:
		say_later(r, told);
		break;
	case ATTACH_END_GIVEN_UP:
		log_warn("not attached, after %d tries: %s", ATTACH_TRIES, r->err.text);
		break;
	case ATTACH_END_REFUSED:
		log_warn("not attached: %s", r->err.text);
		break;
	case ATTACH_END_FAILED:
		log_warn("attaching failed: %s", r->err.text);
		break;
	}
	if (r->report.pages_left)
		log_warn("%" PRIu32 " pages of cresset stay mapped in process %" PRIu32,
			 r->report.pages_left, r->pid);
}

/* --- running ---------------------------------------------------------------------------------- */

static void take_answers(struct attaching *a, uint64_t now_ns)
{
	struct host_attach *n = &a->counts;
	struct attacher_answer answer;
	int rc;

	while ((rc = attacher_receive(&a->attacher, &answer)) > 0) {
		const struct attach_told told =
			attach_list_update(&a->list, answer.rc, &answer.report, now_ns);

		n->attached += told.end == ATTACH_END_LOADED;
		n->refused += told.end == ATTACH_END_REFUSED || told.end == ATTACH_END_GIVEN_UP;
		n->failed += told.end == ATTACH_END_FAILED;
		say(a, &answer, &told);
	}
	if (rc == 0)
		return;
	log_warn("the attach process has ended: no further program gets the %s", a->opts->words);
	attacher_stop(&a->attacher);
}

static void ask(struct attaching *a, uint64_t now_ns)
{
	uint64_t start;
	uint32_t pid = attach_list_next(&a->list, now_ns, &start);

	if (pid && attacher_send(&a->attacher, pid, start))
		attach_list_update(&a->list, -EBUSY, &(struct gpu_attach_report){ 0 }, now_ns);
}

void attaching_run(struct attaching *a, struct collector *c, uint64_t now_ns)
{
	if (!a || a->attacher.fd < 0)
		return;
	a->collector = c;
	take_answers(a, now_ns);
	if (a->attacher.fd >= 0)
		ask(a, now_ns);
	if (a->list.left_out && !a->counts.left_out)
		log_warn("more than %d processes may get the %s: some are skipped", ATTACH_LIST_MAX,
			 a->opts->words);
	a->counts.left_out = a->list.left_out;
	a->collector = NULL;
}

/* --- the process that attaches ---------------------------------------------------------------- */

enum {
	LIMIT_MS = 60000, /* well above the sum of the timeouts of an attach */
	WAIT_NS = 2000000000,
};

struct request {
	uint32_t pid;
	uint64_t start;
};

/* --- one attach, in a child ------------------------------------------------------------------- */

static int attach(const struct attacher_opts *o, const struct request *r,
		  struct attacher_answer *out)
{
	struct gpu_attach_opts opts = {
		.view = o->view, .library = o->library, .forced = o->forced, .wait_ns = WAIT_NS
	};
	struct buf image = { 0 };
	int rc = fs_read_at(AT_FDCWD, o->path, GPU_ATTACH_MAX_BYTES, &image, &out->err);

	opts.image = image.data;
	opts.size = image.len;
	if (!rc && attach_start_of(r->pid) != r->start)
		rc = err_set(&out->err, ESRCH, "process %" PRIu32 " is not there", r->pid);
	if (!rc)
		rc = gpu_attach(r->pid, &opts, &out->report, &out->err);
	buf_done(&image);
	return rc;
}

static _Noreturn void be_child(const struct attacher_opts *o, const struct request *r, int fd)
{
	struct attacher_answer answer = { .pid = r->pid };

	prctl(PR_SET_NAME, "cresset-attach", 0, 0, 0);
	answer.rc = attach(o, r, &answer);
	if (answer.report.syscall)
		snprintf(answer.call, sizeof answer.call, "%s", answer.report.syscall);
	answer.report.syscall = NULL; /* a pointer of this process */
	_exit(write(fd, &answer, sizeof answer) == (ssize_t)sizeof answer ? 0 : 1);
}

/* --- the process ------------------------------------------------------------------------------ */

static void answer_for(int fd, const struct request *r, int code, const char *what)
{
	struct attacher_answer answer = { .pid = r->pid };

	answer.rc = err_set(&answer.err, code, "process %" PRIu32 ": %s", r->pid, what);
	if (write(fd, &answer, sizeof answer) < 0)
		return; /* the response is no longer read */
}

/* Returns the status from waitpid; -1: it took too long and was killed. */
static int wait_for(pid_t child)
{
	int status = -1, pidfd = syscall(SYS_pidfd_open, child, 0);
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	bool is_late = pidfd >= 0 && poll(&p, 1, LIMIT_MS) == 0;

	if (is_late)
		kill(child, SIGKILL);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (pidfd >= 0)
		close(pidfd);
	return is_late ? -1 : status;
}

static void serve_one(const struct attacher_opts *o, const struct request *r, int fd)
{
	pid_t child = fork();

	if (child == 0)
		be_child(o, r, fd);
	if (child < 0) {
		answer_for(fd, r, EBUSY, "cannot start a process to attach with");
		return;
	}
	int status = wait_for(child);
	if (status < 0)
		answer_for(fd, r, ETIMEDOUT, "attaching took too long and was stopped");
	else if (status)
		answer_for(fd, r, EIO, "the attach helper crashed");
}

/* Keeps no other descriptor open: a stream ends only when its last end is closed. */
static _Noreturn void serve(const struct attacher_opts *o, int fd)
{
	struct request r;

	prctl(PR_SET_NAME, "cresset-attach", 0, 0, 0);
	if (dup2(fd, STDERR_FILENO + 1) < 0)
		_exit(1);
	fd = STDERR_FILENO + 1;
	closefrom(fd + 1);
	for (;;) {
		ssize_t n = recv(fd, &r, sizeof r, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n != (ssize_t)sizeof r)
			_exit(0);
		serve_one(o, &r, fd);
	}
}

int attacher_start(const struct attacher_opts *opts, struct attacher *out, struct err *err)
{
	int ends[2], rc = control_pair(ends);

	if (rc)
		return err_set(err, -rc, "cannot make a socket: %s", strerror(-rc));
	pid_t pid = fork();
	if (pid == 0)
		serve(opts, ends[1]);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return err_set(err, EAGAIN, "cannot start a process");
	}
	*out = (struct attacher){ ends[0], pid };
	return 0;
}

void attacher_stop(struct attacher *a)
{
	if (a->fd >= 0)
		close(a->fd);
	a->fd = -1;
	waitpid(a->pid, NULL, WNOHANG); /* if it has ended by now */
}

/* --- requests --------------------------------------------------------------------------------- */

int attacher_send(const struct attacher *a, uint32_t pid, uint64_t start)
{
	const struct request r = { .pid = pid, .start = start };

	return send(a->fd, &r, sizeof r, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int attacher_receive(const struct attacher *a, struct attacher_answer *out)
{
	ssize_t n = recv(a->fd, out, sizeof *out, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	return n == (ssize_t)sizeof *out ? 1 : -EPIPE;
}
