/* collect/proc/cpus.h: lists of CPUs. */
#ifndef CRESSET_COLLECT_PROC_CPUS_H
#define CRESSET_COLLECT_PROC_CPUS_H

#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cpu_list {
	VEC(uint32_t) ids; /* ascending */
};

/* Parses the kernel's list form, "0-3,7\n". -EINVAL when it is malformed or a CPU is ≥ CPUS_MAX;
 * *out is then untouched. */
enum { CPUS_MAX = 8192 };
int cpu_list_parse(const char *text, struct cpu_list *out);
/* Reads the CPUs that are online now from path (NULL: the kernel's list in /sys). */
int cpu_list_online(const char *path, struct cpu_list *out);
bool cpu_list_has(const struct cpu_list *l, uint32_t cpu);
void cpu_list_done(struct cpu_list *l);

#endif
