/* gpu/sass_table.h: the names of NVIDIA's instructions, as tools/sass-table made them. By opcode, then by SM; ranges of one opcode do not
 * overlap. */
#ifndef CRESSET_GPU_SASS_TABLE_H
#define CRESSET_GPU_SASS_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct sass_row {
	uint16_t opcode;     /* bits 0-11 */
	uint8_t first, last; /* of the SMs that have it under this name */
	char name[16];
};
extern const struct sass_row sass_rows[];
extern const size_t sass_row_count;

#endif
