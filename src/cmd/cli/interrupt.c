/* Installs handlers that count the signals. */
#include "cmd/cli/interrupt.h"

#include "cmd/cli/cmd.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

/* File scope, as a signal handler can reach nothing else. */
static volatile sig_atomic_t asked, child_pid, n_files;
static const char *volatile files[INTERRUPT_FILES_MAX];

enum { STOPS = 3, CAUGHT = 4 };
static const int caught[CAUGHT] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE }; /* the first STOPS stop */
static struct sigaction before[CAUGHT];

static _Noreturn void abort_now(void)
{
	static const char text[] = "\ncresset: aborted: nothing was written\n";
	for (int i = 0; i < n_files; i++)
		unlink(files[i]);
	if (write(STDERR_FILENO, text, sizeof text - 1) < 0)
		_exit(CMD_FAILED);
	_exit(CMD_FAILED);
}

static void on_stop(int sig, siginfo_t *info, void *context)
{
	int saved = errno;
	(void)context;
	if (child_pid &&
	    info->si_code != SI_KERNEL) /* not from the terminal: the child did not get it */
		kill(child_pid, sig);
	if (!child_pid || sig != SIGINT)
		if (asked++)
			abort_now();
	errno = saved;
}

/* SIGINT is caught even if it was ignored: a shell starts background jobs that way, and scripts end
 * such recordings with kill -INT. An ignored SIGHUP is from nohup and stays ignored. A closed pipe
 * is a write error, and does not end the program. */
void interrupt_install(void)
{
	struct sigaction stop = { .sa_sigaction = on_stop, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	sigemptyset(&stop.sa_mask);
	for (int i = 0; i < CAUGHT; i++) {
		sigaction(caught[i], i < STOPS ? &stop : &ignore, &before[i]);
		if (caught[i] == SIGHUP && before[i].sa_handler == SIG_IGN)
			sigaction(SIGHUP, &before[i], NULL);
	}
}

void interrupt_restore(void)
{
	for (int i = 0; i < CAUGHT; i++)
		sigaction(caught[i], &before[i], NULL);
}

int interrupt_count(void)
{
	return asked;
}

void interrupt_set_child(pid_t pid)
{
	child_pid = pid;
}

void interrupt_add_file(const char *path)
{
	if (n_files == INTERRUPT_FILES_MAX)
		return;
	files[n_files] = path;
	n_files++;
}

void interrupt_forget_files(void)
{
	n_files = 0;
}
