/* collect/worker/probe_link.h: attaches BPF programs to places of a file.
 *
 * For each place that is attached or detached, the kernel takes the mmap_lock of every process that
 * has the file mapped. The wait for it cannot be interrupted by a signal, and no process of the
 * machine can fork until then. So only the worker calls this (collect/worker/probe_placer.h). */
#ifndef CRESSET_COLLECT_WORKER_PROBE_LINK_H
#define CRESSET_COLLECT_WORKER_PROBE_LINK_H

#include <stdbool.h>
#include <stdint.h>

/* BPF_TRACE_UPROBE_MULTI, since Linux 6.6; older headers lack it. */
enum { ATTACH_UPROBE_MULTI = 48 };

/* Returns whether this kernel can attach to many places at once. */
bool probe_link_has_multi(void);

struct probe_place {
	uint64_t offset, cookie;
	/* file offset of the reference counter of attached probes in the program's memory; 0:
	 * none */
	uint64_t counter;
};

/* Attach to all places at once, or to one, for kernels without multi-attach. Return a link's
 * descriptor, whose close detaches, or -errno. at_return: where the functions return. */
int probe_link_multi(int program, int file, const struct probe_place *places, uint32_t n,
		     bool at_return);
int probe_link_one(int program, int file, const struct probe_place *place, bool at_return);

#endif
