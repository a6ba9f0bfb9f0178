/* Starts the recorded command, stopped until the recording is ready, and waits for its end. */
#include "cmd/record/record_state.h"

#include "base/err.h"
#include "cmd/cli/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs in the child. Prints nothing: the parent reports errors. */
static _Noreturn void child_main(const char *const *argv, int gate, int failed)
{
	char go;
	ssize_t n;
	interrupt_restore();
	do
		n = read(gate, &go, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(0);
	execvp(argv[0], (char *const *)argv);
	int code = errno;
	n = write(failed, &code, sizeof code);
	_exit(n == sizeof code ? 127 : 126);
}

int child_start(struct child *c, const char *const *argv, struct err *err)
{
	int gate[2], failed[2];
	if (pipe2(gate, O_CLOEXEC) < 0)
		return err_set(err, errno, "cannot create a pipe: %s", strerror(errno));
	if (pipe2(failed, O_CLOEXEC) < 0) {
		int rc = err_set(err, errno, "cannot create a pipe: %s", strerror(errno));
		close(gate[0]);
		close(gate[1]);
		return rc;
	}
	pid_t pid = fork();
	int fork_errno = errno;
	if (pid == 0) {
		close(gate[1]);
		close(failed[0]);
		child_main(argv, gate[0], failed[1]);
	}
	close(gate[0]);
	close(failed[1]);
	*c = (struct child){ .pid = pid, .gate = gate[1], .failed = failed[0] };
	if (pid > 0)
		return 0;
	c->pid = 0;
	close(c->gate);
	close(c->failed);
	return err_set(err, fork_errno, "cannot start a process: %s", strerror(fork_errno));
}

int child_release(struct child *c, struct err *err)
{
	int code = 0;
	ssize_t n = write(c->gate, "", 1);
	close(c->gate);
	c->gate = -1;
	do
		n = read(c->failed, &code, sizeof code);
	while (n < 0 && errno == EINTR);
	close(c->failed);
	c->failed = -1;
	if (n != sizeof code)
		return 0;
	child_wait(c);
	return err_set(err, code, "%s", strerror(code));
}

static void child_settle(struct child *c, int status)
{
	c->ended = true;
	c->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

bool child_poll(struct child *c)
{
	int status;
	if (c->pid && !c->ended && waitpid(c->pid, &status, WNOHANG) == c->pid)
		child_settle(c, status);
	return c->ended;
}

void child_wait(struct child *c)
{
	int status;
	while (c->pid && !c->ended) {
		if (waitpid(c->pid, &status, 0) == c->pid)
			child_settle(c, status);
		else if (errno != EINTR)
			c->ended = true;
	}
}

void child_done(struct child *c)
{
	if (!c->pid)
		return;
	if (c->gate >= 0)
		close(c->gate);
	if (c->failed >= 0)
		close(c->failed);
	child_wait(c);
	*c = (struct child){ 0 };
}
