/* gpu/fatbin.h: what NVIDIA's compiler puts into programs: device code for several kinds of devices in one section, .nv_fatbin.
 *
 *     container  { u32 0xba55ed50, u16 1, u16 header bytes, u64 bytes behind the header }      one for each source file, the next at a multiple of 8
 *       entry    { u16 kind, u16, u32 header bytes, u64 bytes behind it, u32 packed bytes, u32, u16 minor, u16 major, u32 sm,
 *                  u32, u32, u64 flags, u64, u64 unpacked bytes }                               and then names and options, up to header bytes
 *         kind   1 PTX, 2 a cubin (gpu/cubin.h)
 *         flags  0x2000: one LZ4 block; 0x8000: one zstd frame; neither: as it is, with 0 packed and unpacked bytes
 *
 * The form is not published: these are what others have found (nvopen-tools' FORMAT_SPECIFICATION.md, n-eiling's cuda-fatbin-decompression, ZLUDA), compared with
 * what fatbinary of CUDA 13.0 writes in each of its modes, and with 14 of NVIDIA's own libraries, in which these rules find each container's end.
 *
 * Files come from targets and are hostile: they are read with pread, in pieces; what cannot be read is counted. One thread at a time. */
#ifndef CRESSET_GPU_FATBIN_H
#define CRESSET_GPU_FATBIN_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	FATBIN_MAX_IMAGES = 1 << 17,     /* of a file: libcublasLt has 5500 */
	FATBIN_MAX_UNPACKED = 256 << 20, /* bytes of one */
};
#define FATBIN_MAX_RATIO 1024 /* unpacked to packed: cubins come to 40 */

enum fatbin_packing { FATBIN_PLAIN, FATBIN_LZ4, FATBIN_ZSTD };
struct fatbin_image {
	uint64_t at, packed; /* in the file */
	uint64_t size;       /* unpacked */
	uint32_t container;
	uint32_t sm; /* 90 for sm_90 */
	bool is_ptx;
	enum fatbin_packing packing;
};
struct fatbin;

/* Reads an ELF file with such a section, or a file that is a container; fd stays the caller's, and must stay open until fatbin_close. -ENODATA: an ELF file without;
 * -ENOEXEC: neither. */
int fatbin_open(int fd, struct fatbin **out, struct err *err);
void fatbin_close(struct fatbin *f); /* NULL is fine */

/* In the order of the file. Valid until fatbin_close. */
const struct fatbin_image *fatbin_images(const struct fatbin *f, uint32_t *n);
/* Containers and entries that could not be read. */
uint64_t fatbin_skipped(const struct fatbin *f);

/* The cubins that a device of this kind runs: of each container those of the highest sm that it can, which has its first digits and is not above it. 0: all cubins.
 * Numbers of images, in order, to be freed. */
uint32_t *fatbin_choose(const struct fatbin *f, uint32_t sm, uint32_t *n);

/* Unpacks an image: *out is to be freed, and has as many bytes as the image's size. -EBADMSG: it is broken, -E2BIG. */
int fatbin_unpack(const struct fatbin *f, uint32_t image, void **out, struct err *err);

#endif
