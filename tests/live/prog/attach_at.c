/* Runs a command that attaches to a process, and does something to one of them at a moment that is counted, not timed.
 *
 *     attach_at ACTION MOMENT calls|all TARGET COMMAND…
 *
 * The command's system calls are watched, from its first ptrace on: of ptrace and sched_setattr, or all. Each has two moments, before and after it. At number
 * MOMENT, from 0, ACTION is done: kill (the command, by SIGKILL), stop (the first thread of TARGET, by SIGSTOP), exec (SIGUSR1 to TARGET, which then runs another
 * program), freeze (writes 1 to the file named by ATTACH_FREEZER). Ends with 0 when it was done, 3 when the command had ended before, and it says how many moments there were; the command's own status is ignored.
 *
 *     attach_at look 0 calls TARGET
 *
 * waits until the first thread of TARGET is as attach_fragile began: in poll, not traced or stopped, with no signal blocked, of ordinary priority. 0; or 1, and says
 * what is not so for 8 s. */
// build: -O1 -g
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SYSCALL_STOP (SIGTRAP | 0x80)

static void nap_ms(long ms)
{
	struct timespec t = { 0, ms * 1000000 };

	nanosleep(&t, NULL);
}

static void read_proc(pid_t pid, const char *name, char *text, size_t size)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(text, 1, size - 1, f) : 0;
	text[n] = '\0';
	if (f)
		fclose(f);
}

/* --- how it is ------------------------------------------------------------------------------------ */

static bool says(const char *status, const char *line)
{
	return strstr(status, line);
}

/* In ppoll or poll. The kernel calls a poll that was interrupted restart_syscall. */
static bool is_in_poll(const char *call)
{
	const char *args = strchr(call, ' ');
	int nr = atoi(call);

	return (nr == SYS_ppoll || nr == SYS_poll || nr == SYS_restart_syscall) && args &&
	       strstr(args, " 0x1 ");
}

/* NULL: all is well. */
static const char *wrong_with(pid_t pid)
{
	char status[8192], call[256];

	read_proc(pid, "status", status, sizeof status);
	read_proc(pid, "syscall", call, sizeof call);
	return !*status                                     ? "it is gone"
	       : !says(status, "State:\tS")                 ? "it does not sleep"
	       : !says(status, "TracerPid:\t0\n")           ? "it is traced"
	       : !says(status, "SigBlk:\t0000000000000000") ? "signals are blocked"
	       : sched_getscheduler(pid) != SCHED_OTHER     ? "it has another priority"
	       : !is_in_poll(call)                          ? "it is not in its poll"
							    : NULL;
}

static int look(pid_t pid)
{
	const char *wrong = wrong_with(pid);

	for (int i = 0; i < 800 && wrong; i++, wrong = wrong_with(pid))
		nap_ms(10);
	if (wrong)
		puts(wrong);
	return wrong != NULL;
}

/* --- what is done --------------------------------------------------------------------------------- */

static void do_kill(pid_t command, pid_t target)
{
	(void)target;
	kill(command, SIGKILL);
}
static void do_stop(pid_t command, pid_t target)
{
	(void)command;
	syscall(SYS_tgkill, target, target, SIGSTOP);
}
static void do_exec(pid_t command, pid_t target)
{
	char before[64], now[64];

	(void)command;
	read_proc(target, "comm", before, sizeof before);
	kill(target, SIGUSR1);
	for (int i = 0; i < 300;
	     i++) { /* another thread may have to be waited for first, by the command */
		read_proc(target, "comm", now, sizeof now);
		if (strcmp(now, before) != 0)
			return;
		nap_ms(2);
	}
}

static void do_freeze(pid_t command, pid_t target)
{
	FILE *f = fopen(getenv("ATTACH_FREEZER"), "w");

	(void)command, (void)target;
	if (f)
		fputs("1", f);
	if (f)
		fclose(f);
}

static const struct action {
	const char *name;
	void (*fn)(pid_t command, pid_t target);
} actions[] = {
	{ "kill", do_kill }, { "stop", do_stop }, { "exec", do_exec }, { "freeze", do_freeze }
};

struct watch {
	const struct action *action;
	long moment, seen;
	bool all, has_begun, was_counted;
	pid_t thread, command, target;
};

/* Entries say which call it is, exits do not; calls of one thread follow each other. */
static bool is_counted(struct watch *w, pid_t thread)
{
	struct __ptrace_syscall_info info = { 0 };

	if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, (void *)sizeof info, &info) <= 0)
		return false;
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
		bool is_ptrace = info.entry.nr == SYS_ptrace;
		if (is_ptrace && !w->has_begun) {
			w->has_begun = true;
			w->thread = thread;
		}
		w->was_counted = w->thread == thread &&
				 (w->all || is_ptrace || info.entry.nr == SYS_sched_setattr);
	}
	return w->has_begun && w->thread == thread && w->was_counted;
}

static void at_stop(struct watch *w, pid_t thread, int status)
{
	int sig = WSTOPSIG(status);

	if (sig == SYSCALL_STOP) {
		if (is_counted(w, thread) && w->seen++ == w->moment)
			w->action->fn(w->command, w->target);
		sig = 0;
	} else if (status >> 16) {
		sig = 0;
	}
	ptrace(PTRACE_SYSCALL, thread, NULL, (void *)(intptr_t)sig);
}

static int watch(struct watch *w)
{
	int status;
	pid_t got;

	while ((got = waitpid(-1, &status, __WALL)) > 0) {
		if (WIFSTOPPED(status))
			at_stop(w, got, status);
		else if (got == w->command)
			break;
	}
	if (w->seen > w->moment)
		return 0;
	fprintf(stderr, "moments: %ld\n", w->seen);
	return 3;
}

static pid_t begin(char **argv)
{
	int go[2];
	char byte;

	if (pipe(go) < 0)
		exit(2);
	pid_t pid = fork();
	if (pid == 0) {
		close(go[1]);
		if (read(go[0], &byte, 1) < 0)
			_exit(2);
		execv(argv[0], argv);
		_exit(2);
	}
	close(go[0]);
	if (pid < 0 || ptrace(PTRACE_SEIZE, pid, NULL,
			      (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE)) < 0)
		exit(2);
	ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
	close(go[1]);
	return pid;
}

int main(int argc, char **argv)
{
	struct watch w = { 0 };

	if (argc == 5 && strcmp(argv[1], "look") == 0)
		return look(atoi(argv[4]));
	for (size_t i = 0; argc > 5 && i < sizeof actions / sizeof *actions; i++)
		if (strcmp(argv[1], actions[i].name) == 0)
			w.action = &actions[i];
	if (!w.action)
		return 2;
	w.moment = atol(argv[2]);
	w.all = strcmp(argv[3], "all") == 0;
	w.target = atoi(argv[4]);
	w.command = begin(argv + 5);
	return watch(&w);
}
