/* collect/resolve/resolve_links.h: what a resolver is connected to: its sink and the types there,
 * the walker in the kernel, readers of other processes, receivers of GPU work. */
#ifndef CRESSET_COLLECT_RESOLVE_RESOLVE_LINKS_H
#define CRESSET_COLLECT_RESOLVE_RESOLVE_LINKS_H

#include "collect/kernel/walker_maps.h"
#include "collect/resolve/gpu_origins.h"

#include <stdbool.h>
#include <stdint.h>

struct gpu_allocation;
struct gpu_info;
struct helper;
struct proc_reader;
struct runtime_maps;
struct sink;

#define TYPE_NONE UINT32_MAX /* not recorded */
struct resolve_types {       /* ids in the sink */
	uint32_t cpu, off_cpu, sched_wait, wall, lock, lock_waits, page_fault, rss;
	struct heap_types {
		uint32_t alloc, alloc_objects, inuse, inuse_objects;
	} heap;
	struct gpu_types {
		uint32_t launch, wait, copy, nccl, alloc, inuse, time, window, queue, stall,
			not_issued;
		uint32_t alloc_objects, inuse_objects; /* their counts, next to alloc and inuse */
	} gpu;
	int64_t period_ns; /* of samples on a CPU */
};

/* What a resolver is connected to. */
struct resolve_links {
	struct sink *sink;
	const char *cache_root; /* as for space_new */
	/* reads files on behalf of the resolver (collect/worker/helper.h); NULL: created when
	 * needed */
	struct proc_reader *reader; /* of other processes; the caller's; NULL: this one reads */
	struct helper *helper;
	struct resolve_types types;
	/* Most frames that the kernel's helper returns (helper_end.h); 0: trust the end that its
	 * stacks report (tests). */
	uint32_t helper_frames;
	const struct space_maps *space; /* the walker's; NULL: it follows frame pointers only */
	const struct runtime_maps *runtimes; /* the walker's; NULL: it knows no runtimes */
	struct traced_maps traced;           /* zeroed: spans of threads are not read */
	/* Sets whether the next report copies the stack of a pending wait again. NULL: it always
	 * does. */
	void (*copy_again)(void *ctx, uint32_t tid, bool again);
	void *copy_ctx;
	/* Sets which pages' faults are sent: one page in 2^bits, at first page_bits. NULL: they
	 * stay. */
	void (*choose_pages)(void *ctx, uint32_t bits);
	void *choose_ctx;
	uint32_t page_bits;
	/* Called for a process that has a runtime, or may have one in a moment. NULL: unused. */
	void (*on_runtime)(void *ctx, uint32_t pid);
	void *runtime_ctx;
	/* As gpu_collect_opts.stack. */
	void (*gpu_stack)(void *ctx, uint32_t pid, uint32_t tid, uint32_t correlation,
			  uint32_t stack, uint32_t weight);
	void *gpu_stack_ctx;
	/* The same for resolve_gpu_ran; origin: stack, thread and labels of the launch. */
	void (*gpu_launch)(void *ctx, uint32_t pid, uint32_t correlation, uint32_t origin,
			   uint32_t weight, uint64_t time_ns);
	void *gpu_launch_ctx;
	/* Called for allocations that end with their context or process; may be NULL. */
	void (*gpu_gone)(void *ctx, const struct gpu_allocation *a);
	/* Called when origins get new numbers: for each origin that the callee retains, it calls
	 * `to` for the new one (0: gone). May be NULL. */
	void (*gpu_renamed)(void *ctx, gpu_origin_move *to, void *to_ctx);
	uint32_t gpu_max_live, gpu_max_origins; /* 0: defaults of gpu_live.h and gpu_origins.h */
	void *gpu_ctx;
	/* The same for origins of programs' heaps. */
	void (*heap_renamed)(void *ctx, gpu_origin_move *to, void *to_ctx);
	/* Whether samples of a process count, and may still be in use; NULL: they do. */
	bool (*heap_wants)(void *ctx, uint32_t pid);
	/* How many objects a sampled one of HotSpot stands for; 0: it does not count. */
	double (*java_weight)(void *ctx, uint32_t pid, const struct gpu_info *g);
	void *heap_ctx;
};

#endif
