/* The supervisor: starts, connects and restarts the two processes. */
#include "agent/health.h"
#include "agent/name_guard.h"
#include "agent/priority.h"
#include "agent/up.h"
#include "agent/wire.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/init_system.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COLLECTOR, KEEPER, PARTS };

#define SECOND_NS         1000000000ull
#define BACKOFF_MIN_NS    (1 * SECOND_NS)
#define BACKOFF_MAX_NS    (30 * SECOND_NS)
#define SETTLED_NS        (60 * SECOND_NS) /* run time after which the pause is reset */
/* For a restart: after this time a part is killed. */
#define COLLECTOR_END_NS  (4 * SECOND_NS)
#define KEEPER_END_NS     (10 * SECOND_NS)
/* For the end, which takes less than 2 s. The store process has what the collector leaves. */
#define COLLECTOR_STOP_NS (1300000000ull)
#define ALL_STOP_NS       (1700000000ull)
#define KILLED_NS         (100000000ull) /* a process that the kernel can end has ended by then */
#define TOKEN_NS          (10 * SECOND_NS)
#define NOTIFY_AGAIN_NS   SECOND_NS
enum { LOG_WAIT_MS = 100 };
enum { HEARD_MAX = 16 }; /* a well-behaved part sends one message: that it is ready */

struct part {
	const char *name, *comm;
	int (*run)(const struct up_opts *opts, const struct up_shared *shared, int control);
	pid_t pid; /* 0: not running */
	int control;
	/* the write end of a pipe, which no other process has; closing it kills the part; -1:
	 * none */
	int life;
	bool is_ready, was_ready, is_asked; /* is_asked: asked to exit and restart immediately */
	uint64_t started_ns, again_ns, backoff_ns;
	uint32_t heard; /* messages since it was started */
};
struct supervisor {
	const struct up_opts *opts;
	struct up_shared shared;
	struct part parts[PARTS];
	struct stat token; /* the token's file, as sent last */
	uint64_t token_ns; /* when the file is checked next */
	int signals;       /* descriptor */
	sigset_t before;
	bool is_over, is_said, wants_reload; /* is_said: readiness was reported */
	bool has_later;                      /* of the last reload */
	bool init_awaits;                    /* … but the init system's queue was full */
	uint64_t silent_ns;                  /* since when the collector is reported as silent */
	int rc;                              /* of a part that failed to start */
};

/* --- parts ------------------------------------------------------------------------------------ */

/* Makes the kernel kill this process when the other end is closed, even if this process is stopped;
 * the end closes when the supervisor dies. PR_SET_PDEATHSIG does not work: it is cleared when the
 * user changes, and the signal is sent as the supervisor, which may lack the permission. This
 * signal is sent as the process that requested it. */
static int die_with(int life)
{
	struct pollfd end = { .fd = life };

	if (fcntl(life, F_SETSIG, SIGKILL) || fcntl(life, F_SETOWN, getpid()) ||
	    fcntl(life, F_SETFL, O_ASYNC | O_NONBLOCK))
		return -errno;
	return poll(&end, 1, 0) ? -EPIPE : 0;
}

static int later_fd(const struct supervisor *s)
{
	const struct up_reload *how = &s->opts->reload;

	return how->later_fd ? how->later_fd(how->ctx) : -1;
}

/* Ignores signals that the supervisor handles: a terminal or an init system sends them to all
 * processes. */
static _Noreturn void be(struct supervisor *s, struct part *p, int control, int life)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };
	int rc;

	for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
		signal(ignored[i], SIG_IGN);
	sigprocmask(SIG_SETMASK, &s->before, NULL);
	prctl(PR_SET_NAME, p->comm, 0, 0, 0);
	close(s->signals);
	if (later_fd(s) >= 0)
		close(later_fd(s));
	if (p == &s->parts[COLLECTOR] && s->opts->server.socket)
		close(s->opts->server.socket);
	for (int i = 0; i < PARTS; i++) {
		if (s->parts[i].control >= 0)
			close(s->parts[i].control);
		if (s->parts[i].life >= 0)
			close(s->parts[i].life);
	}
	rc = die_with(life);
	_exit(rc ? -rc : -p->run(s->opts, &s->shared, control));
}

