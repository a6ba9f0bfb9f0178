/* waits COUNT MS [CAUSE…]: waits COUNT times for MS milliseconds, for one cause after another (all of them, or those named), each
 * in a function of its own: wait_futex, wait_sleep, …. At the end a line for each cause,
 *
 *     CAUSE COUNT TOTAL_US SLACK_US REASON
 *
 * with how long it was off the CPU: the time between a clock read before and after the wait, less the CPU time between them. Where
 * the end or the beginning cannot be read exactly, the truth is between TOTAL_US - SLACK_US and TOTAL_US.
 *
 * Only wait_CAUSE waits for what is measured. Threads and processes that are there to end waits have other names (waits-waker,
 * waits-filler, waits-child); the causes that need a process of their own are measured in waits-exec, waits-exit and waits-stop.
 * `short` waits 100 times as often, for 100 µs; of these, short-late are those that took 1 ms and more. `dead` blocks for ever: it is for recordings of open waits and runs only when it is named. */
// build: -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls
#include "waits.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { SHORT_WAITS = 100, SHORT_US = 100, DISK_BYTES = 1 << 20 };

struct run {
	int count, ms;
	struct truth *truth; /* shared with child processes */
};

/* --- futex, timers, files that become ready --- */

struct signal {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	int sent;
};

__attribute__((noinline)) void wake_futex(void *arg)
{
	struct signal *s = arg;

	pthread_mutex_lock(&s->lock);
	s->sent = 1;
	pthread_cond_signal(&s->cond);
	pthread_mutex_unlock(&s->lock);
}
__attribute__((noinline)) void wait_futex(struct signal *s)
{
	pthread_mutex_lock(&s->lock);
	while (!s->sent)
		pthread_cond_wait(&s->cond, &s->lock);
	pthread_mutex_unlock(&s->lock);
}
static void run_futex(struct run *r)
{
	for (int i = 0; i < r->count; i++) {
		struct signal s = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 };
		struct waker w;

		start_waker(&w, r->ms, wake_futex, &s);
		MEASURE(r->truth, wait_futex(&s));
		end_waker(&w);
	}
}

__attribute__((noinline)) void wait_sleep(int64_t us)
{
	sleep_us(us);
}
static void run_sleep(struct run *r)
{
	for (int i = 0; i < r->count; i++)
		MEASURE(r->truth, wait_sleep(r->ms * 1000ll));
}

__attribute__((noinline)) void wait_short(void)
{
	sleep_us(SHORT_US);
}
static void run_short(struct run *r)
{
	struct truth *t = r->truth;
	int64_t late_ns = 0;
	long late = 0;

	prctl(PR_SET_TIMERSLACK, 1);
	for (int i = 0; i < SHORT_WAITS * r->count; i++) {
		/* By the wall clock: at least what it was off the CPU, whatever the host took. */
		int64_t before_ns = now_ns();

		MEASURE(t, wait_short());
		int64_t took_ns = now_ns() - before_ns;
		if (took_ns >= 1000000) {
			late_ns += took_ns;
			late++;
		}
	}
	prctl(PR_SET_TIMERSLACK, 0);
	printf("short-late %ld %lld 0 sleep/timer\n", late, (long long)late_ns / 1000);
}

__attribute__((noinline)) void wait_poll(struct pollfd *p, int ms)
{
	poll(p, 1, ms);
}
static void run_poll(struct run *r)
{
	int ends[2];

	if (pipe(ends))
		die("pipe");
	for (int i = 0; i < r->count; i++)
		MEASURE(r->truth,
			wait_poll(&(struct pollfd){ .fd = ends[0], .events = POLLIN }, r->ms));
	close(ends[0]);
	close(ends[1]);
}

__attribute__((noinline)) void wait_epoll(int fd, int ms)
{
	struct epoll_event event;

	epoll_wait(fd, &event, 1, ms);
}
static void run_epoll(struct run *r)
{
	int fd = epoll_create1(0);

	if (fd < 0)
		die("epoll_create1");
	for (int i = 0; i < r->count; i++)
		MEASURE(r->truth, wait_epoll(fd, r->ms));
	close(fd);
}

