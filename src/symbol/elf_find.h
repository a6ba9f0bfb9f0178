/* symbol/elf_find.h: one symbol of an ELF file by its name, without reading its tables where the file has a hash table of them. */
#ifndef CRESSET_SYMBOL_ELF_FIND_H
#define CRESSET_SYMBOL_ELF_FIND_H

#include "symbol/elf_file.h"

#include <gelf.h>

/* What of a string table is searched for a name: larger ones have it only by their hash. */
enum { ELF_FIND_MAX_NAMES = 32 << 20, ELF_FIND_MAX_NAME = 128 };

/* A defined symbol of the dynamic table, by DT_GNU_HASH; by reading it through where there is none. False: the file has no such symbol, or
 * cannot be read. */
bool elf_find_dynamic(const struct elf_file *f, const char *name, GElf_Sym *out);

/* The same of .symtab, which is read through. */
bool elf_find_static(const struct elf_file *f, const char *name, GElf_Sym *out);

#endif
