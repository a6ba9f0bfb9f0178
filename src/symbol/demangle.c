#include "base/buf.h"
#include "base/mem.h"
#include "symbol/symbol.h"

/* demangle.h needs nothing of libiberty.h, whose macros use what does not compile here. */
#define LIBIBERTY_H
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

/* libiberty limits how deep a name may nest (and we leave that limit on), but not how much time and memory it takes: in all
 * three languages a part of a name can refer back to earlier parts, so 300 characters can stand for 2^60 parts. Whoever names a
 * function in a watched program could stop us with that. So here each language has its own bound besides. */
enum {
	/* Like c++filt --no-verbose: with parameters, std::string short, Rust without its hash. */
	DEMANGLE_FLAGS = DMGL_PARAMS | DMGL_ANSI,
	DEMANGLE_MAX_NAME = 64 << 10,
	DEMANGLE_MAX_RESULT = 64 << 10,
};

struct demangled {
	struct buf text;
	jmp_buf full;
};

/* The library asks nobody whether to go on: the way out is a jump, which leaves nothing behind when all of the library's
 * frames keep their data on the stack. */
static void demangled_add(const char *text, size_t len, void *ctx)
{
	struct demangled *d = ctx;
	if (len > DEMANGLE_MAX_RESULT - d->text.len)
		longjmp(d->full, 1);
	buf_add(&d->text, text, len);
}

/* --- Rust ------------------------------------------------------------------------------------------------------------ */

static bool is_ascii(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] & 0x80)
			return false;
	return true;
}

/* Non-ASCII text is an identifier that the library has decoded on the heap: no jump then. Identifiers are always separated by
 * something in ASCII. */
static void demangled_add_rust(const char *text, size_t len, void *ctx)
{
	struct demangled *d = ctx;
	if (len <= DEMANGLE_MAX_RESULT - d->text.len || is_ascii(text, len))
		demangled_add(text, len, d);
}

