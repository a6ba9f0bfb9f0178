/* symbol/dwarf_rows.h: the line table of one unit: from which address on which line of which file.
 *
 *     .debug_line at DW_AT_stmt_list: header (sizes, folders, files), then a program whose run gives the rows
 *
 * Rows that say the same as the one before are left out, so are sequences of functions that the linker dropped. Where several
 * rows are at one address the last counts. */
#ifndef CRESSET_SYMBOL_DWARF_ROWS_H
#define CRESSET_SYMBOL_DWARF_ROWS_H

#include "base/arena.h"
#include "symbol/dwarf_die.h"
#include "symbol/elf_layout.h"

enum {
	DWARF_MAX_ROWS = 8 << 20,  /* of a unit: all of libjvm's have 6 M */
	DWARF_MAX_FILES = 1 << 20, /* of a unit, and folders */
	DWARF_MAX_PATH = 4096,     /* longer ones are cut */
	ROW_GAP = UINT32_MAX,
};

struct dwarf_row {
	uint64_t addr;
	uint32_t file, line; /* file ROW_GAP: no code of this unit from here on */
};
/* A row as the program made it, for an owner that sets keep_calls. NVIDIA's compilers say with it what was inlined where: the row belongs
 * to the function at `name` of .debug_str (0: not said), which was inlined at calls.v[context - 1] (0: not inlined). In the file the rows of
 * each sequence are counted anew, from 1. */
struct dwarf_call_row {
	uint64_t addr, name;
	uint32_t file, line, context; /* file ROW_GAP: the end of a sequence */
};
struct dwarf_path {                    /* a file or folder: where its name is */
	enum dwarf_section_id section; /* DWARF_SECTIONS: it has none */
	uint64_t offset;
	uint64_t dir;
};

struct dwarf_rows { /* zeroed = empty */
	VEC(struct dwarf_row) v;
	VEC(struct dwarf_path)
	dirs, files;          /* numbered from 0; before version 5 the first is nothing */
	const char *comp_dir; /* NULL: not known */
	const char **paths;   /* of files, once somebody asked */
	struct arena text;
	size_t keep_calls; /* how many calls rows_read is to keep at most; set by the owner */
	VEC(struct dwarf_call_row) calls;
	bool skipped; /* some of it could not be read */
};

/* Where the table behind the one at offset begins, 0 when there is none. */
uint64_t rows_next(struct dwarf_sections *s, uint64_t offset);

/* Reads the table at offset. comp_dir: as the unit says, or NULL. */
void rows_read(struct dwarf_rows *rows, struct dwarf_sections *s, uint64_t offset,
	       const struct dwarf_sizes *sizes, const char *comp_dir, size_t comp_dir_len,
	       const struct elf_layout *layout);
void rows_done(struct dwarf_rows *rows);
size_t rows_bytes(const struct dwarf_rows *rows);

/* The row at addr, or NULL. */
const struct dwarf_row *rows_find(const struct dwarf_rows *rows, uint64_t addr);

/* The path of a file, absolute where the compiler knew its folder; valid until rows_done. NULL: there is no such file. */
const char *rows_path(struct dwarf_rows *rows, struct dwarf_sections *s, uint32_t file);

#endif
