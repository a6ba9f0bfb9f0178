/* collect/proc/proc_owner.h: the user responsible for a process. */
#ifndef CRESSET_COLLECT_PROC_PROC_OWNER_H
#define CRESSET_COLLECT_PROC_PROC_OWNER_H

#include <stdint.h>

/* The user of a process, as numbered here; of one in another user namespace, the user who made the
 * outermost namespace below ours: users inside it are that user's to choose. Nothing here waits for
 * the process. Returns 0, or -errno when it is gone. */
int proc_owner(uint32_t pid, uint32_t *uid);

#endif
