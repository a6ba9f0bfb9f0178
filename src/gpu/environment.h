/* gpu/environment.h: the environment that a process began with (/proc/PID/environ). */
#ifndef CRESSET_GPU_ENVIRONMENT_H
#define CRESSET_GPU_ENVIRONMENT_H

#include <stdbool.h>

enum { ENVIRONMENT_MAX = 256 << 10 }; /* bytes that are looked at */

typedef bool environment_fn(void *ctx, const char *variable); /* "NAME=value" */

/* Whether fn is true of a variable; the first one ends it. dir: an open /proc/PID. False, too, when
 * it cannot be read. */
bool environment_any(int dir, environment_fn *fn, void *ctx);

#endif
