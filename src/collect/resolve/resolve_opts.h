/* collect/resolve/resolve_opts.h: options of stacks, names and labels. The ones that leave frames
 * out of stacks, or select the waits that get one, are in collect/kernel/sampler_opts.h. */
#ifndef CRESSET_COLLECT_RESOLVE_RESOLVE_OPTS_H
#define CRESSET_COLLECT_RESOLVE_RESOLVE_OPTS_H

#include "collect/proc/series_hook.h"
#include "collect/process/elf_names.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether to show a runtime's own frames between frames of its language. */
enum runtime_native { RUNTIME_FOLD = 0, RUNTIME_SHOW };

/* Names of code made at run time: the function, or the text of the perf map or jitdump. */
enum jit_names { JIT_NAMES_FUNCTION = 0, JIT_NAMES_RAW };

struct resolve_opts {
	enum runtime_native runtime_native;
	enum jit_names jit_names;
	struct name_files_opts names;
	struct series_opts series;
	/* descriptors kept for watched files; 0 = a quarter of RLIMIT_NOFILE, at most 1024 */
	uint32_t max_open_files;
	uint64_t stack_bytes; /* memory for stacks as the kernel sent them; 0 = 8 MiB */
	/* Keep the kernel's symbols in memory, compressed (1 to 2 MB), so that collect_name_kernel
	 * costs next to nothing, and names frames again for each sink. */
	bool keep_kernel_names;
};

#endif
