/* symbol/elf/elf_tls.h: locates a thread-local variable that an ELF file exports, in a process that
 * has loaded the file. x86-64 only.
 *
 * The symbol's value in the file is the offset of the variable in the block of its module. For the
 * program itself, the blocks of all threads are right below the thread pointer. The blocks of a
 * library are placed when it is loaded, and the dynamic linker writes their position to the words
 * through which the library's own code finds the variable ("ELF Handling For Thread-Local
 * Storage", U. Drepper; TLSDESC: A. Oliva):
 *
 *     ELF_TLS_OFFSET       { i64 offset from the thread pointer }          initial-exec
 *     ELF_TLS_MODULE       { u64 module, u64 offset in its block }         general-dynamic
 *     ELF_TLS_DESCRIPTOR   { u64 function, u64 argument } TLSDESC: an offset as the first, or the
 *                          address of two words as the second */
#ifndef CRESSET_SYMBOL_ELF_ELF_TLS_H
#define CRESSET_SYMBOL_ELF_ELF_TLS_H

#include <stdbool.h>
#include <stdint.h>

struct elf_file;

enum elf_tls_words { ELF_TLS_NO_WORDS = 0, ELF_TLS_OFFSET, ELF_TLS_MODULE, ELF_TLS_DESCRIPTOR };

struct elf_tls {
	uint64_t value;
	int64_t program_offset; /* from the thread pointer, if the file is the program */
	enum elf_tls_words words;
	uint64_t words_at; /* an address in the file */
	/* Address minus file offset of its code: converts the address of a code mapping to the load
	 * address. */
	uint64_t code_skew;
};

/* Finds a variable of 8 bytes. -ENODATA: not in the dynamic symbol table (for a static program: not
 * in any symbol table). */
int elf_tls_find(const struct elf_file *f, const char *name, struct elf_tls *out);

/* Whether it is a program that uses musl's dynamic linker. */
bool elf_is_musl(const struct elf_file *f);

#endif
