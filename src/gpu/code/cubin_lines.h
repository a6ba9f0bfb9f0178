/* gpu/code/cubin_lines.h: the lines of a cubin's code, by address in the address space that cubin.c
 * assigns to its texts. */
#ifndef CRESSET_GPU_CODE_CUBIN_LINES_H
#define CRESSET_GPU_CODE_CUBIN_LINES_H

#include "base/arena.h"
#include "base/vec.h"
#include "symbol/dwarf/dwarf_rows.h"
#include "symbol/dwarf/dwarf_sections.h"

#include <stdbool.h>
#include <stdint.h>

struct elf_layout;

/* One table of .debug_line. */
struct cubin_line_table {
	struct dwarf_rows rows;
	struct cubin_path {
		const char *dir, *file;
	} * paths; /* of its files; filled on first use */
};
struct cubin_line_row {
	uint64_t addr;
	uint32_t table, row; /* row CUBIN_NO_ROW: no code from here on */
};
enum { CUBIN_NO_ROW = UINT32_MAX };

struct cubin_lines { /* zeroed = none */
	struct dwarf_sections sections;
	VEC(struct cubin_line_table) tables;
	VEC(struct cubin_line_row) v; /* by address */
	size_t n_rows;                /* of all tables */
	struct arena text;
	uint64_t skipped;
};

/* Finds the address of symbol `index` of the file's symbol table. Returns false if it lacks one. */
typedef bool cubin_symbol_fn(void *ctx, uint32_t index, uint64_t *addr);

/* Reads all of .debug_line; without it there are no lines. f must stay until cubin_lines_done. */
void cubin_lines_read(struct cubin_lines *l, const struct elf_file *f,
		      const struct elf_layout *layout, cubin_symbol_fn *symbol, void *ctx);
void cubin_lines_done(struct cubin_lines *l);

/* Finds the row at addr. Returns false if none exists. */
bool cubin_lines_find(const struct cubin_lines *l, uint64_t addr, struct cubin_line_row *out);

/* Reads a row. *name: the linkage name of its function if that was inlined, else NULL. If it was
 * inlined and the call site is known, *at becomes the row of the call and true is returned. */
struct cubin_place {
	const char *dir, *file, *name;
	uint32_t line;
};
bool cubin_lines_step(struct cubin_lines *l, struct cubin_line_row *at, struct cubin_place *out);

#endif
