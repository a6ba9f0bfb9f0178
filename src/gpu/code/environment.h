/* gpu/code/environment.h: the initial environment of a process (/proc/PID/environ). */
#ifndef CRESSET_GPU_CODE_ENVIRONMENT_H
#define CRESSET_GPU_CODE_ENVIRONMENT_H

#include <stdbool.h>

enum { ENVIRONMENT_MAX = 256 << 10 }; /* bytes that are read */

typedef bool environment_fn(void *ctx, const char *variable); /* "NAME=value" */

/* Whether fn returns true for a variable; stops at the first. dir: an open /proc/PID. Also returns
 * false if it cannot be read. */
bool environment_any(int dir, environment_fn *fn, void *ctx);

#endif
