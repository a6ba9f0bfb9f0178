/* collect/collect_opts.h: options of a collector. */
#ifndef CRESSET_COLLECT_COLLECT_OPTS_H
#define CRESSET_COLLECT_COLLECT_OPTS_H

#include "collect/gpu/gpu_opts.h"
#include "collect/heap/heap_opts.h"
#include "collect/kernel/sampler_opts.h"
#include "collect/resolve/resolve_opts.h"

/* Options of each part. Zeroed options record on-CPU time of the whole machine. */
struct collect_opts {
	struct sampler_opts sampler;
	struct resolve_opts resolve;
	struct gpu_collect_opts gpu;
	struct heap_opts heap;
	/* Directory of all caches: unwind tables and kernel types are stored there. NULL: none. */
	const char *cache_root;
};

#endif