static int start(struct supervisor *s, struct part *p)
{
	int ends[2], life[2], rc = control_pair(ends);

	if (rc)
		return rc;
	if (pipe2(life, O_CLOEXEC)) {
		rc = -errno;
		close(ends[0]);
		close(ends[1]);
		return rc;
	}
	pid_t pid = fork();
	rc = pid < 0 ? -errno : 0;
	if (pid == 0) {
		close(ends[0]);
		close(life[1]);
		be(s, p, ends[1], life[0]);
	}
	close(ends[1]);
	close(life[0]);
	if (pid < 0) {
		close(ends[0]);
		close(life[1]);
		return rc;
	}
	p->pid = pid;
	p->control = ends[0];
	p->life = life[1];
	p->started_ns = clock_mono_ns();
	p->is_ready = false;
	p->heard = 0;
	return 0;
}

/* Whenever one of the two gets ready, both get an end of a new stream. */
static void join(struct supervisor *s)
{
	int ends[2];

	if (!s->parts[COLLECTOR].is_ready || !s->parts[KEEPER].is_ready ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return;
	if (!s->is_said && s->opts->ready.say)
		s->opts->ready.say(s->opts->ready.ctx);
	for (int i = 0; i < PARTS; i++) {
		control_send(s->parts[i].control, CONTROL_STREAM, ends[i]);
		close(ends[i]);
	}
	if (!s->is_said)
		s->init_awaits = notify_init("READY=1") != 0;
	s->is_said = true;
}

static void look_at_token(struct supervisor *s, bool at_once);

static void cannot_start(struct part *p, int rc, uint64_t now_ns)
{
	log_warn("cannot start the %s: %s; it is tried again in %llu s", p->name, strerror(-rc),
		 BACKOFF_MAX_NS / SECOND_NS);
	p->again_ns = now_ns + BACKOFF_MAX_NS;
}

static void start_due(struct supervisor *s)
{
	uint64_t now_ns = clock_mono_ns();

	for (int i = 0; i < PARTS; i++) {
		struct part *p = &s->parts[i];

		if (p->pid || now_ns < p->again_ns)
			continue;
		int rc = start(s, p);
		if (rc)
			cannot_start(p, rc, now_ns);
		else if (i == KEEPER)
			look_at_token(s, true);
	}
}

static void close_control(struct part *p)
{
	if (p->control >= 0)
		close(p->control);
	p->control = -1;
}

/* Call for a part that has exited. */
static void close_life(struct part *p)
{
	if (p->life >= 0)
		close(p->life);
	p->life = -1;
}

static void take_control(struct supervisor *s, struct part *p, enum control what, int fd)
{
	if (what == CONTROL_STREAM || what == CONTROL_TOKEN)
		close(fd);
	if (what != CONTROL_READY || p->is_ready)
		return;
	p->is_ready = p->was_ready = true;
	log_verbose("the %s runs as process %d", p->name, (int)p->pid);
	join(s);
}

/* A part that has closed its end but still runs is no longer polled: poll would never block. A
 * part that sends too much is compromised or broken. */
static void hear(struct supervisor *s, struct part *p)
{
	enum control what = CONTROL_READY;
	int fd;

	while (what != CONTROL_NOTHING && what != CONTROL_GONE && p->heard < HEARD_MAX) {
		what = control_receive(p->control, &fd);
		take_control(s, p, what, fd);
		p->heard++;
	}
	if (p->heard >= HEARD_MAX) {
		log_warn("the %s sends too many control messages, killing it", p->name);
		kill(p->pid, SIGKILL);
	}
	if (what == CONTROL_GONE || p->heard >= HEARD_MAX)
		close_control(p);
}

/* --- the token -------------------------------------------------------------------------------- */

static bool has_token_file(const struct supervisor *s)
{
	return s->opts->target.url && s->opts->target.token_file;
}

/* Only the supervisor may read the token file, so it passes a descriptor. */
static void send_token(struct supervisor *s)
{
	const char *path = s->opts->target.token_file;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0) {
		log_warn("cannot open %s: %s; keeping the previous token", path, strerror(errno));
		return;
	}
	if (s->parts[KEEPER].pid)
		control_send(s->parts[KEEPER].control, CONTROL_TOKEN, fd);
	close(fd);
}

