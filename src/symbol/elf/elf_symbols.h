/* symbol/elf/elf_symbols.h: the functions of one ELF object in compact form: 16 bytes per function,
 * names stay in the file.
 *
 * Tables are added one by one, then elf_symbols_finish sorts, retains one name per address and sets
 * missing sizes. Names are preferred in this order: global, weak, local; then a typed function
 * over a bare label, then one without leading underscore, then the shortest. A function without
 * size reaches to the next one or to the end of its section, but in a table of exported functions
 * only it has one byte, its own address; a label without size inside a
 * function is a jump target and not a name. Addresses outside all functions have no name. */
#ifndef CRESSET_SYMBOL_ELF_ELF_SYMBOLS_H
#define CRESSET_SYMBOL_ELF_ELF_SYMBOLS_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct elf_file;
struct elf_layout;
struct err;

enum {
	/* limit: an ELF file's symbols; an unstripped libLLVM has 260 000 */
	ELF_MAX_SYMBOLS = 8 << 20,
	ELF_MAX_NAME = 64 << 10, /* longer names are truncated */
	ELF_MAX_NAMES = 4 << 20, /* bytes of a string table that may be held in memory */
	ELF_SIZE_BITS = 27,
	ELF_MAX_FUNCTION = (1 << ELF_SIZE_BITS) - 1, /* larger sizes are limited to this */
};

enum elf_binding { ELF_LOCAL, ELF_WEAK, ELF_GLOBAL };

struct elf_symbol {
	uint64_t addr;
	uint32_t name; /* offset in the concatenation of all string tables */
	uint32_t size : ELF_SIZE_BITS;
	uint32_t binding : 2; /* enum elf_binding */
	uint32_t label : 1;   /* NOTYPE: may be a function, in hand-written assembly */
	uint32_t plt : 1;     /* a stub: "@plt" is appended to the name */
	uint32_t nested : 1;  /* an earlier symbol extends past the start of this one */
};

/* One string table. Names are read from the file; once so many were read that loading the whole
 * table is cheaper, it is held in memory. */
struct elf_names {
	int fd;          /* the owner's; -1: image */
	char *image;     /* owned; NULL: not held */
	uint64_t offset; /* in the file */
	uint32_t base;   /* start in the concatenated tables */
	uint32_t size;
	uint32_t asked; /* number of names read by elf_symbols_name_held */
};

/* A further name at an address. */
struct elf_alias {
	uint64_t addr;
	uint32_t name;
};

struct elf_symbols { /* zeroed = empty */
	VEC(struct elf_symbol) v;
	VEC(struct elf_alias) aliases; /* by address */
	VEC(struct elf_names) names;
	uint64_t skipped; /* functions that could not be read */
	bool is_partial;  /* exported functions only: the code behind one may be that of others */
};

/* A symbol table in a file, by its section or by PT_DYNAMIC. */
struct elf_table {
	uint64_t offset, count;
	uint64_t names_offset, names_size;
};

void elf_symbols_done(struct elf_symbols *s);

/* Registers a string table of f and sets *base to the start of its names. -ENOEXEC if it is
 * invalid. An image is copied; a file's descriptor must stay open. */
int elf_symbols_add_names(struct elf_symbols *s, const struct elf_file *f, uint64_t offset,
			  uint64_t size, uint32_t *base, struct err *err);

/* Reads the string tables up to ELF_MAX_NAMES into memory, for callers that need most names. */
void elf_symbols_hold_names(struct elf_symbols *s);

/* Adds the functions of the table. layout: of the running object (for a debug file: not its own).
 * Returns their number, or -ENOEXEC. */
long elf_symbols_add_table(struct elf_symbols *s, const struct elf_file *f,
			   const struct elf_table *t, const struct elf_layout *layout,
			   struct err *err);

/* Find the table of a section type (SHT_SYMTAB, SHT_DYNSYM), or the dynamic one of a file without
 * section headers. Return false if none exists. */
bool elf_table_of_section(const struct elf_file *f, uint32_t type, struct elf_table *t);
bool elf_table_of_dynamic(const struct elf_file *f, const struct elf_layout *layout,
			  struct elf_table *t);

/* The tables in PT_DYNAMIC, as file offsets. */
struct elf_dynamic_tables {
	uint64_t symbols, names, names_size;
	uint64_t gnu_hash; /* 0: none */
};
bool elf_dynamic_find(const struct elf_file *f, const struct elf_layout *layout,
		      struct elf_dynamic_tables *out);

/* x86-64: adds the stubs of .plt, .plt.sec and .plt.got, by the GOT entry they jump through and its
 * relocation. */
void elf_symbols_add_plt(struct elf_symbols *s, const struct elf_file *f);

void elf_symbols_finish(struct elf_symbols *s, const struct elf_layout *layout);

/* Returns the innermost function that covers vaddr, or NULL. Call after elf_symbols_finish. */
const struct elf_symbol *elf_symbols_find(const struct elf_symbols *s, uint64_t vaddr);

/* Returns the name to show: v has any of the names of an address, unless they are held. */
uint32_t elf_symbols_best_name(const struct elf_symbols *s, const struct elf_symbol *sym);

/* Reads the name without symbol version, NUL-terminated, truncated to size - 1 bytes. Returns its
 * length, 0 if it cannot be read. */
size_t elf_symbols_name(const struct elf_symbols *s, uint32_t name, char *text, size_t size);

/* Returns the name in place, valid until elf_symbols_done; NULL if its table is not held or the
 * name is not there in this form: use elf_symbols_name then. */
const char *elf_symbols_name_held(struct elf_symbols *s, uint32_t name);

#endif
