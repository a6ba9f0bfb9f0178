/* symbol/elf_tls.h: how one finds a thread-local variable that an ELF file exports, in a process that has it loaded. x86-64 only.
 *
 * The file's value of the symbol is where the variable is in the block of its module. Of the program itself the blocks of all threads lie
 * right below the thread pointer. Where those of a library lie is decided when it is loaded, and written by the dynamic linker into the words
 * that the library's own code finds its variable by ("ELF Handling For Thread-Local Storage", U. Drepper; TLSDESC: A. Oliva):
 *
 *     ELF_TLS_OFFSET       { i64 offset from the thread pointer }          initial-exec
 *     ELF_TLS_MODULE       { u64 module, u64 offset in its block }         general-dynamic
 *     ELF_TLS_DESCRIPTOR   { u64 function, u64 argument }                  TLSDESC: an offset as the first, or the address of two words
 *                                                                          as the second */
#ifndef CRESSET_SYMBOL_ELF_TLS_H
#define CRESSET_SYMBOL_ELF_TLS_H

#include "symbol/elf_file.h"

enum elf_tls_words { ELF_TLS_NO_WORDS = 0, ELF_TLS_OFFSET, ELF_TLS_MODULE, ELF_TLS_DESCRIPTOR };

struct elf_tls {
	uint64_t value;
	int64_t program_offset; /* from the thread pointer, if the file is the program */
	enum elf_tls_words words;
	uint64_t words_at; /* an address of the file's */
	/* Address minus offset of its code: where a mapping of code is tells where the file was loaded. */
	uint64_t code_skew;
};

/* A variable of 8 bytes. -ENODATA: it is not in the dynamic symbol table (of a static program: in any). */
int elf_tls_find(const struct elf_file *f, const char *name, struct elf_tls *out);

/* Whether it is a program that asks for musl's dynamic linker. */
bool elf_is_musl(const struct elf_file *f);

#endif
