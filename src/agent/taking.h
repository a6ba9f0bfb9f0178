/* agent/taking.h: the loop of the unprivileged process: it hears its parent, takes what the collector streams, and tends what that went to. */
#ifndef CRESSET_AGENT_TAKING_H
#define CRESSET_AGENT_TAKING_H

#include "agent/keeper.h"

struct taking_ops {
	/* A token file that may be read; the descriptor is the callee's. NULL: there is no use for one. */
	void (*token)(void *ctx, int fd);
	/* The collector is there for the first time. NULL: nothing. */
	void (*joined)(void *ctx);
	/* names_fd is readable: what waits for names is looked at again after this. */
	void (*names)(void *ctx);
	/* After each round. 0 or -errno with words, which ends the loop. NULL: nothing. */
	int (*tend)(void *ctx, struct err *err);
	void *ctx;
};
struct taking {
	int control;
	struct keeper keeper; /* the caller's to init and done */
	struct taking_ops ops;
	int names_fd; /* somebody else's news of names; -1: there is nobody else */
	bool is_joined, is_over;
};

/* Until the parent says stop, or is gone; then what the collector sent last is taken. 0 or -errno with words. */
int taking_run(struct taking *t, struct err *err);

#endif
