/* collect/gpu/gpu_code_files.h: finds device code that a program loaded before it was watched, in
 * the files that it has mapped.
 *
 * A separate thread, at the lowest priority, opens the files through /proc/PID (map_files,
 * otherwise the path below the process's root if that is the same inode) and searches those with
 * device code, each file once for a model of devices. The program is not involved. Code that was
 * made at run time is in no file.
 *
 * CUPTI's number of an image is unpublished. So an image matches if it has all sampled functions,
 * each larger than the offsets, for this model; if several images match, a place is reported only
 * if all agree. A generated kernel with the name of one in a file, and not larger, would be taken
 * for it. */
#ifndef CRESSET_COLLECT_GPU_GPU_CODE_FILES_H
#define CRESSET_COLLECT_GPU_GPU_CODE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpu_code_found;
struct gpu_code_wanted;

enum {
	GPU_CODE_PROGRAMS = 256,  /* limit: programs searched for device code */
	GPU_CODE_FILES = 1 << 14, /* limit: files of all programs searched for it */
	GPU_CODE_WITH_CODE = 256, /* limit: files that have it */
	/* Files with code of a program that are opened before the first of them is searched. */
	GPU_CODE_OPENED = 256, /* limit: files of one program searched for it */
	/* limit: CPU time to search for an interval's code; a recording's end waits longer */
	GPU_CODE_SEARCH_MS = 1000,
	GPU_CODE_WAIT_MS = 30000, /* limit: wait for it at a recording's end */
};

struct gpu_code_files;

/* Returns NULL when the thread cannot be started. */
struct gpu_code_files *gpu_code_files_new(void);
void gpu_code_files_free(struct gpu_code_files *f); /* waits for the current file; NULL is fine */

/* Searches a program's files, or again those mapped now. model: as in gpu/code/device_file.h. */
void gpu_code_files_want(struct gpu_code_files *f, uint32_t pid, uint32_t model);
/* Waits until all wanted programs are done, at most ms. */
void gpu_code_files_wait(struct gpu_code_files *f, uint64_t ms);
/* Returns the code that fits all wanted functions, as gpu_code_fit_open does; until_ns: of
 * clock_thread_ns(). */
void gpu_code_files_find(struct gpu_code_files *f, uint32_t pid, uint32_t model,
			 const struct gpu_code_wanted *wanted, size_t n, uint64_t max_bytes,
			 uint64_t until_ns, struct gpu_code_found *out);
/* Forgets programs that have ended, and files when there are too many. */
void gpu_code_files_forget_ended(struct gpu_code_files *f);
/* Containers and images that could not be read, in all files. */
uint64_t gpu_code_files_unread(struct gpu_code_files *f);

#endif
