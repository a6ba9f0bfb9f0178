/* cmd/child.h: the program behind "--". It is forked at once, so that its pid can be a target, and waits on a pipe until the
 * recording runs. It keeps our terminal, our standard streams and the signal settings that we were started with. */
#ifndef CRESSET_CMD_CHILD_H
#define CRESSET_CMD_CHILD_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

struct child {
	pid_t pid;  /* 0 = there is none */
	int gate;   /* closing it without a byte ends the child */
	int failed; /* read end: the errno of a failed exec; nothing when exec worked */
	bool ended;
	int status; /* as a shell shows it: exit status, or 128 + signal */
};

/* argv: NULL-terminated. -errno when it cannot be forked. */
int child_start(struct child *c, const char *const *argv, struct err *err);
/* Lets it exec; waits for that. -errno of exec, in words. */
int child_release(struct child *c, struct err *err);
/* True once it has ended; c->status is valid then. */
bool child_poll(struct child *c);
void child_wait(struct child *c);
/* A child that was never released ends without having done anything. */
void child_done(struct child *c);

#endif
