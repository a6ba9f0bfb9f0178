/* gpu/ring/ring_find.h: finds the memfds of a GPU program's library in /proc/PID/maps by their
 * names (gpu/ring/ring.h). There is no socket, so it works with namespaces and with programs that
 * close all their descriptors. */
#ifndef CRESSET_GPU_RING_RING_FIND_H
#define CRESSET_GPU_RING_RING_FIND_H

#include "gpu/ring/ring.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

/* Opens, with these flags, each memfd of that name that the process has mapped, and calls fn with
 * it until fn returns 0; the descriptor is closed after the call. Returns the last result of fn;
 * -ENOENT if none exists; or the error if a memfd cannot be opened or the process cannot be
 * read. */
typedef int ring_found_fn(void *ctx, int fd, struct err *err);
int ring_find(pid_t pid, const char *name, int flags, ring_found_fn *fn, void *ctx,
	      struct err *err);

/* Returns the process's id in its innermost namespace, 0 if unknown. A ring names its owner this
 * way, as a child still maps its parent's ring. */
uint32_t ring_owner(pid_t pid);

/* Checks that the file is ordinary shared memory that cannot shrink. Returns -EPROTO if not. */
int ring_check_file(int fd, size_t *size, struct err *err);

#endif
