/* collect/kernel/gpu_link.h: attaches one program to many places of one file. */
#ifndef CRESSET_COLLECT_KERNEL_GPU_LINK_H
#define CRESSET_COLLECT_KERNEL_GPU_LINK_H

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stdint.h>

/* BPF_TRACE_UPROBE_MULTI, since Linux 6.6; older headers lack it. */
enum { ATTACH_UPROBE_MULTI = 48 };

/* Returns whether this kernel can attach to many places at the same time. */
bool gpu_link_has_multi(void);

struct gpu_link_places {
	uint64_t *offsets, *cookies;
	/* file offsets of reference counters of attached probes in the program's memory; 0: none */
	uint64_t *counters;
	uint32_t n;
};
/* Attaches to all places at the same time. Returns a link's descriptor, or -errno. at_return: where
 * the functions return. */
int gpu_link_multi(int program, int file, const struct gpu_link_places *places, bool at_return);
/* Attaches to place i only, for kernels without multi-attach. NULL and errno on failure. */
struct bpf_link *gpu_link_one(struct bpf_program *program, int file,
			      const struct gpu_link_places *places, uint32_t i, bool at_return);

#endif
