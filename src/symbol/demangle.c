/* symbol_demangle: names of C++, Rust and D.
 *
 * libiberty limits the nesting of a name (that limit stays on), but not its time and memory: in
 * all three languages a part of a name can refer back to earlier parts or be parsed in several
 * ways, so 300 characters can cause 2^60 steps, with or without output. A function's name in a
 * watched program could block us this way. So each language has limits here that are checked
 * before the library runs.
 *
 * Each demangle_X returns whether name (of len bytes, with the language's prefix) is a name of
 * this language; d->text is then the demangled name. */
#include "base/buf.h"
#include "base/mem.h"
#include "symbol/cxx_newer.h"
#include "symbol/symbol.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

/* demangle.h does not need libiberty.h, whose macros use functions banned here. */
#define LIBIBERTY_H
#include <libiberty/demangle.h>
#include <setjmp.h>

enum {
	/* Like c++filt --no-verbose: with parameters, std::string short, Rust without its hash. */
	DEMANGLE_FLAGS = DMGL_PARAMS | DMGL_ANSI,
	DEMANGLE_MAX_NAME = 64 << 10,
	/* limit: bytes of a demangled name */
	DEMANGLE_MAX_RESULT = 64 << 10,
};

/* A name being demangled. The library is called as
 *
 *     buf_clear(&d->text);
 *     ok = setjmp(d->full) == 0 && library(name, DEMANGLE_FLAGS, demangled_add, d);
 *
 * in a function that does not own d, so that d's contents are defined after longjmp. */
struct demangled {
	struct buf text;
	jmp_buf full;
};

/* The library's callback: appends text, or jumps out when it gets too long. The library offers no
 * other way to stop it; the jump leaks nothing if the library retains its data on the stack. */
static void demangled_add(const char *text, size_t len, void *demangled)
{
	struct demangled *d = demangled;
	if (len > DEMANGLE_MAX_RESULT - d->text.len)
		longjmp(d->full, 1);
	buf_add(&d->text, text, len);
}

/* --- Rust ------------------------------------------------------------------------------------- */

static bool is_ascii(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] & 0x80)
			return false;
	return true;
}

/* Non-ASCII text is an identifier that the library decoded on the heap, so do not jump then.
 * Identifiers are always separated by ASCII text. */
static void rust_add(const char *text, size_t len, void *demangled)
{
	struct demangled *d = demangled;
	if (len <= DEMANGLE_MAX_RESULT - d->text.len || is_ascii(text, len))
		demangled_add(text, len, d);
}

static bool rust_print(const char *name, struct demangled *d)
{
	buf_clear(&d->text);
	return setjmp(d->full) == 0 && rust_demangle_callback(name, DEMANGLE_FLAGS, rust_add, d);
}

/* In v0 a function type or dyn (F, D) can bind lifetimes: G, their number in base 62, '_'. The
 * library counts up to that number, without output if the type is not printed. Real ones have at
 * most one digit. A longer one may also be part of an identifier or of a hash: then the name stays
 * valid if the G is replaced by a digit; otherwise it does not. */
static bool rust_binds_few(const char *name, size_t len, struct demangled *d)
{
	char *copy = xstrndup(name, len);
	size_t digits = 0;   /* in a row, from here on */
	bool number = false; /* they end in '_' */
	bool changed = false;
	for (size_t i = len; i-- > 1;) {
		bool binder = name[i] == 'G' && (name[i - 1] == 'F' || name[i - 1] == 'D');
		if (binder && number && digits > 1) {
			copy[i] = '0';
			changed = true;
		}
		digits = isalnum((unsigned char)name[i]) ? digits + 1 : 0;
		number = name[i] == '_' || (number && digits > 0);
	}
	bool ok = !changed || rust_print(copy, d);
	free(copy);
	return ok;
}

/* Legacy names end in a hash, "17h" and 16 digits; without it the name is a C++ name, as nearly all
 * are. */
static bool demangle_rust(const char *name, size_t len, struct demangled *d)
{
	if (name[1] != 'R' && !strstr(name, "17h"))
		return false;
	return (name[1] != 'R' || rust_binds_few(name, len, d)) && rust_print(name, d);
}

/* --- D ---------------------------------------------------------------------------------------- */

/* The library's D parser (dlang_demangle; grammar: dlang.org/spec/abi.html, "Name Mangling") has no
 * callback, no depth limit, and backtracks where the grammar is ambiguous:
 *
 * - after an identifier it tries to parse a function's parameters, then, if that fails, something
 *   else;
 * - it tries a symbol in template arguments that starts with a number of n digits n + 1 times;
 * - it reads a type Q… again at its first position; with q of them the text grows at most by
 *   3^(q/3), about 2^(q/2).
 *
 * Each of these at most doubles (the second: multiplies) the work, so they are counted here,
 * conservatively, wherever they may occur. Of the 16 571 names in the D libraries of GCC 12, 98 %
 * are below the limit. */
