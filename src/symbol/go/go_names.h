/* symbol/go/go_names.h: names and lines of a Go program, from its gopclntab. */
#ifndef CRESSET_SYMBOL_GO_GO_NAMES_H
#define CRESSET_SYMBOL_GO_GO_NAMES_H

#include "symbol/go/gopclntab.h"
#include "symbol/name_cache.h"

struct err;
struct symbol;
struct symbol_line;

struct go_names { /* zeroed = not a Go program: finds nothing */
	struct gopclntab table;
	struct name_cache texts; /* names and paths by their position in the file */
	uint64_t skipped;        /* names and entries of inline trees that could not be read */
};

/* Returns as gopclntab_open. */
int go_names_open(struct go_names *g, const struct elf_file *f, const struct elf_layout *layout,
		  struct err *err);
void go_names_close(struct go_names *g);

/* Finds the function at a link-time address; out->start is one as well. The name of a generic
 * function's instance is as Go prints it, `main.Map[...]`; linkage has the types if the table has
 * them. */
bool go_names_lookup(struct go_names *g, uint64_t addr, struct symbol *out);

/* See symbol_lines. */
uint32_t go_names_lines(struct go_names *g, uint64_t addr, struct symbol_line *out, uint32_t max);

#endif