static bool token_has_changed(struct supervisor *s)
{
	struct stat now;

	if (stat(s->opts->target.token_file, &now))
		return false; /* the file is being replaced */
	bool changed = now.st_ino != s->token.st_ino || now.st_size != s->token.st_size ||
		       now.st_mtim.tv_sec != s->token.st_mtim.tv_sec ||
		       now.st_mtim.tv_nsec != s->token.st_mtim.tv_nsec;
	s->token = now;
	return changed;
}

static void look_at_token(struct supervisor *s, bool at_once)
{
	uint64_t now_ns = clock_mono_ns();

	if (!has_token_file(s) || (!at_once && now_ns < s->token_ns))
		return;
	s->token_ns = now_ns + TOKEN_NS;
	if (token_has_changed(s) || at_once)
		send_token(s);
}

/* --- deaths ----------------------------------------------------------------------------------- */

/* The part has already logged why. A full disk may have space later. */
static bool cannot_work_here(const struct part *p, int status)
{
	return !p->was_ready && !(WIFEXITED(status) && WEXITSTATUS(status) == ENOSPC);
}

static void has_ended(struct supervisor *s, struct part *p, int status)
{
	uint64_t now_ns = clock_mono_ns();

	p->pid = 0;
	p->is_ready = false;
	close_control(p);
	close_life(p);
	if (s->is_over || p->is_asked)
		return;
	if (cannot_work_here(p, status)) {
		s->is_over = true;
		s->rc = WIFEXITED(status) && WEXITSTATUS(status) ? -WEXITSTATUS(status) : -EIO;
		return;
	}
	p->backoff_ns = now_ns - p->started_ns >= SETTLED_NS || !p->backoff_ns ? BACKOFF_MIN_NS
									       : 2 * p->backoff_ns;
	if (p->backoff_ns > BACKOFF_MAX_NS)
		p->backoff_ns = BACKOFF_MAX_NS;
	p->again_ns = now_ns + p->backoff_ns;
	if (WIFSIGNALED(status))
		log_warn("the %s was killed by signal %d (%s); it is started again in %llu s",
			 p->name, WTERMSIG(status), strsignal(WTERMSIG(status)),
			 (unsigned long long)(p->backoff_ns / SECOND_NS));
	else
		log_warn("the %s has ended; it is started again in %llu s", p->name,
			 (unsigned long long)(p->backoff_ns / SECOND_NS));
}

static void reap(struct supervisor *s)
{
	for (int i = 0; i < PARTS; i++) {
		int status;

		if (s->parts[i].pid && waitpid(s->parts[i].pid, &status, WNOHANG) > 0)
			has_ended(s, &s->parts[i], status);
	}
}

/* --- a collector that is silent --------------------------------------------------------------- */

static void tell_init(const char *text)
{
	struct buf b = { 0 };

	buf_addf(&b, "STATUS=%s", text);
	notify_init(buf_cstr(&b));
	buf_done(&b);
}

static void say_silent(const struct supervisor *s, uint64_t now_ns)
{
	const struct part *p = &s->parts[COLLECTOR];
	struct buf why = { 0 }, text = { 0 };

	if (p->pid)
		health_why(p->pid, &why);
	buf_addf(&text, "not recording for %llu s: ",
		 (unsigned long long)((now_ns - s->silent_ns) / SECOND_NS));
	if (p->pid)
		buf_addf(&text, "the collector, process %d, does not respond%s%s", (int)p->pid,
			 why.len ? "; it is " : "", why.len ? buf_cstr(&why) : "");
	else
		buf_adds(&text, "the collector is not running");
	log_warn("%s", buf_cstr(&text));
	tell_init(buf_cstr(&text));
	buf_done(&why);
	buf_done(&text);
}

/* Reports when the collector stops answering, and when it responds again. */
static void look_at_health(struct supervisor *s)
{
	uint64_t now_ns = clock_mono_ns(),
		 since_ns = health_silent_since_ns(s->shared.health, now_ns);

	if (since_ns && !s->silent_ns) {
		s->silent_ns = since_ns;
		say_silent(s, now_ns);
	} else if (!since_ns && s->silent_ns) {
		log_info("recording again, after %llu s",
			 (unsigned long long)((now_ns - s->silent_ns) / SECOND_NS));
		tell_init("");
		s->silent_ns = 0;
	}
}