/* --- pipes and sockets: somebody writes to the empty one, or empties the full one --- */

static void set_nonblocking(int fd, int on)
{
	int flags = fcntl(fd, F_GETFL);

	fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK);
}
static void fill(int fd)
{
	static char page[PAGE];

	set_nonblocking(fd, 1);
	while (write(fd, page, sizeof page) > 0)
		;
	set_nonblocking(fd, 0);
}
static void empty(int fd)
{
	static char bytes[1 << 16];

	set_nonblocking(fd, 1);
	while (read(fd, bytes, sizeof bytes) > 0)
		;
	set_nonblocking(fd, 0);
}
__attribute__((noinline)) void wake_by_write(void *fd)
{
	if (write(*(int *)fd, "x", 1) != 1)
		die("write");
}
__attribute__((noinline)) void wake_by_read(void *fd)
{
	empty(*(int *)fd);
}

__attribute__((noinline)) void wait_pipe_read(int fd)
{
	char c;

	if (read(fd, &c, 1) != 1)
		die("read");
}
__attribute__((noinline)) void wait_pipe_write(int fd)
{
	if (write(fd, "x", 1) != 1)
		die("write");
}
__attribute__((noinline)) void wait_recv(int fd)
{
	char c;

	if (recv(fd, &c, 1, 0) != 1)
		die("recv");
}
__attribute__((noinline)) void wait_send(int fd)
{
	if (send(fd, "x", 1, 0) != 1)
		die("send");
}
/* Both ends of a pipe or socket pair: the one that is read from first. */
static void run_ends(struct run *r, int ends[2], void (*reads)(int), void (*writes)(int))
{
	for (int i = 0; i < r->count; i++) {
		struct waker w;

		if (reads) {
			start_waker(&w, r->ms, wake_by_write, &ends[1]);
			MEASURE(r->truth, reads(ends[0]));
		} else {
			fill(ends[1]);
			start_waker(&w, r->ms, wake_by_read, &ends[0]);
			MEASURE(r->truth, writes(ends[1]));
		}
		end_waker(&w);
		empty(ends[0]);
	}
	close(ends[0]);
	close(ends[1]);
}
static void run_pipe_read(struct run *r)
{
	int ends[2];

	if (pipe(ends))
		die("pipe");
	run_ends(r, ends, wait_pipe_read, NULL);
}
static void run_pipe_write(struct run *r)
{
	int ends[2];

	if (pipe(ends))
		die("pipe");
	run_ends(r, ends, NULL, wait_pipe_write);
}
static void run_recv(struct run *r)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		die("socketpair");
	run_ends(r, ends, wait_recv, NULL);
}
static void run_send(struct run *r)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		die("socketpair");
	run_ends(r, ends, NULL, wait_send);
}

/* --- disk: as long as the disk takes; a large read waits several times inside one call --- */

__attribute__((noinline)) void wait_direct(int fd, char *bytes)
{
	if (pread(fd, bytes, DISK_BYTES, 0) != DISK_BYTES)
		die("pread");
}
__attribute__((noinline)) void wait_sync(int fd)
{
	if (fsync(fd))
		die("fsync");
}
static int open_nameless(int flags)
{
	const char *dir = getenv("TMPDIR");
	int fd = open(dir ? dir : "/tmp", O_TMPFILE | O_RDWR | flags, 0600);

	if (fd < 0)
		die("O_TMPFILE");
	return fd;
}
static void run_direct(struct run *r)
{
	int fd = open_nameless(O_DIRECT);
	char *bytes = aligned_alloc(PAGE, DISK_BYTES);

	memset(bytes, 'x', DISK_BYTES);
	if (pwrite(fd, bytes, DISK_BYTES, 0) != DISK_BYTES || fsync(fd))
		die("pwrite");
	for (int i = 0; i < r->count; i++)
		MEASURE(r->truth, wait_direct(fd, bytes));
	free(bytes);
	close(fd);
}
static void run_sync(struct run *r)
{
	int fd = open_nameless(0);
	char page[PAGE] = "";

	for (int i = 0; i < r->count; i++) {
		if (pwrite(fd, page, sizeof page, i * PAGE) != PAGE)
			die("pwrite");
		MEASURE(r->truth, wait_sync(fd));
	}
	close(fd);
}

