/* attach/attach_guard.h: protects the process from its attacher: a lock, and a guardian. */
#ifndef CRESSET_ATTACH_ATTACH_GUARD_H
#define CRESSET_ATTACH_ATTACH_GUARD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

/* The locks are on two files of the process that open only for users with rights over it: so no
 * other user can hold them. To open the first one waits for nothing, but a user with the right to
 * trace may lack the one to read others' files. All open the second. */
struct attach_lock {
	int early; /* the first file; below 0: not open */
	int fd;    /* the second one, or -errno */
};

/* Returns 0, to be unlocked; or -EWOULDBLOCK: another process has one of them. The last process
 * with the second descriptor releases that lock. */
int attach_lock(uint32_t pid, struct attach_lock *l);
void attach_unlock(struct attach_lock *l);

#ifdef __x86_64__

/* A process that restores a stopped thread when the attaching process is killed.
 *
 * It is forked before anything is touched, and waits until its parent is dead. Then it restores the
 * thread if that is in the loop of its C library or in our page, by rip and rsp (attach_rescue); a
 * descriptor and a mapping of a call that had started stay. Both share one page: the thread's
 * original state (struct attach_kept). It uses no other memory of the parent. It is in
 * the parent's control group and has its oom_score_adj: if both are killed at one time, the thread
 * stays where it is, see attach/attach.h. */
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
