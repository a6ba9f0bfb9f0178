/* attach/attach_guard.h: a process that restores a stopped thread when the attaching process is
 * killed.
 *
 * It is forked before anything is touched, and waits until its parent is dead. Both share one page:
 * the thread's original state (struct attach_kept). It uses no other memory of the parent. It is in
 * the parent's control group and has its oom_score_adj: if both are killed at one time, the thread
 * stays where it is, see attach/attach.h. */
#ifndef CRESSET_ATTACH_ATTACH_GUARD_H
#define CRESSET_ATTACH_ATTACH_GUARD_H

#ifdef __x86_64__

#include <stdbool.h>
#include <sys/types.h>

struct err;

struct attach_guard {
	struct attach_kept *kept; /* the page */
	pid_t pid;                /* 0: none */
};

/* keep: a descriptor that stays open until the guardian ends. Returns 0, to be ended with
 * attach_guard_stop; or -errno and err. */
int attach_guard_start(struct attach_guard *g, int keep, struct err *err);
/* Returns whether it is still running: it may have been killed. */
bool attach_guard_is_there(const struct attach_guard *g);
/* Ends the guardian: there is nothing to guard any more. */
void attach_guard_stop(struct attach_guard *g);

#endif
#endif
