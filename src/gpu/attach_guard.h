/* gpu/attach_guard.h: a process that puts a stopped thread right when the one that attaches is killed.
 *
 * It is forked before anything is touched, and waits until its parent is dead. Both share one page: what the thread had (struct attach_kept). Of the parent's
 * memory it uses nothing else. It is in the parent's control group and has its oom_score_adj: what kills both at once leaves the thread where it is, see
 * gpu/attach.h. */
#ifndef CRESSET_GPU_ATTACH_GUARD_H
#define CRESSET_GPU_ATTACH_GUARD_H

#ifdef __x86_64__

#include "base/err.h"
#include "gpu/attach_stop.h"

#include <stdbool.h>
#include <sys/types.h>

struct attach_guard {
	struct attach_kept *kept; /* the page */
	pid_t pid;                /* 0: there is none */
};

/* keep: a descriptor that stays open until the guardian ends. 0, to be ended with attach_guard_stop; or -errno with words. */
int attach_guard_start(struct attach_guard *g, int keep, struct err *err);
/* Whether it is still there: it may have been killed. */
bool attach_guard_is_there(const struct attach_guard *g);
/* Nothing is to be guarded any more. */
void attach_guard_stop(struct attach_guard *g);

#endif
#endif
