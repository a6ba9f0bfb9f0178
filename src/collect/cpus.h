/* collect/cpus.h: which CPUs are there, and what changed since the last look. */
#ifndef CRESSET_COLLECT_CPUS_H
#define CRESSET_COLLECT_CPUS_H

#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cpu_list {
	VEC(uint32_t) ids; /* ascending */
};

/* Parses the kernel's list form, "0-3,7\n". -EINVAL when malformed or a CPU is ≥ CPUS_MAX; *out is untouched then. */
enum { CPUS_MAX = 8192 };
int cpu_list_parse(const char *text, struct cpu_list *out);
/* The CPUs that are online now, read from path (NULL: the kernel's list in /sys). */
int cpu_list_online(const char *path, struct cpu_list *out);
bool cpu_list_has(const struct cpu_list *l, uint32_t cpu);
void cpu_list_done(struct cpu_list *l);

#endif
