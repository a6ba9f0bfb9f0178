/* collect/kernel/target.h: prepares the user's target for the kernel side. */
#ifndef CRESSET_COLLECT_KERNEL_TARGET_H
#define CRESSET_COLLECT_KERNEL_TARGET_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct glob_program;

/* Compiles a shell glob (* ? [a-z] [!a-z] \x) into the program that the sampler runs over thread
 * names. -EINVAL when it is malformed or needs more than GLOB_MAX_POSITIONS positions. */
int target_compile_glob(const char *pattern, struct glob_program *out, struct err *err);

/* Matches a name of at most EVENT_COMM_LEN bytes as the kernel side does; for tests and for user
 * space. */
bool target_glob_matches(const struct glob_program *g, const char *comm);

/* Opens the directory of a cgroup v2: absolute, or below the v2 mount. Returns the descriptor;
 * -ENOENT when there is no such group, -EOPNOTSUPP when it is a v1 group or v2 is not mounted. */
int target_open_cgroup(const char *path, struct err *err);

#endif
