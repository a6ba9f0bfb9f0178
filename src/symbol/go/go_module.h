/* symbol/go/go_module.h: the runtime's moduledata, which has what the table of functions
 * (gopclntab.h) lacks since Go 1.18: the start of the text, and that of inline trees, `go:func.*`.
 *
 *     words  0  header of the table     7  paths
 *            1  names                  20  first and last address of functions
 *            4  units                  22  start of the text
 *            …                          g  go:func.*
 *                                     g+1  since Go 1.26: the end of the table
 *                                       …  slice of text sections: address, length, capacity
 *
 * g is 38 up to Go 1.19, 40 up to 1.26, and 43 in 1.27; the table's header is the same in the last
 * two. So `go:func.*` is used only if all of this agrees: the release in .go.buildinfo, where there
 * is one; the words after g; and the inline trees that it leads to. Without it the program has no
 * inlined functions.
 *
 * Sources: src/runtime/symtab.go and src/debug/buildinfo/buildinfo.go of Go 1.19, 1.26 and 1.27. */
#ifndef CRESSET_SYMBOL_GO_GO_MODULE_H
#define CRESSET_SYMBOL_GO_GO_MODULE_H

#include "symbol/go/gopclntab.h"

/* Finds moduledata and sets the table's text and inline_base. Returns false if there is none. */
bool go_module_read(struct gopclntab *t, const struct elf_file *f);

/* Calls on_word for each aligned word of [offset, offset + size) until it returns true. The bytes
 * read by all searches of a table are limited. */
bool go_search_words(struct gopclntab *t, uint64_t offset, uint64_t size,
		     bool (*on_word)(void *ctx, uint64_t word, uint64_t at), void *ctx);

#endif
