/* collect/walker/kernel_stored.h: the names of the kernel's own functions, stored in the cache
 * directory (base/cache_dir.h), by the kernel's build id.
 *
 * Reading /proc/kallsyms takes 40 to 60 ms of CPU time at the end of each recording, most of it in
 * the kernel; this file 2 ms. It has neither modules nor BPF programs, and no address that the
 * kernel is loaded at. */
#ifndef CRESSET_COLLECT_WALKER_KERNEL_STORED_H
#define CRESSET_COLLECT_WALKER_KERNEL_STORED_H

#include <stdint.h>

struct symbol_source;

#define KERNEL_STORED_CACHE "kernel-names" /* in the directory of all caches */

/* cache_root: the directory of all caches; NULL: none. start: the run-time address of _text.
 * Returns NULL if nothing is stored for this kernel. */
struct symbol_source *kernel_stored_open(const char *cache_root, uint64_t start);

/* Stores the functions from start up to end of a source of symbol_open_kallsyms. */
void kernel_stored_save(const char *cache_root, const struct symbol_source *kallsyms,
			uint64_t start, uint64_t end);

#endif