/* --- the loop --------------------------------------------------------------------------------- */

static void take_signals(struct supervisor *s)
{
	struct signalfd_siginfo info;

	while (read(s->signals, &info, sizeof info) == sizeof info)
		if (info.ssi_signo == SIGINT || info.ssi_signo == SIGTERM)
			s->is_over = true;
		else if (info.ssi_signo == SIGHUP)
			s->wants_reload = true;
	reap(s);
}

/* While the collector is silent, its first note is looked for this often. */
#define SILENT_LOOK_NS SECOND_NS

static uint64_t silence_wait_ns(const struct supervisor *s, uint64_t now_ns)
{
	uint64_t due_ns = health_due_ns(s->shared.health);

	if (s->silent_ns)
		return SILENT_LOOK_NS;
	if (due_ns == UINT64_MAX)
		return UINT64_MAX;
	return due_ns > now_ns ? due_ns - now_ns : 0;
}

static int wait_ms(const struct supervisor *s)
{
	uint64_t now_ns = clock_mono_ns(), wait_ns = UINT64_MAX;

	for (int i = 0; i < PARTS; i++) {
		const struct part *p = &s->parts[i];
		uint64_t left_ns = p->again_ns > now_ns ? p->again_ns - now_ns : 0;

		if (!p->pid && left_ns < wait_ns)
			wait_ns = left_ns;
	}
	if (has_token_file(s) && wait_ns > TOKEN_NS)
		wait_ns = TOKEN_NS;
	uint64_t silence_ns = silence_wait_ns(s, now_ns);
	if (wait_ns > silence_ns)
		wait_ns = silence_ns;
	if (s->init_awaits && wait_ns > NOTIFY_AGAIN_NS)
		wait_ns = NOTIFY_AGAIN_NS;
	return wait_ns == UINT64_MAX ? -1 : (int)(wait_ns / 1000000) + 1;
}

static void wait_for_news(struct supervisor *s, int timeout_ms)
{
	struct pollfd fds[PARTS + 2] = { [PARTS] = { .fd = s->signals, .events = POLLIN },
					 [PARTS + 1] = { .fd = later_fd(s), .events = POLLIN } };

	for (int i = 0; i < PARTS; i++)
		fds[i] = (struct pollfd){ .fd = s->parts[i].control, .events = POLLIN };
	/* A process may not poll more than its limit of open files, not even empty entries. */
	if (poll(fds, PARTS + (fds[PARTS + 1].fd < 0 ? 1 : 2), timeout_ms) <= 0)
		return;
	s->has_later = fds[PARTS + 1].revents != 0;
	for (int i = 0; i < PARTS; i++)
		if (fds[i].revents && s->parts[i].control >= 0)
			hear(s, &s->parts[i]);
	take_signals(s);
}

/* Waits until a part has ended, at most until end_ns. */
static void wait_for_end(struct supervisor *s, const struct part *p, uint64_t end_ns)
{
	while (p->pid && clock_mono_ns() < end_ns) {
		poll(&(struct pollfd){ .fd = s->signals, .events = POLLIN }, 1, 20);
		take_signals(s);
	}
}

/* The kernel ends no process in uninterruptible sleep. It has the signal, and ends some time. */
static void leave_behind(struct part *p)
{
	struct buf why = { 0 }, status = { 0 };

	health_why(p->pid, &why);
	buf_addf(&status, "cannot stop the %s: process %d is %s", p->name, (int)p->pid,
		 why.len ? buf_cstr(&why) : "not responding");
	log_warn("%s; continuing without it", buf_cstr(&status));
	tell_init(buf_cstr(&status));
	buf_done(&why);
	buf_done(&status);
	p->pid = 0;
	close_life(p);
}

/* Asks a part to exit, kills it if it does not until end_ns, and leaves it behind if it cannot be
 * killed. */