/* --- children --- */

__attribute__((noinline)) void wait_vfork(int ms)
{
	pid_t child = vfork(); /* a vfork is what is looked at */

	if (child == 0) {
		set_name("waits-child");
		sleep_us(ms * 1000ll);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}
static void run_vfork(struct run *r)
{
	for (int i = 0; i < r->count; i++)
		MEASURE(r->truth, wait_vfork(r->ms));
}

__attribute__((noinline)) void wait_child(pid_t child)
{
	waitpid(child, NULL, 0);
}
static pid_t fork_as(const char *name)
{
	pid_t child = fork();

	if (child < 0)
		die("fork");
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		set_name(name);
	}
	return child;
}
static void run_child(struct run *r)
{
	for (int i = 0; i < r->count; i++) {
		pid_t child = fork_as("waits-child");

		if (child == 0) {
			sleep_us(r->ms * 1000ll);
			_exit(0);
		}
		MEASURE(r->truth, wait_child(child));
	}
}

/* The child stops itself, and is continued. The signal is handled on the way out of kill. */
__attribute__((noinline)) void wait_stop(void)
{
	kill(getpid(), SIGSTOP);
}
static void run_stop(struct run *r)
{
	pid_t child = fork_as("waits-stop");

	if (child == 0) {
		for (int i = 0; i < r->count; i++)
			MEASURE(r->truth, wait_stop());
		_exit(0);
	}
	for (int i = 0; i < r->count; i++) {
		waitpid(child, NULL, WUNTRACED);
		sleep_us(r->ms * 1000ll);
		kill(child, SIGCONT);
	}
	waitpid(child, NULL, 0);
}

/* --- page faults that somebody takes his time to serve --- */

__attribute__((noinline)) void wait_fault(volatile char *page)
{
	*page = 1;
}
static void run_fault(struct run *r)
{
	struct truth filled = { 0 };
	struct slow_pages s;

	if (open_slow_pages(&s, r->count, r->ms, &filled))
		return;
	for (int i = 0; i < r->count; i++)
		MEASURE(r->truth, wait_fault(s.pages + (size_t)i * PAGE));
	close_slow_pages(&s);
}

/* Two waits with a reason each inside one call: for the pipe's byte, then for the page that it goes to. */
__attribute__((noinline)) void wait_several(int fd, char *page)
{
	if (read(fd, page, 1) != 1)
		die("read");
}
static void run_several(struct run *r)
{
	struct truth filled = { 0 };
	struct slow_pages s;
	int64_t after_ns = 0;
	int ends[2];

	if (open_slow_pages(&s, r->count, r->ms, &filled))
		return;
	if (pipe(ends))
		die("pipe");
	for (int i = 0; i < r->count; i++) {
		struct waker w;

		start_waker(&w, r->ms / 2, wake_by_write, &ends[1]);
		MEASURE(r->truth, wait_several(ends[0], s.pages + (size_t)i * PAGE));
		int64_t end_ns = now_ns();

		end_waker(&w);
		after_ns += end_ns - w.wakes_ns;
	}
	close_slow_pages(&s);
	close(ends[0]);
	close(ends[1]);
	/* from the byte to the end; of that the filler is sure of its part */
	printf("several-fault %ld %lld %lld page fault\n", filled.count, (long long)after_ns / 1000,
	       (long long)(after_ns - filled.total_ns) / 1000);
}

/* A wait inside an execve that succeeds: the kernel cannot read the argument until the page is there. */
__attribute__((noinline)) void wait_exec(struct truth *t, char *argument)
{
	char *argv[] = { "waits", argument, NULL };

	t->begin_ns = now_ns();
	execv("/proc/self/exe", argv);
}
static void run_exec(struct run *r)
{
	struct truth *filled = r->truth + 1;

	for (int i = 0; i < r->count; i++) {
		pid_t child = fork_as("waits-exec");

		if (child == 0) {
			struct slow_pages s;

			if (open_slow_pages(&s, 1, r->ms, filled) == 0)
				wait_exec(r->truth, s.pages);
			_exit(1);
		}
		waitpid(child, NULL, 0);
		if (filled->count == r->truth->count)
			return; /* no userfaultfd here */
		int64_t told_ns = filled->begin_ns - r->truth->begin_ns;

		r->truth->count++;
		r->truth->slack_ns += told_ns;
		r->truth->total_ns = filled->total_ns + r->truth->slack_ns;
	}
}

