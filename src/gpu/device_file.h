/* gpu/device_file.h: files with device code for several kinds of devices (programs, libraries), by whoever made it: each kind of file is one row of
 * device_file_kinds[], and nothing but its own files knows the vendor. A device's model is its vendor's number of it (90 of sm_90); 0: not known.
 *
 * Files come from programs of any user. One thread at a time for each file. */
#ifndef CRESSET_GPU_DEVICE_FILE_H
#define CRESSET_GPU_DEVICE_FILE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* name: as samples have it, valid during the call. size: bytes of its code. */
typedef void device_function_fn(void *ctx, const char *name, uint64_t size);

struct device_file_kind {
	const char *vendor;
	/* "NAME=value" in a program's environment: it runs none of it, but code made anew; NULL: there is no such. */
	const char *bypass;
	int (*open)(int fd, void **out, struct err *err);
	void (*close)(void *file);
	uint64_t (*skipped)(const void *file);
	uint32_t *(*choose)(const void *file, uint32_t model, uint32_t *n);
	int (*unpack)(const void *file, uint32_t image, void **out, size_t *size, struct err *err);
	bool (*functions)(const void *image, size_t size, device_function_fn *fn, void *ctx);
};
/* NULL behind the last. */
extern const struct device_file_kind *const device_file_kinds[];

struct device_file;

/* Whether with this in its environment ("NAME=value") a program runs other code than its files have. */
bool device_file_is_bypass(const char *variable);

/* fd stays the caller's and must stay open until close. -ENODATA or -ENOEXEC: there is no such code in it. */
int device_file_open(int fd, struct device_file **out, struct err *err);
void device_file_close(struct device_file *f); /* NULL is fine */

/* Pieces of it that could not be read. */
uint64_t device_file_skipped(const struct device_file *f);
/* The images that a device of this model would run, as numbers, to be freed; of no known model: all. */
uint32_t *device_file_choose(const struct device_file *f, uint32_t model, uint32_t *n);
/* An image, for device_code_open; *out is to be freed. */
int device_file_unpack(const struct device_file *f, uint32_t image, void **out, size_t *size,
		       struct err *err);
/* Calls fn for each function of an unpacked image. False: it is none. */
bool device_file_functions(const struct device_file *f, const void *image, size_t size,
			   device_function_fn *fn, void *ctx);

#endif
