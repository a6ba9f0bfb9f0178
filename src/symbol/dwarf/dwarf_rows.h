/* symbol/dwarf/dwarf_rows.h: the line table of one unit: maps addresses to files and lines.
 *
 *     .debug_line at DW_AT_stmt_list: header (sizes, directories, files), then a program that
 *     generates the rows
 *
 * Rows equal to the previous one are left out, as are sequences of functions that the linker
 * dropped. If several rows have one address, the last counts. */
#ifndef CRESSET_SYMBOL_DWARF_DWARF_ROWS_H
#define CRESSET_SYMBOL_DWARF_DWARF_ROWS_H

#include "base/arena.h"
#include "base/vec.h"
#include "symbol/dwarf/dwarf_sections.h"

#include <stdint.h>

struct dwarf_sizes;
struct elf_layout;

enum {
	DWARF_MAX_ROWS = 8 << 20,  /* limit: lines of a DWARF unit; libjvm has 6 M */
	DWARF_MAX_FILES = 1 << 20, /* of a unit, and directories */
	DWARF_MAX_PATH = 4096,     /* longer ones are truncated */
	ROW_GAP = UINT32_MAX,
};

struct dwarf_row {
	uint64_t addr;
	uint32_t file, line; /* file ROW_GAP: no code of this unit from here on */
};
/* A row as the program generated it, for an owner that sets keep_calls. NVIDIA's compilers use it
 * to describe inlining: the row belongs to the function at `name` of .debug_str (0: not given),
 * which was inlined at calls.v[context - 1] (0: not inlined). In the file the rows of each
 * sequence are numbered separately, from 1. */
struct dwarf_call_row {
	uint64_t addr, name;
	uint32_t file, line, context; /* file ROW_GAP: the end of a sequence */
};
struct dwarf_path {                    /* the position of a file's or directory's name */
	enum dwarf_section_id section; /* DWARF_SECTIONS: none */
	uint64_t offset;
	uint64_t dir;
};

struct dwarf_rows { /* zeroed = empty */
	VEC(struct dwarf_row) v;
	VEC(struct dwarf_path)
	dirs, files;          /* numbered from 0; before version 5 the first is unused */
	const char *comp_dir; /* NULL: unknown */
	const char **paths;   /* of files, once requested */
	struct arena text;
	size_t keep_calls; /* the most calls that rows_read retains; set by the owner */
	VEC(struct dwarf_call_row) calls;
	bool skipped; /* some rows could not be read */
};

/* Returns the start of the table after the one at offset, 0 if none exists. */
uint64_t rows_next(struct dwarf_sections *s, uint64_t offset);

/* Reads the table at offset. comp_dir: the unit's, or NULL. */
void rows_read(struct dwarf_rows *rows, struct dwarf_sections *s, uint64_t offset,
	       const struct dwarf_sizes *sizes, const char *comp_dir, size_t comp_dir_len,
	       const struct elf_layout *layout);
void rows_done(struct dwarf_rows *rows);
size_t rows_bytes(const struct dwarf_rows *rows);

/* Returns the row at addr, or NULL. */
const struct dwarf_row *rows_find(const struct dwarf_rows *rows, uint64_t addr);

/* Returns the path of a file, absolute if the compiler gave its directory; valid until rows_done.
 * NULL: no such file. */
const char *rows_path(struct dwarf_rows *rows, struct dwarf_sections *s, uint32_t file);

#endif
