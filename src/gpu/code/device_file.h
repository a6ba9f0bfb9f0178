/* gpu/code/device_file.h: files (programs, libraries) with device code for several kinds of
 * devices, of any vendor: each kind of file is one row of device_file_kinds[], and only its own
 * files know the vendor. A device's model is its vendor's number of it (90 for sm_90); 0: unknown.
 *
 * Files come from programs of any user. One thread at a time for each file. */
#ifndef CRESSET_GPU_CODE_DEVICE_FILE_H
#define CRESSET_GPU_CODE_DEVICE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/* name: as in samples, valid during the call. size: bytes of its code. */
typedef void device_function_fn(void *ctx, const char *name, uint64_t size);

struct device_file_kind {
	const char *vendor;
	/* "NAME=value" in a program's environment with which it runs newly compiled code instead of
	 * the file's; NULL: none. */
	const char *bypass;
	int (*open)(int fd, void **out, struct err *err);
	void (*close)(void *file);
	uint64_t (*skipped)(const void *file);
	uint32_t *(*choose)(const void *file, uint32_t model, uint32_t *n);
	int (*unpack)(const void *file, uint32_t image, void **out, size_t *size, struct err *err);
	bool (*functions)(const void *image, size_t size, device_function_fn *fn, void *ctx);
};
/* NULL-terminated. */
extern const struct device_file_kind *const device_file_kinds[];
/* NVIDIA: fat binaries (gpu/code/fatbin.h). */
extern const struct device_file_kind cuda_file;

struct device_file;

/* Whether a program with this variable ("NAME=value") in its environment runs other code than that
 * of its files. */
bool device_file_is_bypass(const char *variable);

/* fd stays the caller's and must stay open until close. Returns -ENODATA or -ENOEXEC if the file
 * has no such code. */
int device_file_open(int fd, struct device_file **out, struct err *err);
void device_file_close(struct device_file *f); /* NULL is fine */

/* Pieces that could not be read. */
uint64_t device_file_skipped(const struct device_file *f);
/* Returns the numbers of the images that a device of this model would run, to be freed; all images
 * if the model is unknown. */
uint32_t *device_file_choose(const struct device_file *f, uint32_t model, uint32_t *n);
/* Unpacks an image for device_code_open; *out must be freed. */
int device_file_unpack(const struct device_file *f, uint32_t image, void **out, size_t *size,
		       struct err *err);
/* Calls fn for each function of an unpacked image. Returns false if it is not an image of code. */
bool device_file_functions(const struct device_file *f, const void *image, size_t size,
			   device_function_fn *fn, void *ctx);

#endif
