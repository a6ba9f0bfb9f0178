#include "base/buf.h"
#include "base/mem.h"
#include "symbol/symbol.h"

/* demangle.h needs nothing of libiberty.h, whose macros use what does not compile here. */
#define LIBIBERTY_H
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

enum {
	/* Like c++filt --no-verbose: with parameters, std::string short, Rust without its hash. */
	DEMANGLE_FLAGS = DMGL_PARAMS | DMGL_ANSI,
	DEMANGLE_MAX_NAME = 64 << 10,
	DEMANGLE_MAX_RESULT = 1 << 20,
	/* D: the library has neither a recursion limit nor a way to stop it, and a back reference (Q…) may repeat all that came
	 * before. With n of them the text grows at most by 3^(n/3), so these two bound it to some 27 MB. */
	DEMANGLE_MAX_D_NAME = 4 << 10,
	DEMANGLE_MAX_D_BACKREFS = 24,
};

struct demangled {
	struct buf text;
	jmp_buf full;
};

/* Back references can double a name at every step, and the library asks nobody whether to go on: the way out is a jump. It
 * leaves nothing behind, as the callback forms of the demanglers keep everything on the stack. */
static void demangled_add(const char *text, size_t len, void *ctx)
{
	struct demangled *d = ctx;
	if (len > DEMANGLE_MAX_RESULT - d->text.len)
		longjmp(d->full, 1);
	buf_add(&d->text, text, len);
}

typedef int demangler(const char *name, int flags, demangle_callbackref add, void *ctx);

/* True and the text in d when it is such a name; false and d empty otherwise. d lives in the caller, so that its contents
 * are defined after the jump. */
static bool demangle_by(struct demangled *d, demangler *demangle, const char *name)
{
	buf_clear(&d->text);
	if (setjmp(d->full) == 0 && demangle(name, DEMANGLE_FLAGS, demangled_add, d) &&
	    d->text.len > 0)
		return true;
	buf_clear(&d->text);
	return false;
}

/* Rust's legacy names are valid C++ names, too: Rust has to be asked first. */
static char *demangle_rust_or_cxx(const char *name)
{
	struct demangled d = { 0 };
	if (demangle_by(&d, rust_demangle_callback, name) ||
	    demangle_by(&d, cplus_demangle_v3_callback, name))
		return buf_steal(&d.text);
	buf_done(&d.text);
	return NULL;
}

static char *demangle_d(const char *name, size_t len)
{
	size_t backrefs = 0;
	for (size_t i = 0; i < len; i++)
		backrefs += name[i] == 'Q';
	if (len > DEMANGLE_MAX_D_NAME || backrefs > DEMANGLE_MAX_D_BACKREFS)
		return NULL;
	char *text = dlang_demangle(name, DEMANGLE_FLAGS);
	if (text && strlen(text) <= DEMANGLE_MAX_RESULT)
		return text;
	free(text);
	return NULL;
}

char *symbol_demangle(const char *name)
{
	if (name[0] != '_')
		return NULL;
	size_t len = strnlen(name, DEMANGLE_MAX_NAME + 1);
	if (len > DEMANGLE_MAX_NAME)
		return NULL;
	if (name[1] == 'D')
		return demangle_d(name, len);
	if (name[1] == 'Z' || name[1] == 'R' || strncmp(name, "_GLOBAL_", 8) == 0)
		return demangle_rust_or_cxx(name);
	return NULL;
}
