/* collect/kernel/types_part.h: the part of a kernel's types that the programs of src/bpf look up,
 * by the table of kernel_types.h: 45 KB of 5 MB. Reading all types, twice, takes 35 ms of each
 * start, reading this part 1 ms. It is stored in the cache directory (base/cache_dir.h).
 *
 * The part has the types that a row of the table names, and all types in them. Their pointers point
 * to void, except pointers to types of the table: relocations do not follow pointers.
 *
 * Types of programs that libbpf attaches by BTF are read from the kernel as before. */
#ifndef CRESSET_COLLECT_KERNEL_TYPES_PART_H
#define CRESSET_COLLECT_KERNEL_TYPES_PART_H

#include <stdint.h>

struct btf;

/* Returns NULL if it cannot be made; the caller frees it. */
struct btf *types_part_make(const struct btf *whole);

#define TYPES_PART_CACHE "kernel-types" /* in the directory of all caches */

/* Types of the running kernel as a file in memory. */
struct types_part { /* zeroed = none */
	int fd;
	char path[32]; /* for libbpf; "": none, use all types */
};
/* cache_root: the directory of all caches; NULL: none. */
void types_part_open(struct types_part *t, const char *cache_root);
void types_part_close(struct types_part *t); /* t is zeroed */

#endif
