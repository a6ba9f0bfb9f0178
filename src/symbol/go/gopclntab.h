/* symbol/go/gopclntab.h: the table of functions and lines that every Go program contains for its
 * own tracebacks, stripped or not. It is found by its section (.gopclntab, also inside
 * .data.rel.ro), or else by its header.
 *
 *     header      magic, pointer size, number of functions, and since Go 1.16 the positions of the
 *                 parts
 *     functab     { entry, offset of the function's record } by entry, and the end of the last
 *                 function
 *     records     name, tables of values (stack depth, file, line, position in the inline tree),
 *                 and since Go 1.20 the first line
 *     values      steps { zigzag difference of the value, difference of the pc }, both varints; a
 *                 difference of 0 ends them
 *     inline tree entries { name, pc of the call }, one tree for each function with inlined calls
 *
 * The magic identifies the layout: Go 1.2, 1.16, 1.18 or 1.20. Since Go 1.18 addresses are
 * relative to the start of the text and inline trees to `go:func.*`: both are in the runtime's
 * moduledata (go_module.c), which is found by its pointer to this table. Inline trees are read for
 * Go 1.13 and later.
 *
 * Sources: src/runtime/symtab.go and src/cmd/link/internal/ld/pcln.go of Go 1.14, 1.16, 1.19 and
 * 1.26; golang.org/s/go12symtab. */
#ifndef CRESSET_SYMBOL_GO_GOPCLNTAB_H
#define CRESSET_SYMBOL_GO_GOPCLNTAB_H

#include "symbol/elf/file_pages.h"

struct err;

enum {
	GO_MAX_FUNCTIONS = 8 << 20, /* limit: functions of a Go program; terraform has 102 000 */
	/* limit: bytes searched for its table and moduledata */
	GO_MAX_SEARCH = 1 << 30,
	GO_MAX_STEPS = 1 << 20, /* limit: steps of its table of values for one address */
	GO_MAX_NAME = 16 << 10, /* longer names are truncated */
};

struct go_layout;
struct gopclntab {
	struct file_pages pages;
	const struct elf_layout *layout; /* the caller's */
	const struct go_layout *kind;
	uint64_t base, end;                            /* of the table, file offsets */
	uint64_t vaddr;                                /* of the table */
	uint64_t text;                                 /* base of entries */
	uint64_t inline_base;                          /* base of inline trees; 0: unknown */
	uint64_t names, units, files, values, functab; /* file offsets of the parts */
	uint64_t searched;                             /* bytes */
	uint32_t n_functions, n_files;
	uint8_t quantum;  /* bytes per unit of pcs */
	bool is_relative; /* addresses are relative to the text */
};

struct go_function {
	uint64_t start, end;       /* link-time addresses */
	uint32_t name;             /* for gopclntab_name */
	uint32_t depths;           /* distance of the stack pointer below its value at entry */
	uint32_t file_ids, lines;  /* tables of values, 0: none */
	uint32_t inline_ids;       /* the same: positions in the inline tree */
	uint32_t unit, start_line; /* start_line 0: unknown */
	uint64_t inline_tree;      /* address; 0: none */
	bool is_outermost;         /* Go's own tracebacks end here (Go 1.17) */
	bool writes_sp;            /* … give up here: the stack is switched inside (Go 1.17) */
};

struct go_inlined {
	uint32_t name, start_line;
	uint64_t call; /* an address that has the file and line of the call */
};

/* Finds the table in an ELF file, by its section or else by its header. f and layout must live
 * until gopclntab_close. -ENODATA: not a Go program; -ENOTSUP: another machine; -EBADMSG:
 * damaged. */
int gopclntab_open(struct gopclntab *t, const struct elf_file *f, const struct elf_layout *layout,
		   struct err *err);
void gopclntab_close(struct gopclntab *t); /* a zeroed one is fine */
/* Returns n if this layout came with Go 1.n: 2, 16, 18 or 20. */
uint32_t gopclntab_since(const struct gopclntab *t);

/* Read the i-th function, or the one that covers an address. Return false if none exists or it is
 * malformed. */
bool gopclntab_function(struct gopclntab *t, uint32_t i, struct go_function *out);
bool gopclntab_find(struct gopclntab *t, uint64_t addr, struct go_function *out);

/* Iterates over a table of values of a function: [from, to) has `value`. */
struct go_values {
	struct gopclntab *t;
	uint64_t at; /* file offset of the next byte not in bytes */
	uint64_t from, to, end;
	int32_t value;
	uint32_t steps;
	uint16_t used, n;
	uint8_t bytes[64];
};
void go_values_begin(struct go_values *v, struct gopclntab *t, const struct go_function *f,
		     uint32_t table);
bool go_values_next(struct go_values *v); /* false at the end, or if the table is malformed */

/* Reads the value at an address; returns false if the table has none for it. */
bool gopclntab_value(struct gopclntab *t, const struct go_function *f, uint32_t table,
		     uint64_t addr, int32_t *value);

/* Reads entry `index` of a function's inline tree; returns false if it is invalid. */
bool gopclntab_inlined(struct gopclntab *t, const struct go_function *f, int32_t index,
		       struct go_inlined *out);

/* gopclntab_name and gopclntab_text write a NUL-terminated text, truncated to size - 1 bytes, and
 * return its length, 0 if none exists. gopclntab_file returns the position of a path in the
 * file, which identifies the path, 0 if none exists. */
size_t gopclntab_name(struct gopclntab *t, uint32_t name, char *text, size_t size);
uint64_t gopclntab_file(struct gopclntab *t, const struct go_function *f, int32_t file_id);
size_t gopclntab_text(struct gopclntab *t, uint64_t at, char *text, size_t size);

/* --- between its files --- */

/* Reads the header at base. Returns false if it is not a header, or its parts do not fit. */
bool go_header_read(struct gopclntab *t);
/* Returns whether the first functions are in code, start where their records say and have names. */
bool go_header_proven(struct gopclntab *t);
/* Reads a little-endian number at a file offset; 0 outside the file. */
uint32_t go_u32(struct gopclntab *t, uint64_t at);

#endif
