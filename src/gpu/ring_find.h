/* gpu/ring_find.h: the memfds of a GPU program's library, found in /proc/PID/maps by their names (gpu/ring.h): no
 * socket, so that namespaces are not in the way, nor programs that close all their descriptors. */
#ifndef CRESSET_GPU_RING_FIND_H
#define CRESSET_GPU_RING_FIND_H

#include "base/err.h"
#include "gpu/ring.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Opens, with these flags, each memfd of that name that the process has mapped, and hands it to fn until that returns
 * 0; the descriptor is closed after that. Returns what fn returned last; -ENOENT when there is none; or why one cannot
 * be opened, or the process not be read. */
typedef int ring_found_fn(void *ctx, int fd, struct err *err);
int ring_find(pid_t pid, const char *name, int flags, ring_found_fn *fn, void *ctx,
	      struct err *err);

/* The process's id in the innermost namespace that it is in: a ring says whose it is, as a child still maps its
 * parent's. 0: not known. */
uint32_t ring_owner(pid_t pid);

/* Whether what is mapped of it stays there, and is ordinary shared memory. -EPROTO when not. */
int ring_check_file(int fd, size_t *size, struct err *err);

#endif