/* --- a wait of a process that is exiting already: the first of a pid namespace, until all others are reaped --- */

__attribute__((noinline)) void wait_exit(struct truth *t)
{
	t->begin_ns = now_ns();
	_exit(0);
}
static void exit_once(struct run *r)
{
	siginfo_t info;

	if (unshare(CLONE_NEWPID))
		_exit(1);
	pid_t first = fork_as("waits-exit");

	if (first == 0) {
		sleep_us(1000); /* until the other is there */
		wait_exit(r->truth);
	}
	pid_t other = fork_as("waits-child");

	if (other == 0)
		for (;;)
			pause();
	waitid(P_PID, other, &info, WEXITED | WNOWAIT); /* killed by the first one's exit */
	int64_t dead_ns = now_ns();

	sleep_us(r->ms * 1000ll);
	r->truth->total_ns += now_ns() - r->truth->begin_ns;
	r->truth->slack_ns += dead_ns - r->truth->begin_ns;
	r->truth->count++;
	waitpid(other, NULL, 0);
	waitpid(first, NULL, 0);
	_exit(0);
}
static void run_exit(struct run *r)
{
	for (int i = 0; i < r->count; i++) {
		pid_t child = fork_as("waits-child");

		if (child == 0)
			exit_once(r);
		waitpid(child, NULL, 0);
	}
}

__attribute__((noinline)) void wait_dead(void)
{
	for (;;)
		pause();
}
static void run_dead(struct run *r)
{
	MEASURE(r->truth, wait_dead());
}

/* --- --- */

static const struct cause {
	const char *name;
	void (*run)(struct run *);
	const char *reason;
	int by_name_only;
} causes[] = {
	{ "futex", run_futex, "futex/lock", 0 },
	{ "sleep", run_sleep, "sleep/timer", 0 },
	{ "poll", run_poll, "poll/epoll", 0 },
	{ "epoll", run_epoll, "poll/epoll", 0 },
	{ "pipe_read", run_pipe_read, "pipe/socket read", 0 },
	{ "pipe_write", run_pipe_write, "pipe/socket write", 0 },
	{ "recv", run_recv, "pipe/socket read", 0 },
	{ "send", run_send, "pipe/socket write", 0 },
	{ "direct", run_direct, "disk I/O", 0 },
	{ "sync", run_sync, "disk I/O", 0 },
	{ "vfork", run_vfork, "wait for child", 0 },
	{ "child", run_child, "wait for child", 0 },
	{ "stop", run_stop, "stopped", 0 },
	{ "fault", run_fault, "page fault", 0 },
	{ "several", run_several, "pipe/socket read and page fault", 0 },
	{ "exec", run_exec, "page fault", 0 },
	{ "exit", run_exit, "other", 0 },
	{ "short", run_short, "sleep/timer", 0 },
	{ "dead", run_dead, "other", 1 },
};

static int wanted(const struct cause *c, char **names)
{
	if (!*names)
		return !c->by_name_only;
	while (*names && strcmp(*names, c->name) != 0)
		names++;
	return *names != NULL;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return argc == 2 ? 0 : 2; /* by wait_exec: one argument */
	struct run r = { atoi(argv[1]), atoi(argv[2]), NULL };

	r.truth = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (r.truth == MAP_FAILED)
		die("mmap");
	setvbuf(stdout, NULL, _IOFBF, 1 << 16); /* at the end, all at once */
	for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
		if (!wanted(&causes[i], argv + 3))
			continue;
		memset(r.truth, 0, 2 * sizeof *r.truth);
		causes[i].run(&r);
		printf("%s %ld %lld %lld %s\n", causes[i].name, r.truth->count,
		       (long long)r.truth->total_ns / 1000, (long long)r.truth->slack_ns / 1000,
		       causes[i].reason);
	}
	return 0;
}
