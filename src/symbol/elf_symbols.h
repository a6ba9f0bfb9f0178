/* symbol/elf_symbols.h: the functions of one ELF object, small: 16 bytes a function, names left where they are.
 *
 * Tables are added one by one, then elf_symbols_finish sorts, keeps one name per address and closes the ends. Which name: global
 * before weak before local, then a typed function before a bare label, then one without leading underscore, then the
 * shortest. A function without size reaches to the next one or to the end of its section; a label without size inside a
 * function is a jump target and no name. Outside of all functions there is no name. */
#ifndef CRESSET_SYMBOL_ELF_SYMBOLS_H
#define CRESSET_SYMBOL_ELF_SYMBOLS_H

#include "base/vec.h"
#include "symbol/elf_file.h"
#include "symbol/elf_layout.h"

enum {
	ELF_MAX_SYMBOLS = 8 << 20, /* in one table; an unstripped libLLVM has 260 000 */
	ELF_MAX_NAME = 64 << 10,   /* longer names are cut */
	ELF_MAX_NAMES = 4 << 20,   /* bytes of a string table that may be held in memory */
	ELF_SIZE_BITS = 27,
	ELF_MAX_FUNCTION = (1 << ELF_SIZE_BITS) - 1, /* a larger size is cut to this */
};

enum elf_binding { ELF_LOCAL, ELF_WEAK, ELF_GLOBAL };

struct elf_symbol {
	uint64_t addr;
	uint32_t name; /* offset in all string tables, laid end to end */
	uint32_t size : ELF_SIZE_BITS;
	uint32_t binding : 2; /* enum elf_binding */
	uint32_t label : 1;   /* NOTYPE: may be a function, in hand-written assembly */
	uint32_t plt : 1;     /* a stub: "@plt" goes behind the name */
	uint32_t nested : 1;  /* a symbol before this one reaches beyond the start of this one */
};

/* One string table. A name is read where it is; once so many were asked for that reading all of it is cheaper, it is held. */
struct elf_names {
	int fd;          /* the owner's; -1: image */
	char *image;     /* owned; NULL: not held */
	uint64_t offset; /* in the file */
	uint32_t base;   /* in the offsets of names */
	uint32_t size;
	uint32_t asked; /* by elf_symbols_name_held */
};

struct elf_symbols { /* zeroed = empty */
	VEC(struct elf_symbol) v;
	VEC(struct elf_names) names;
	uint64_t skipped; /* functions that could not be read */
};

/* A symbol table in a file, by its section or by PT_DYNAMIC. */
struct elf_table {
	uint64_t offset, count;
	uint64_t names_offset, names_size;
};

void elf_symbols_done(struct elf_symbols *s);

/* Registers a string table of f and says where its names begin. -ENOEXEC when it is absurd. An image is copied, a file's
 * descriptor must stay open. */
int elf_symbols_add_names(struct elf_symbols *s, const struct elf_file *f, uint64_t offset,
			  uint64_t size, uint32_t *base, struct err *err);

/* Adds the functions of the table; layout is that of the object that runs (for a debug file: not its own). Returns how many,
 * or -ENOEXEC. */
long elf_symbols_add_table(struct elf_symbols *s, const struct elf_file *f,
			   const struct elf_table *t, const struct elf_layout *layout,
			   struct err *err);

/* Finds the table of a section type (SHT_SYMTAB, SHT_DYNSYM), or the dynamic one of a file without section headers. False:
 * there is none. */
bool elf_table_of_section(const struct elf_file *f, uint32_t type, struct elf_table *t);
bool elf_table_of_dynamic(const struct elf_file *f, const struct elf_layout *layout,
			  struct elf_table *t);

/* What PT_DYNAMIC says, in offsets of the file. */
struct elf_dynamic_tables {
	uint64_t symbols, names, names_size;
	uint64_t gnu_hash; /* 0: there is none */
};
bool elf_dynamic_find(const struct elf_file *f, const struct elf_layout *layout,
		      struct elf_dynamic_tables *out);

/* x86-64: stubs of .plt, .plt.sec and .plt.got, by the GOT entry they jump through and its relocation. */
void elf_symbols_add_plt(struct elf_symbols *s, const struct elf_file *f);

void elf_symbols_finish(struct elf_symbols *s, const struct elf_layout *layout);

/* The innermost function that covers vaddr, or NULL. After elf_symbols_finish. */
const struct elf_symbol *elf_symbols_find(const struct elf_symbols *s, uint64_t vaddr);

/* The name without symbol version, NUL-terminated, cut to size - 1 bytes. Returns its length, 0 when it cannot be read. */
size_t elf_symbols_name(const struct elf_symbols *s, uint32_t name, char *text, size_t size);

/* The same where it lies, until elf_symbols_done. NULL when its table is not held or the name does not lie there like that: then
 * elf_symbols_name has it. */
const char *elf_symbols_name_held(struct elf_symbols *s, uint32_t name);

#endif
