/* A process that writes the byte, and remembers where. */
#include "mem/switch/byte_switch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	SWITCHED_MAX = 384, /* limit: profiles of programs that are switched on */
	STOP_MS = 1000,
};

/* The value when it is on differs from 0 in one byte. */
static const struct variable {
	uint8_t size; /* in bytes */
	uint8_t at, on;
} variables[SWITCH_VARIABLES] = {
	[SWITCH_GO_HEAP] = { 8, 2, 8 },
	[SWITCH_GO_LOCKS] = { 8, 0, 1 },
	[SWITCH_JAVA_HEAP] = { 1, 0, 1 },
};

/* --- the process ------------------------------------------------------------------------------ */

struct switched {
	uint32_t pid;
	int mem; /* of the process, even if another one gets its id; -1: unused */
	int pidfd;
	uint64_t addr, dev, ino;
	const struct variable *variable;
	/* Shared with children: the byte was set here, or by an earlier process; all end now. */
	volatile uint8_t *is_ours;
	const volatile uint8_t *is_over;
};

static bool is_now(const struct switched *s, bool is_on)
{
	const struct variable *v = s->variable;
	uint64_t now = 0, then = is_on ? (uint64_t)v->on << 8 * v->at : 0;

	return pread(s->mem, &now, v->size, (off_t)s->addr) == v->size && now == then;
}

static void put(const struct switched *s, bool is_on)
{
	uint8_t byte = is_on ? s->variable->on : 0;
	ssize_t n = pwrite(s->mem, &byte, 1, (off_t)s->addr + s->variable->at);

	(void)n; /* the process has ended, or the next reading shows it */
}

static bool has_ended(const struct switched *s)
{
	struct pollfd end = { .fd = s->pidfd, .events = POLLIN };

	return poll(&end, 1, 0) != 0;
}

static void give_up(struct switched *s)
{
	if (s->mem < 0)
		return;
	close(s->mem);
	close(s->pidfd);
	s->mem = -1;
}

/* An entry of a process that has ended is unused. One of the same place is replaced: the process
 * may have other memory since. */
static struct switched *find_room(struct switched *all, const struct byte_switch_request *r)
{
	struct switched *room = NULL;
	bool was_ours = false;

	for (int i = 0; i < SWITCHED_MAX; i++) {
		struct switched *s = &all[i];
		bool is_same = s->mem >= 0 && s->pid == r->pid && s->addr == r->addr;

		if (is_same || (!room && (s->mem < 0 || has_ended(s))))
			room = s;
		was_ours = is_same && *s->is_ours;
		if (is_same)
			break;
	}
	if (!room)
		return NULL;
	give_up(room);
	*room->is_ours = was_ours;
	return room;
}

/* Memory that is still in use is that of the program: an exec leaves the old one. */
static bool is_program(const struct switched *s)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof path, "/proc/%u/exe", s->pid);
	return stat(path, &st) == 0 && st.st_dev == s->dev && st.st_ino == s->ino;
}

static _Noreturn void end(int status)
{
	for (;;)
		syscall(SYS_exit_group, status);
}

/* A byte that was set already stays so at the end. */
static void change_here(const struct switched *s, bool on)
{
	if ((!on && !*s->is_ours) || !is_now(s, !on) || !is_program(s) || (on && *s->is_over))
		return;
	*s->is_ours = 1;
	put(s, on);
	if (on && *s->is_over) /* it took so long that another child may have been here before */
		put(s, false);
}

/* Access to a process can take for ever: a child makes it. */
static void change(const struct switched *s, bool on)
{
	pid_t pid = fork();

	if (pid > 0)
		return;
	change_here(s, on);
	if (pid == 0)
		end(0);
}

/* Waits for children, a while. */
static void wait_for_changes(void)
{
	enum { PAUSES = STOP_MS / 5 / 2 };

	for (int i = 0; i < PAUSES && waitpid(-1, NULL, WNOHANG) >= 0; i++)
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
}

static void switch_on(struct switched *all, const struct byte_switch_request *r)
{
	char path[32];
	struct switched *s = r->variable < SWITCH_VARIABLES ? find_room(all, r) : NULL;

	if (!s)
		return;
	snprintf(path, sizeof path, "/proc/%u/mem", r->pid);
	int pidfd = syscall(SYS_pidfd_open, r->pid, 0);
	int mem = pidfd < 0 ? -1 : open(path, O_RDWR | O_CLOEXEC);
	if (mem < 0) {
		if (pidfd >= 0)
			close(pidfd);
		return;
	}
	const struct switched before = *s;
	*s = (struct switched){ .pid = r->pid,
				.mem = mem,
				.pidfd = pidfd,
				.addr = r->addr,
				.dev = r->dev,
				.ino = r->ino,
				.variable = &variables[r->variable],
				.is_ours = before.is_ours,
				.is_over = before.is_over };
	if (r->is_on)
		*s->is_ours = 1;
	else
		change(s, true);
}

/* After earlier requests. */
static void switch_all_off(const struct switched *all, volatile uint8_t *is_over)
{
	wait_for_changes();
	*is_over = 1;
	for (int i = 0; i < SWITCHED_MAX; i++)
		if (all[i].mem >= 0)
			change(&all[i], false);
	wait_for_changes();
}

/* Signals for a whole group or terminal leave it: it ends after its parent. */
static _Noreturn void serve(int fd)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	uint8_t *ours = mmap(NULL, SWITCHED_MAX + 1, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct switched all[SWITCHED_MAX];
	struct byte_switch_request r;
	ssize_t n;

	if (ours == MAP_FAILED)
		end(1);
	for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
		signal(ignored[i], SIG_IGN);
	signal(SIGCHLD, SIG_IGN); /* children leave nothing */
	prctl(PR_SET_NAME, "cresset-switch", 0, 0, 0);
	for (int i = 0; i < SWITCHED_MAX; i++)
		all[i] = (struct switched){ .mem = -1,
					    .is_ours = ours + i,
					    .is_over = ours + SWITCHED_MAX };
	if (dup2(fd, 0) < 0)
		end(1);
	syscall(SYS_close_range, 1, ~0u, 0);
	while ((n = recv(0, &r, sizeof r, 0)) == (ssize_t)sizeof r || (n < 0 && errno == EINTR))
		if (n > 0)
			switch_on(all, &r);
	switch_all_off(all, ours + SWITCHED_MAX);
	end(0);
}

/* --- requests --------------------------------------------------------------------------------- */

int byte_switch_start(struct byte_switch *out)
{
	int ends[2];

	*out = (struct byte_switch){ .fd = -1 };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	pid_t pid = fork();
	if (pid == 0)
		serve(ends[1]);
	int error = errno;
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return -error;
	}
	*out = (struct byte_switch){ ends[0], pid };
	return 0;
}

void byte_switch_stop(struct byte_switch *s)
{
	if (s->fd < 0)
		return;
	struct pollfd end = { .fd = s->fd, .events = POLLIN };
	shutdown(s->fd, SHUT_WR);
	poll(&end, 1, STOP_MS);
	close(s->fd);
	waitpid(s->pid, NULL, WNOHANG);
	s->fd = -1;
}

bool byte_switch_is_gone(const struct byte_switch *s)
{
	struct pollfd end = { .fd = s->fd, .events = POLLIN };

	return s->fd >= 0 && poll(&end, 1, 0) > 0;
}

int byte_switch_on(const struct byte_switch *s, const struct byte_switch_request *r)
{
	return send(s->fd, r, sizeof *r, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}
