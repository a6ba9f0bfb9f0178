/* symbol/elf/elf_find.h: finds one symbol of an ELF file by name, without reading whole tables if
 * the file has a hash table. */
#ifndef CRESSET_SYMBOL_ELF_ELF_FIND_H
#define CRESSET_SYMBOL_ELF_ELF_FIND_H

#include <gelf.h>
#include <stdbool.h>

struct elf_file;

/* Limit for searching string tables; in larger ones names are found only by hash. */
enum { ELF_FIND_MAX_NAMES = 32 << 20, ELF_FIND_MAX_NAME = 128 };

/* Finds a defined symbol of the dynamic table, by DT_GNU_HASH or else by a linear search. Returns
 * false if the file has no such symbol or cannot be read. */
bool elf_find_dynamic(const struct elf_file *f, const char *name, GElf_Sym *out);

/* Does the same for .symtab, by a linear search. */
bool elf_find_static(const struct elf_file *f, const char *name, GElf_Sym *out);

#endif
