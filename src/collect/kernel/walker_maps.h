/* collect/kernel/walker_maps.h: the maps of bpf/sample.bpf.c that user space fills. The sampler
 * owns them. */
#ifndef CRESSET_COLLECT_KERNEL_WALKER_MAPS_H
#define CRESSET_COLLECT_KERNEL_WALKER_MAPS_H

#include <stdbool.h>
#include <stdint.h>

/* Address spaces and unwind tables (collect/walker/space.h). */
struct space_maps {
	int processes, blocks, tables, segments;
	int hotspot_processes, hotspot_layouts; /* written by runtime/hotspot.c */
	int v8_processes;                       /* … by runtime/v8.c */
	int php_processes;                      /* … by runtime/php.c */
	uint32_t max_segments;
	/* Set while some processes have no entry in processes: they are walked by frame pointers.
	 * NULL: unused. */
	volatile uint32_t *processes_full;
	/* Processes are known from their start; otherwise from their first sample on, and then
	 * their children. */
	bool all_processes;
};

/* The maps for processes that publish their spans (collect/process/traced.h). */
struct traced_maps {
	int recipes;
	volatile uint32_t *is_any; /* set while there are such processes */
};

#endif
