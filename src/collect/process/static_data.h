/* collect/process/static_data.h: the file that a variable of a process belongs to. Images have
 * executable mappings only, so the place of its data follows from that of its code. */
#ifndef CRESSET_COLLECT_PROCESS_STATIC_DATA_H
#define CRESSET_COLLECT_PROCESS_STATIC_DATA_H

#include <stdbool.h>
#include <stdint.h>

struct image;
struct object;
struct object_table;

/* Sets *object, which stays the table's, and *vaddr: the address in the file, as nm shows it.
 * Returns false for memory of no file: the heap, stacks; and while the file is
 * not open. Opens a file for pid, which has it mapped. Reads each file once. */
bool static_data_find(struct object_table *t, uint32_t pid, const struct image *image,
		      uint64_t address, const struct object **object, uint64_t *vaddr);

#endif