static void end(struct supervisor *s, struct part *p, uint64_t end_ns)
{
	if (!p->pid)
		return;
	control_send(p->control, CONTROL_STOP, -1);
	wait_for_end(s, p, end_ns);
	if (!p->pid)
		return;
	log_warn("the %s did not end in time and is killed", p->name);
	kill(p->pid, SIGKILL);
	wait_for_end(s, p, clock_mono_ns() + KILLED_NS);
	if (p->pid)
		leave_behind(p);
}

/* Restarts without a pause, as the part did not fail. */
static void end_to_begin_again(struct supervisor *s, struct part *p, uint64_t within_ns)
{
	p->is_asked = true;
	end(s, p, clock_mono_ns() + within_ns);
	p->is_asked = p->is_ready = false;
	p->again_ns = p->backoff_ns = 0;
	close_control(p);
}

/* Stops the collector first: the store process takes its last batch. */
static void restart(struct supervisor *s, unsigned parts)
{
	if (parts & UP_COLLECTOR)
		end_to_begin_again(s, &s->parts[COLLECTOR], COLLECTOR_END_NS);
	if (parts & UP_KEEPER)
		end_to_begin_again(s, &s->parts[KEEPER], KEEPER_END_NS);
}

static void take_later(struct supervisor *s)
{
	const struct up_reload *how = &s->opts->reload;

	if (!s->has_later || s->is_over)
		return;
	s->has_later = false;
	restart(s, how->later(how->ctx));
}

static void reload(struct supervisor *s)
{
	const struct up_reload *how = &s->opts->reload;

	if (!s->wants_reload || s->is_over)
		return;
	s->wants_reload = false;
	look_at_token(s, true);
	unsigned parts = how->read ? how->read(how->ctx) : 0;
	health_set_interval(s->shared.health, s->opts->interval_ns);
	restart(s, parts);
}

static int catch_signals(struct supervisor *s)
{
	static const int caught[] = { SIGINT, SIGTERM, SIGHUP, SIGCHLD };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof caught / sizeof *caught; i++)
		sigaddset(&set, caught[i]);
	sigprocmask(SIG_BLOCK, &set, &s->before);
	s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signals < 0 ? -errno : 0;
}

static void share(struct supervisor *s)
{
	struct err err;

	if (name_guard_new(&s->shared.guard, &err))
		log_warn("%s; unreadable files are retried without limit", err.text);
	if (health_new(s->opts->interval_ns, clock_mono_ns(), &s->shared.health, &err))
		log_warn("%s; a stalled collector will not be detected", err.text);
}

/* Takes less than 2 s, whatever the processes do. The collector ends first: the store process takes
 * its last batch. */
static void stop(struct supervisor *s)
{
	uint64_t now_ns = clock_mono_ns();

	priority_raise(getpid());
	notify_init("STOPPING=1");
	end(s, &s->parts[COLLECTOR], now_ns + COLLECTOR_STOP_NS);
	end(s, &s->parts[KEEPER], now_ns + ALL_STOP_NS);
	for (int i = 0; i < PARTS; i++)
		close_control(&s->parts[i]);
	close(s->signals);
	sigprocmask(SIG_SETMASK, &s->before, NULL);
	name_guard_free(s->shared.guard);
	health_free(s->shared.health);
}

int up_run(const struct up_opts *opts)
{
	struct supervisor s = {
		.opts = opts,
		.parts = { [COLLECTOR] = { "collector", "cresset-collect", collector_main,
					   .control = -1, .life = -1 },
			   [KEEPER] = { "store process", "cresset-store", store_main, .control = -1,
					.life = -1 } },
	};

	if (opts->target.url)
		s.parts[KEEPER] = (struct part){ "sending process", "cresset-send", sender_main,
						 .control = -1, .life = -1 };
	int rc = catch_signals(&s);

	if (rc)
		return rc;
	log_set_wait_ms(LOG_WAIT_MS);
	share(&s);
	while (!s.is_over) {
		start_due(&s);
		wait_for_news(&s, wait_ms(&s));
		look_at_token(&s, false);
		look_at_health(&s);
		if (s.init_awaits)
			s.init_awaits = notify_init("READY=1") != 0;
		take_later(&s);
		reload(&s);
	}
	stop(&s);
	return s.rc;
}
