/* symbol/gopclntab.h: the table of functions and lines that every Go program carries for its own tracebacks, stripped or not.
 *
 *     header      magic, pointer size, count of functions, and from Go 1.16 on where the parts are
 *     functab     { entry, offset of the function's record } by entry, and the end of the last function
 *     records     name, tables of values (stack depth, file, line, position in the inline tree), and from Go 1.20 on the first line
 *     values      steps { zigzag difference of the value, difference of the pc }, both varints; a difference of 0 ends them
 *     inline tree entries { name, pc of the call }, one tree for each function that had others inlined into it
 *
 * Layouts are told apart by the magic: those of Go 1.2, 1.16, 1.18 and 1.20. From Go 1.18 on addresses are relative to the start of
 * the text and inline trees to `go:func.*`: both stand in the runtime's moduledata, found as the place that points to
 * this table. Inline trees are read of programs of Go 1.13 and later.
 *
 * Sources: src/runtime/symtab.go and src/cmd/link/internal/ld/pcln.go of Go 1.14, 1.16, 1.19 and 1.26; golang.org/s/go12symtab. */
#ifndef CRESSET_SYMBOL_GOPCLNTAB_H
#define CRESSET_SYMBOL_GOPCLNTAB_H

#include "symbol/elf_layout.h"
#include "symbol/file_pages.h"

enum {
	GO_MAX_FUNCTIONS = 8 << 20, /* terraform has 102 000 */
	GO_MAX_SEARCH = 1 << 30,    /* bytes read to find the table and moduledata */
	GO_MAX_STEPS = 1 << 20,     /* read of one table of values for one address */
	GO_MAX_NAME = 16 << 10,     /* longer names are cut */
};

struct go_layout;
struct gopclntab {
	struct file_pages pages;
	const struct elf_layout *layout; /* the caller's */
	const struct go_layout *kind;
	uint64_t base, end;   /* of the table, file offsets */
	uint64_t vaddr;       /* of the table */
	uint64_t text;        /* what entries are relative to */
	uint64_t inline_base; /* what inline trees are relative to; 0: not known */
	uint64_t names, units, files, values, functab; /* file offsets of the parts */
	uint64_t searched;                             /* bytes */
	uint32_t n_functions, n_files;
	uint8_t quantum; /* bytes that pcs are counted in */
};

struct go_function {
	uint64_t start, end;       /* addresses as linked */
	uint32_t name;             /* for gopclntab_name */
	uint32_t depths;           /* how far the stack pointer is below its place at entry */
	uint32_t file_ids, lines;  /* tables of values, 0: none */
	uint32_t inline_ids;       /* the same: places in the inline tree */
	uint32_t unit, start_line; /* start_line 0: not known */
	uint64_t inline_tree;      /* address; 0: none */
	bool is_outermost;         /* Go's own tracebacks end here (Go 1.17) */
	bool writes_sp;            /* … give up here: the stack is switched inside (Go 1.17) */
};

struct go_inlined {
	uint32_t name, start_line;
	uint64_t call; /* an address with the file and line of the call */
};

/* Finds the table in an ELF file, by its section or, in files without, by its header. f and layout must stay until
 * gopclntab_close. -ENODATA: no Go program; -ENOTSUP: of another machine; -EBADMSG: damaged. */
int gopclntab_open(struct gopclntab *t, const struct elf_file *f, const struct elf_layout *layout,
		   struct err *err);
void gopclntab_close(struct gopclntab *t); /* of a zeroed one is fine */

/* The i-th function, or the one that covers an address. False: there is none, or it is malformed. */
bool gopclntab_function(struct gopclntab *t, uint32_t i, struct go_function *out);
bool gopclntab_find(struct gopclntab *t, uint64_t addr, struct go_function *out);

/* Runs over a table of values of a function: [from, to) has `value`. */
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
bool go_values_next(struct go_values *v); /* false at the end, or where the table is malformed */

/* The value at an address; false when the table has none for it. */
bool gopclntab_value(struct gopclntab *t, const struct go_function *f, uint32_t table,
		     uint64_t addr, int32_t *value);

/* Entry `index` of a function's inline tree; false when it cannot be one. */
bool gopclntab_inlined(struct gopclntab *t, const struct go_function *f, int32_t index,
		       struct go_inlined *out);

/* NUL-terminated, cut to size - 1 bytes. The length, 0 when there is none. gopclntab_file: the path's place in the file, which
 * tells paths apart, 0 when there is none. */
size_t gopclntab_name(struct gopclntab *t, uint32_t name, char *text, size_t size);
uint64_t gopclntab_file(struct gopclntab *t, const struct go_function *f, int32_t file_id);
size_t gopclntab_text(struct gopclntab *t, uint64_t at, char *text, size_t size);

#endif
