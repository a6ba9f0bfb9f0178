/* collect/gpu_code_files.h: the device code that a program loaded before anybody watched it, out of the files that it has mapped.
 *
 * A thread of its own, at the lowest priority, opens them through /proc/PID (map_files, else the path below the process's root if that is the same inode) and
 * looks through those with device code, each file once for a model of devices. Nothing is asked of the program.
 *
 * Samples name code by a number of the vendor's tool alone, which nobody else can compute: an image fits that has all functions which were sampled under one number, each at
 * least as large as the offsets in it. Code that was made at run time is in no file. */
#ifndef CRESSET_COLLECT_GPU_CODE_FILES_H
#define CRESSET_COLLECT_GPU_CODE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	GPU_CODE_PROGRAMS = 256,
	GPU_CODE_FILES = 1 << 14, /* that were looked at, with code or without */
	GPU_CODE_WITH_CODE = 256, /* of them */
	GPU_CODE_OPENED = 256,    /* of a program, before the first of them is looked through */
	GPU_CODE_FITTING = 64, /* images that have the functions; with more it is not known which */
	GPU_CODE_ALIKE = 8,    /* different ones that are opened and compared */
	GPU_CODE_WAIT_MS = 30000, /* for the thread, at the end of a recording */
};

struct device_code;

/* A function that was sampled, with the largest offset. */
struct gpu_code_wanted {
	const char *function;
	uint64_t offset;
};
/* Images that fit, each a different one; of several each is as likely. */
struct gpu_code_found { /* zeroed = none */
	struct device_code *code[GPU_CODE_ALIKE];
	uint32_t n;
	uint64_t bytes;
};
void gpu_code_found_done(struct gpu_code_found *f);

struct gpu_code_files;

/* NULL when there can be no thread. */
struct gpu_code_files *gpu_code_files_new(void);
void gpu_code_files_free(struct gpu_code_files *f); /* after the file at hand; NULL is fine */

/* Has a program's files looked at, or again at what is mapped now. model: gpu/device_file.h's. */
void gpu_code_files_want(struct gpu_code_files *f, uint32_t pid, uint32_t model);
/* Until all that were wanted are done, or so long. */
void gpu_code_files_wait(struct gpu_code_files *f, uint64_t ms);
/* What fits all of them, of images of at most max_bytes in all; of several more than GPU_CODE_ALIKE none is taken, and *out is empty. */
void gpu_code_files_find(struct gpu_code_files *f, uint32_t pid, uint32_t model,
			 const struct gpu_code_wanted *wanted, size_t n, uint64_t max_bytes,
			 struct gpu_code_found *out);
/* Files of programs that have ended are forgotten when there are too many. */
void gpu_code_files_forget_ended(struct gpu_code_files *f);
/* Containers and images that could not be read, of all files. */
uint64_t gpu_code_files_unread(struct gpu_code_files *f);

#endif
