/* collect/host_memory.h: memory from /proc/meminfo, pressure from /proc/pressure/ (proc(5), Documentation/accounting/psi.rst).
 *
 *     system_memory_limit                      By: what the kernel has
 *     system_memory_available                  By: what programs could have without swapping, as the kernel estimates it
 *     system_memory_usage{state}               By: used, free, buffers, cached (with what of the slab can be had back): the limit, in parts
 *     system_paging_usage{state}               By: used, free, of swap
 *     system_pressure{resource,kind}           s, counter: time in which some, or all, threads that had work waited for it */
#ifndef CRESSET_COLLECT_HOST_MEMORY_H
#define CRESSET_COLLECT_HOST_MEMORY_H

#include "collect/host_points.h"

void host_memory_put(struct cur meminfo, struct host_points *w);
/* resource: "cpu", "memory", "io", "irq". */
void host_pressure_put(const char *resource, struct cur text, struct host_points *w);

#endif
