/* attach/attach_lock.h: prevents two processes from attaching to one at the same time.
 *
 * The locks are on two files of the process that open only for users with rights over it: so no
 * other user can hold them. To open the first one waits for nothing, but a user with the right to
 * trace may lack the one to read others' files. All open the second. */
#ifndef CRESSET_ATTACH_ATTACH_LOCK_H
#define CRESSET_ATTACH_ATTACH_LOCK_H

#include <stdint.h>

struct attach_lock {
	int early; /* the first file; below 0: not open */
	int fd;    /* the second one, or -errno */
};

/* Returns 0, to be unlocked; or -EWOULDBLOCK: another process has one of them. The last process
 * with the second descriptor releases that lock. */
int attach_lock(uint32_t pid, struct attach_lock *l);
void attach_unlock(struct attach_lock *l);

#endif
