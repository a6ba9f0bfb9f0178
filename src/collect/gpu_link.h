/* collect/gpu_link.h: one program attached to many places of one file. */
#ifndef CRESSET_COLLECT_GPU_LINK_H
#define CRESSET_COLLECT_GPU_LINK_H

#include "gpu/probes.h"

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stdint.h>

/* BPF_TRACE_UPROBE_MULTI, since Linux 6.6; headers that know nothing of it are older. */
enum { ATTACH_UPROBE_MULTI = 48 };

/* Whether this kernel attaches to many places at once. */
bool gpu_link_has_multi(void);

struct gpu_link_places {
	uint64_t *offsets, *cookies;
	uint64_t *
		counters; /* of those who have attached, which the program's memory has at that offset of the file; 0: none */
	uint32_t n;
};
/* All places at once: a link's descriptor, or -errno. at_return: where the functions return. */
int gpu_link_multi(int program, int file, const struct gpu_link_places *places, bool at_return);
/* One of them, where the kernel has nothing better. NULL and errno. */
struct bpf_link *gpu_link_one(struct bpf_program *program, int file,
			      const struct gpu_link_places *places, uint32_t i, bool at_return);

#endif