enum {
	D_MAX_NAME = 1 << 10,
	D_MAX_DOUBLINGS = 8,
};

/* Returns the number at p, or D_MAX_NAME if it is larger; *end is past its digits. */
static size_t d_number(const char *p, const char **end)
{
	size_t n = 0;
	for (; isdigit((unsigned char)*p); p++)
		if (n < D_MAX_NAME)
			n = 10 * n + (*p - '0');
	*end = p;
	return n < D_MAX_NAME ? n : D_MAX_NAME;
}

/* Returns the distance of the back reference at p ("Q", letters in base 26, the last in lower
 * case), 0 if it is none. */
static size_t d_backref(const char *p, const char **end)
{
	size_t n = 0;
	for (p++; isupper((unsigned char)*p); p++)
		if (n < D_MAX_NAME)
			n = 26 * n + (*p - 'A');
	*end = p + 1;
	return islower((unsigned char)*p) ? 26 * n + (*p - 'a') : 0;
}

/* Returns where an identifier that starts at p may end: a length and its characters, a back
 * reference to one, or the Z of a template's arguments. NULL: none starts here. */
static const char *d_identifier_end(const char *name, size_t len, const char *p)
{
	const char *end;
	if (*p == 'Z')
		return p + 1;
	if (isdigit((unsigned char)*p)) {
		size_t n = d_number(p, &end);
		return n <= (size_t)(name + len - end) ? end + n : NULL;
	}
	if (*p == 'Q') {
		size_t distance = d_backref(p, &end);
		bool found = distance && distance <= (size_t)(p - name);
		return found && isdigit((unsigned char)p[-(ptrdiff_t)distance]) ? end : NULL;
	}
	return NULL;
}

static unsigned d_doublings(const char *name, size_t len)
{
	bool ambiguous[D_MAX_NAME + 1] = { false };
	unsigned symbols = 0, types = 0, ends = 0;
	for (const char *p = name; p < name + len; p++) {
		const char *end = d_identifier_end(name, len, p);
		if (end && *end && strchr("MFUVWRY", *end)) /* parameters may start there */
			ambiguous[end - name] = true;
		if (*p == 'Q' && !end)
			types++;
		if (*p == 'S' && isdigit((unsigned char)p[1]))
			symbols += isdigit((unsigned char)p[2]) ? 2 : 1;
	}
	for (size_t i = 0; i < len; i++)
		ends += ambiguous[i];
	return ends + symbols + (types + 1) / 2;
}

static bool demangle_d(const char *name, size_t len, struct demangled *d)
{
	if (len > D_MAX_NAME || d_doublings(name, len) > D_MAX_DOUBLINGS)
		return false;
	char *text = dlang_demangle(name, DEMANGLE_FLAGS);
	bool ok = text && strlen(text) <= DEMANGLE_MAX_RESULT;
	if (ok)
		buf_adds(&d->text, text);
	free(text);
	return ok;
}

/* --- C++ -------------------------------------------------------------------------------------- */

enum {
	CXX_MAX_NAME = 4 << 10, /* the parser recurses once every few characters */
	CXX_MAX_PARTS = 16 << 10,
	CXX_MAX_DEPTH = 1100, /* libiberty prints 1024 deep */
	CXX_MAX_OLD_BACKREFS = 14,
};

/* The parsed name is a graph of components in one block; parts that are referred to several times
 * are shared. The library walks it as a tree, and without output (searching for a parameter pack)
 * it does not call our callback. */
struct cxx_graph {
	const struct demangle_component *block;
	size_t n;
	uint32_t *parts; /* of each component as a tree, including itself; 0 = not counted */
};

