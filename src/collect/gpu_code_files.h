/* collect/gpu_code_files.h: the device code that a program loaded before anybody watched it, out of the files that it has mapped.
 *
 * A thread of its own, at the lowest priority, opens them through /proc/PID (map_files, else the path below the process's root if that is the same inode) and
 * looks through those with device code, each file once for a model of devices. Nothing is asked of the program. Code that was made at run time is in no file. */
#ifndef CRESSET_COLLECT_GPU_CODE_FILES_H
#define CRESSET_COLLECT_GPU_CODE_FILES_H

#include "collect/gpu_code_fit.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	GPU_CODE_PROGRAMS = 256,
	GPU_CODE_FILES = 1 << 14, /* that were looked at, with code or without */
	GPU_CODE_WITH_CODE = 256, /* of them */
	/* With code, of a program, before the first of them is looked through. */
	GPU_CODE_OPENED = 256,
	GPU_CODE_SEARCH_MS = 1000, /* of the processor's time, for what an interval has sampled */
	GPU_CODE_WAIT_MS = 30000,  /* for the thread, at the end of a recording */
};

struct gpu_code_files;

/* NULL when there can be no thread. */
struct gpu_code_files *gpu_code_files_new(void);
void gpu_code_files_free(struct gpu_code_files *f); /* after the file at hand; NULL is fine */

/* Has a program's files looked at, or again at what is mapped now. model: gpu/device_file.h's. */
void gpu_code_files_want(struct gpu_code_files *f, uint32_t pid, uint32_t model);
/* Until all that were wanted are done, or so long. */
void gpu_code_files_wait(struct gpu_code_files *f, uint64_t ms);
/* What fits all of them, as gpu_code_fit_open has it; until_ns of clock_thread_ns(). */
void gpu_code_files_find(struct gpu_code_files *f, uint32_t pid, uint32_t model,
			 const struct gpu_code_wanted *wanted, size_t n, uint64_t max_bytes,
			 uint64_t until_ns, struct gpu_code_found *out);
/* Files of programs that have ended are forgotten when there are too many. */
void gpu_code_files_forget_ended(struct gpu_code_files *f);
/* Containers and images that could not be read, of all files. */
uint64_t gpu_code_files_unread(struct gpu_code_files *f);

#endif
