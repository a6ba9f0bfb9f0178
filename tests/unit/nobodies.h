/* tests/unit/nobodies.h: idle processes of a user without rights. */
#ifndef CRESSET_TESTS_NOBODIES_H
#define CRESSET_TESTS_NOBODIES_H

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534 };

/* Returns -1 without the right to become that user. */
static inline pid_t nobody_begin(void)
{
	int ready[2];
	char byte;

	if (pipe(ready))
		return -1;
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (setgid(NOBODY) || setuid(NOBODY) || write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	ssize_t n = pid < 0 ? -1 : read(ready[0], &byte, 1);
	close(ready[0]);
	if (n == 1 || pid < 0)
		return pid;
	waitpid(pid, NULL, 0);
	return -1;
}

static inline void nobody_end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

#endif