static bool component_is_leaf(const struct demangle_component *c)
{
	switch (c->type) {
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

/* Components that are not leaves keep their children in two pointers, but some use one of them for
 * a number: a value that does not point at a component is no child. */
static uint32_t graph_count(struct cxx_graph *g, const struct demangle_component *c, unsigned depth)
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
	if (!component_is_leaf(c)) {
		sum += graph_count(g, c->u.s_binary.left, depth + 1);
		sum += graph_count(g, c->u.s_binary.right, depth + 1);
	}
	return g->parts[i] = sum <= CXX_MAX_PARTS ? sum : CXX_MAX_PARTS + 1;
}

static bool graph_print(struct demangle_component *root, struct demangled *d)
{
	buf_clear(&d->text);
	return setjmp(d->full) == 0 &&
	       cplus_demangle_print_callback(DEMANGLE_FLAGS, root, demangled_add, d);
}

/* Names by compilers before the ABI settled on `sr` (g++ up to 4) are only parsed by this function,
 * which exposes no graph. With few back references a walk stays short: each at most doubles it. */
static bool demangle_old(const char *name, struct demangled *d)
{
	unsigned backrefs = 0;
	for (const char *p = name; (p = strchr(p, 'S')); p++)
		backrefs +=
			p[1] == '_' || (p[1] >= '0' && p[1] <= '9') || (p[1] >= 'A' && p[1] <= 'Z');
	buf_clear(&d->text);
	return backrefs <= CXX_MAX_OLD_BACKREFS && setjmp(d->full) == 0 &&
	       cplus_demangle_v3_callback(name, DEMANGLE_FLAGS, demangled_add, d);
}

/* flags: without DMGL_PARAMS only the name is read, whatever its parameters are. */
static bool demangle_known(const char *name, size_t len, int flags, struct demangled *d)
{
	void *block;
	if (len > CXX_MAX_NAME)
		return false;
	struct demangle_component *root = cplus_demangle_v3_components(name, flags, &block);
	if (!root)
		return flags & DMGL_PARAMS && demangle_old(name, d);
	/* libiberty allocates two components per character. */
	struct cxx_graph g = { block, 2 * len, xcalloc(2 * len, sizeof *g.parts) };
	bool ok = graph_count(&g, root, 0) <= CXX_MAX_PARTS && graph_print(root, d);
	free(g.parts);
	free(block);
	return ok;
}

/* Prints a type as the argument of a template. */
static bool type_print(void *ctx, const char *mangled, size_t len, struct buf *out)
{
	struct demangled *d = ctx;
	char *name = xasprintf("_Z1xI%.*sEvv", (int)len, mangled);
	bool ok = demangle_known(name, strlen(name), DEMANGLE_FLAGS, d);
	const char *text = ok ? buf_cstr(&d->text) : "";
	const char *from = strchr(text, '<'), *to = strrchr(text, '>');
	ok = from && to > from;
	if (ok)
		buf_add(out, from + 1, to - from - 1);
	free(name);
	return ok;
}

/* "NAME<...>" of the longest part of the name that is known. */
static bool demangle_cut(const char *name, size_t len, struct demangled *d)
{
	struct buf cut = { 0 };
	const char *none = NULL; /* the parameters; const, & may follow */
	bool ok = false;
	for (unsigned i = 0; !ok && cxx_newer_cut(name, len, i, &cut); i++) {
		ok = demangle_known(buf_cstr(&cut), cut.len, DEMANGLE_FLAGS, d);
		buf_clear(&cut);
	}
	buf_done(&cut);
	for (size_t at = ok ? d->text.len : 0; at >= 2 && !none; at--)
		none = memcmp(d->text.data + at - 2, "()", 2) ? NULL : d->text.data + at - 2;
	if (!none)
		return false;
	d->text.len = none - d->text.data;
	buf_adds(&d->text, "<...>");
	return true;
}

/* What libiberty does not know yet: rewritten; without parameters; without template arguments. */
static bool demangle_newer(const char *name, size_t len, struct demangled *d)
{
	struct buf newer = { 0 };
	bool ok = false;
	if (len <= CXX_MAX_NAME && cxx_newer_rewrite(name, len, type_print, d, &newer)) {
		const char *text = buf_cstr(&newer);
		ok = demangle_known(text, newer.len, DEMANGLE_FLAGS, d) ||
		     demangle_known(text, newer.len, DEMANGLE_FLAGS & ~DMGL_PARAMS, d) ||
		     demangle_cut(text, newer.len, d);
	}
	buf_done(&newer);
	return ok;
}

static bool demangle_cxx(const char *name, size_t len, struct demangled *d)
{
	return demangle_known(name, len, DEMANGLE_FLAGS, d) || demangle_newer(name, len, d);
}

/* --- all -------------------------------------------------------------------------------------- */

char *symbol_demangle(const char *name)
{
	struct demangled d = { 0 };
	bool ok = false;
	if (name[0] != '_' || !name[1] || !strchr("ZRD", name[1]))
		return NULL;
	size_t len = strnlen(name, DEMANGLE_MAX_NAME + 1);
	if (len > DEMANGLE_MAX_NAME)
		return NULL;
	switch (name[1]) {
	case 'R':
		ok = demangle_rust(name, len, &d);
		break;
	case 'Z': /* Rust's legacy names are valid C++ names, too */
		ok = demangle_rust(name, len, &d) || demangle_cxx(name, len, &d);
		break;
	case 'D':
		ok = demangle_d(name, len, &d);
		break;
	}
	if (ok && d.text.len > 0)
		return buf_steal(&d.text);
	buf_done(&d.text);
	return NULL;
}
