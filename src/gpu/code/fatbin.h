/* gpu/code/fatbin.h: fat binaries, which NVIDIA's compiler puts into programs: device code for
 * several kinds of devices in one section, .nv_fatbin.
 *
 *     container  { u32 0xba55ed50, u16 1, u16 header bytes, u64 bytes after the header } one for
 *                each source file, the next at a multiple of 8
 *       entry    { u16 kind, u16, u32 header bytes, u64 bytes after it, u32 compressed bytes, u32,
 *                u16 minor, u16 major, u32 sm, u32, u32, u64 flags, u64, u64 uncompressed bytes }
 *                and then names and options, up to header bytes
 *         kind   1 PTX, 2 a cubin (gpu/code/cubin.h)
 *         flags  0x2000: one LZ4 block (CUDA up to 12); 0x8000: one zstd frame; neither:
 *                uncompressed, both sizes are 0
 *
 * The format is not published. This description is from other projects (nvopen-tools'
 * FORMAT_SPECIFICATION.md, n-eiling's cuda-fatbin-decompression, ZLUDA), checked against the output
 * of fatbinary of CUDA 13.0 in each of its modes, and against 14 of NVIDIA's own libraries, in
 * which these rules find each container's end; in the 12 of them with sm_90 they find 41 500
 * functions in 1.3 s of CPU time.
 *
 * Files come from targets and are not trusted: they are read with pread, in pieces; unreadable
 * parts are counted. One thread at a time. */
#ifndef CRESSET_GPU_CODE_FATBIN_H
#define CRESSET_GPU_CODE_FATBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum {
	/* limit: images in a fat binary */
	FATBIN_MAX_IMAGES = 1 << 17, /* of a file: libcublasLt has 5500 */
	/* limit: bytes of an image in it, compressed or not */
	FATBIN_MAX_UNPACKED = 256 << 20,
};
/* limit: its uncompressed to compressed size; cubins come to 40 */
#define FATBIN_MAX_RATIO 1024

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

/* Reads an ELF file with such a section, or a file that is a container; fd stays the caller's, and
 * must stay open until fatbin_close. Returns -ENODATA for an ELF file without the section, -ENOEXEC
 * for other files. */
int fatbin_open(int fd, struct fatbin **out, struct err *err);
void fatbin_close(struct fatbin *f); /* NULL is fine */

/* In the order of the file. Valid until fatbin_close. */
const struct fatbin_image *fatbin_images(const struct fatbin *f, uint32_t *n);
/* Containers and entries that could not be read. */
uint64_t fatbin_skipped(const struct fatbin *f);

/* Returns the cubins that a device of this kind runs: from each container those of the highest sm
 * that it supports, which has the same first digits and is not above the device's. sm 0: all
 * cubins. The result has the numbers of images, in order, and must be freed. */
uint32_t *fatbin_choose(const struct fatbin *f, uint32_t sm, uint32_t *n);

/* Unpacks an image: *out must be freed, and has the image's size. Returns -EBADMSG if it is
 * broken, -E2BIG past a limit. */
int fatbin_unpack(const struct fatbin *f, uint32_t image, void **out, struct err *err);

#endif
