/* symbol/demangle.h: the languages behind symbol_demangle, one file each.
 *
 * libiberty limits how deep a name may nest (and that limit stays on), but not how much time and memory it takes: in all three
 * languages a part of a name can refer back to earlier parts or be tried in several ways, so 300 characters can stand for 2^60
 * steps, with or without a letter coming out. Whoever names a function in a watched program could stop us with that. So each
 * file here bounds its language before it lets the library go. */
#ifndef CRESSET_SYMBOL_DEMANGLE_H
#define CRESSET_SYMBOL_DEMANGLE_H

#include "base/buf.h"

/* demangle.h needs nothing of libiberty.h, whose macros use what does not compile here. */
#define LIBIBERTY_H
#include <libiberty/demangle.h>
#include <setjmp.h>

enum {
	/* Like c++filt --no-verbose: with parameters, std::string short, Rust without its hash. */
	DEMANGLE_FLAGS = DMGL_PARAMS | DMGL_ANSI,
	DEMANGLE_MAX_NAME = 64 << 10,
	DEMANGLE_MAX_RESULT = 64 << 10,
};

/* A name in the making. Whoever calls the library does it as
 *
 *     buf_clear(&d->text); ok = setjmp(d->full) == 0 && library(name, DEMANGLE_FLAGS, demangled_add, d)
 *
 * in a function that does not own d, so that d's contents are defined after the jump. */
struct demangled {
	struct buf text;
	jmp_buf full;
};

/* The library's callback: appends, or jumps out when the text gets too long. The library asks nobody whether to go on, so
 * there is no other way out; it leaves nothing behind where the library keeps its data on the stack. */
void demangled_add(const char *text, size_t len, void *demangled);

/* Each says whether name (of len bytes, with the language's prefix) was such a name; d->text is then what it means. */
bool demangle_rust(const char *name, size_t len, struct demangled *d);
bool demangle_cxx(const char *name, size_t len, struct demangled *d);
bool demangle_d(const char *name, size_t len, struct demangled *d);

#endif
