/* collect/kernel/gpu_stats.h: statistics of what was recorded of GPUs. */
#ifndef CRESSET_COLLECT_KERNEL_GPU_STATS_H
#define CRESSET_COLLECT_KERNEL_GPU_STATS_H

#include "bpf/gpu_event.h"

#include <stdbool.h>
#include <stdint.h>

/* Statistics of probes on GPU libraries. */
struct gpu_probes_stats {
	uint64_t counters[GPU_COUNTERS];
	uint32_t files, probes;        /* attached */
	uint32_t refused_launches;     /* launch probes that would be single-stepped */
	uint32_t refused_files;        /* cannot be probed, or too many */
	uint64_t attach_ns, detach_ns; /* of all of them */
	const char *how;               /* "uprobe.multi", "uprobes"; NULL: nothing is attached */
	bool is_late;                  /* the kernel has been placing a probe for seconds */
	char problem[160];             /* the first one; "": none */
};

/* Statistics of what ran on GPUs (collect/gpu/gpu_time.h). */
enum { GPU_TIME_RECENT = 4 };
struct gpu_time_stats {
	uint32_t programs;              /* watched so far */
	uint32_t watching, given_up;    /* now; given_up: of these, no window will open */
	uint64_t watched_ns, window_ns; /* of all programs; window_ns: in windows */
	uint64_t records;               /* kernels, copies, sets, graphs */
	uint64_t exact_ns, estimated_ns, unknown_ns; /* by how well their stack is known */
	uint64_t closed_ns; /* of all programs: windows closed because no agent watched */
	uint64_t dropped, names_lost, bad;
	uint32_t problems;
	char problem[160];                 /* the first one; "": none */
	char recent[GPU_TIME_RECENT][160]; /* the latest; number i is at i modulo GPU_TIME_RECENT */
};

/* Statistics of where kernels stalled (collect/gpu/gpu_stall.h). */
struct gpu_stall_stats {
	uint64_t samples, not_issued;        /* not_issued: part of samples */
	uint64_t exact, estimated, no_stack; /* samples, by how well their stack is known */
	/* of the estimated samples: the mean share that may belong to another stack; 95 in 100 */
	double estimate_error;
	uint64_t no_code; /* samples in device code that was not found */
	uint64_t other;   /* samples in kernels that are not the program's */
	uint64_t unclear; /* part of no_code: in functions that differ between several files */
	uint64_t functions, places;
	uint64_t modules, in_files; /* images handed over by programs; found in their files */
	uint64_t unread;            /* pieces of files with device code that could not be read */
	uint32_t shortest_period, longest_period; /* powers of two cycles; 0: unknown */
	uint64_t dropped, refused,
		cubins_lost; /* refused: samples for which there was no space here */
};

#endif