static bool is_base62(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* d lives in the caller, so that its contents are defined after the jump. */
static bool rust_print(const char *name, struct demangled *d)
{
	buf_clear(&d->text);
	return setjmp(d->full) == 0 &&
	       rust_demangle_callback(name, DEMANGLE_FLAGS, demangled_add_rust, d);
}

/* In v0 a function type or dyn (F, D) can bind lifetimes: G, their number in base 62, '_'. The library counts up to that number,
 * and silently where the type is not printed. Real ones have one digit at most. What looks like a longer one may also be part
 * of an identifier or of a hash: then the name is as valid with the G replaced by a digit, and else it is not. */
static bool rust_binds_few(const char *name, size_t len, struct demangled *d)
{
	char *copy = xstrndup(name, len);
	size_t digits = 0; /* from here up to a '_' */
	bool number = false, changed = false;
	for (size_t i = len; i-- > 1;) {
		if (name[i] == 'G' && (name[i - 1] == 'F' || name[i - 1] == 'D') && number &&
		    digits > 1) {
			copy[i] = '0';
			changed = true;
		}
		digits = is_base62(name[i]) ? digits + 1 : 0;
		number = name[i] == '_' || (number && digits > 0);
	}
	bool ok = !changed || rust_print(copy, d);
	free(copy);
	return ok;
}

static bool demangle_rust(const char *name, size_t len, struct demangled *d)
{
	return (name[1] != 'R' || rust_binds_few(name, len, d)) && rust_print(name, d);
}

/* --- C++ ------------------------------------------------------------------------------------------------------------- */

enum {
	CXX_MAX_NAME = 4 << 10, /* the parser recurses once for every few characters */
	CXX_MAX_PARTS = 16 << 10,
	CXX_MAX_DEPTH = 1100, /* libiberty prints 1024 deep */
	CXX_MAX_OLD_BACKREFS = 14,
};

/* The parsed name is a graph of components in one block; parts of it that are referred to several times are shared. The
 * library walks it as a tree, and where nothing comes out of that (looking for a parameter pack) we are not asked. */
struct cxx_graph {
	const struct demangle_component *block;
	size_t n;
	uint32_t *parts; /* of each component as a tree, itself included; 0 = not counted yet */
};

static bool cxx_is_leaf(enum demangle_component_type type)
{
	switch (type) {
	case DEMANGLE_COMPONENT_NAME:
	case DEMANGLE_COMPONENT_TEMPLATE_PARAM:
	case DEMANGLE_COMPONENT_FUNCTION_PARAM:
	case DEMANGLE_COMPONENT_SUB_STD:
	case DEMANGLE_COMPONENT_BUILTIN_TYPE:
	case DEMANGLE_COMPONENT_EXTENDED_BUILTIN_TYPE:
	case DEMANGLE_COMPONENT_OPERATOR:
	case DEMANGLE_COMPONENT_CHARACTER:
	case DEMANGLE_COMPONENT_NUMBER:
	case DEMANGLE_COMPONENT_UNNAMED_TYPE:
		return true;
	default:
		return false;
	}
}

/* Components with children keep them in two pointers, but some use one of the two places for a number: what does not point
 * at a component is no child. */
static uint32_t cxx_count(struct cxx_graph *g, const struct demangle_component *c, unsigned depth)
{
	uintptr_t offset = (uintptr_t)c - (uintptr_t)g->block;
	size_t i = offset / sizeof *c;
	if (i >= g->n || offset % sizeof *c != 0)
		return 0;
	if (depth > CXX_MAX_DEPTH)
		return CXX_MAX_PARTS + 1;
	if (g->parts[i])
		return g->parts[i];
	uint32_t sum = g->parts[i] = 1;
	if (!cxx_is_leaf(c->type)) {
		sum += cxx_count(g, c->u.s_binary.left, depth + 1);
		sum += cxx_count(g, c->u.s_binary.right, depth + 1);
	}
	return g->parts[i] = sum <= CXX_MAX_PARTS ? sum : CXX_MAX_PARTS + 1;
}

static bool cxx_print(struct demangle_component *root, struct demangled *d)
{
	return setjmp(d->full) == 0 &&
	       cplus_demangle_print_callback(DEMANGLE_FLAGS, root, demangled_add, d);
}

/* Names of compilers before the ABI had settled on `sr` (g++ up to 4) are only parsed by this entry, which shows no graph. With
 * few references back a walk cannot get long: each doubles it at most. */
static bool cxx_demangle_old(const char *name, struct demangled *d)
{
	unsigned backrefs = 0;
	for (const char *p = name; (p = strchr(p, 'S')); p++)
		backrefs +=
			p[1] == '_' || (p[1] >= '0' && p[1] <= '9') || (p[1] >= 'A' && p[1] <= 'Z');
	return backrefs <= CXX_MAX_OLD_BACKREFS && setjmp(d->full) == 0 &&
	       cplus_demangle_v3_callback(name, DEMANGLE_FLAGS, demangled_add, d);
}

static bool demangle_cxx(const char *name, size_t len, struct demangled *d)
{
	void *block;
	if (len > CXX_MAX_NAME)
		return false;
	struct demangle_component *root =
		cplus_demangle_v3_components(name, DEMANGLE_FLAGS, &block);
	if (!root)
		return cxx_demangle_old(name, d);
	/* libiberty makes room for two components a character. */
	struct cxx_graph g = { block, 2 * len, xcalloc(2 * len, sizeof *g.parts) };
	bool ok = cxx_count(&g, root, 0) <= CXX_MAX_PARTS && cxx_print(root, d);
	free(g.parts);
	free(block);
	return ok;
}

/* --- D --------------------------------------------------------------------------------------------------------------- */

enum {
	/* There is no callback and no limit of depth. With n references back (Q…) the text grows at most by 3^(n/3). */
	D_MAX_NAME = 4 << 10,
	D_MAX_BACKREFS = 24,
};

static char *demangle_d(const char *name, size_t len)
{
	size_t backrefs = 0;
	for (size_t i = 0; i < len; i++)
		backrefs += name[i] == 'Q';
	if (len > D_MAX_NAME || backrefs > D_MAX_BACKREFS)
		return NULL;
	char *text = dlang_demangle(name, DEMANGLE_FLAGS);
	if (text && strlen(text) <= DEMANGLE_MAX_RESULT)
		return text;
	free(text);
	return NULL;
}

char *symbol_demangle(const char *name)
{
	struct demangled d = { 0 };
	if (name[0] != '_' || !name[1] || !strchr("ZRD", name[1]))
		return NULL;
	size_t len = strnlen(name, DEMANGLE_MAX_NAME + 1);
	if (len > DEMANGLE_MAX_NAME)
		return NULL;
	if (name[1] == 'D')
		return demangle_d(name, len);
	/* Rust's legacy names are valid C++ names, too: Rust has to be asked first. */
	bool ok = demangle_rust(name, len, &d);
	if (!ok) {
		buf_clear(&d.text);
		ok = name[1] == 'Z' && demangle_cxx(name, len, &d);
	}
	if (ok && d.text.len > 0)
		return buf_steal(&d.text);
	buf_done(&d.text);
	return NULL;
}
