#include "symbol/cxx_newer.h"

#include "base/buf.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

/* --- tokens ----------------------------------------------------------------------------------- */

/* A walk over a name, token by token: enough of the grammar to tell marks from identifiers. Open
 * ones are retained, as a number may follow only the E that ends a lambda's parameters. */
enum { MAX_OPEN = 64 };
struct tokens {
	const char *p, *end; /* what is left */
	char open[MAX_OPEN];
	unsigned n_open;
	const char *token;
	size_t len;
};

static size_t span(const struct tokens *t, size_t from, const char *accept)
{
	size_t n = from, left = t->end - t->p;
	while (n < left && strchr(accept, t->p[n]))
		n++;
	return n;
}

static char at(const struct tokens *t, size_t i)
{
	return i < (size_t)(t->end - t->p) ? t->p[i] : '\0';
}

#define DIGITS   "0123456789"
#define SEQUENCE "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* "S1_", "T_", "TL0__", "fp0_", "Ut_", "A10_" after `from` characters; else `or_else`. */
static size_t numbered(const struct tokens *t, size_t from, const char *accept, size_t or_else)
{
	size_t n = span(t, from, accept);
	return at(t, n) == '_' ? n + 1 : or_else;
}

static size_t identifier(const struct tokens *t)
{
	size_t digits = span(t, 0, DIGITS), left = t->end - t->p, n = 0;
	for (size_t i = 0; i < digits && n <= left; i++)
		n = 10 * n + (t->p[i] - '0');
	return n && n <= left - digits ? digits + n : digits;
}

/* "Lm0E", "Lin3E", "Lb1E": literals of builtin types. */
static size_t literal(const struct tokens *t)
{
	size_t n = span(t, at(t, 2) == 'n' ? 3 : 2, DIGITS);
	return islower((unsigned char)at(t, 1)) && at(t, n) == 'E' ? n + 1 : 1;
}

static size_t closed(struct tokens *t)
{
	char opened = t->n_open ? t->open[--t->n_open] : '\0';
	return opened == 'l' ? numbered(t, 1, DIGITS, 1) : 1;
}

static void open_with(struct tokens *t, char c)
{
	if (t->n_open < MAX_OPEN)
		t->open[t->n_open++] = c;
}

static size_t token_length(struct tokens *t)
{
	char c = at(t, 0), next = at(t, 1);
	if (isdigit((unsigned char)c))
		return identifier(t);
	switch (c) {
	case 'E':
		return closed(t);
	case 'S':
		return numbered(t, 1, SEQUENCE, next ? 2 : 1);
	case 'T':
		return next == 'L' ? numbered(t, numbered(t, 2, DIGITS, 2), DIGITS, 2)
				   : numbered(t, 1, DIGITS, 1);
	case 'A':
	case '_':
		return numbered(t, 1, DIGITS, c == '_' ? span(t, 1, DIGITS) : 1);
	case 'U':
		if (next == 'l')
			open_with(t, 'l');
		return next == 't' ? numbered(t, 2, DIGITS, 2) : 2;
	case 'D':
		if (next == 'T' || next == 't')
			open_with(t, 'D');
		return next ? 2 : 1;
	case 'f':
		return next == 'p' ? numbered(t, 2, DIGITS, 1) : 1;
	case 'L':
		if (literal(t) > 1)
			return literal(t);
		/* fall through */
	case 'N':
	case 'I':
	case 'J':
	case 'X':
	case 'F':
	case 'Z':
		open_with(t, c);
		return 1;
	default:
		return 1;
	}
}

static bool next_token(struct tokens *t)
{
	t->p = t->token ? t->token + t->len : t->p;
	t->token = t->p;
	if (t->p >= t->end)
		return false;
	t->len = token_length(t);
	if (t->len > (size_t)(t->end - t->p))
		t->len = t->end - t->p;
	return true;
}

static struct tokens tokens_of(const char *p, size_t len)
{
	return (struct tokens){ .p = p, .end = p + len };
}

/* Whether the current token begins this text. */
static bool is_at(const struct tokens *t, const char *text)
{
	size_t n = strlen(text);
	return (size_t)(t->end - t->token) >= n && memcmp(t->token, text, n) == 0;
}

static void skip(struct tokens *t, size_t len)
{
	t->len = len;
}

/* --- reflections ------------------------------------------------------------------------------ */

enum { REFLECTION = 5 }; /* "LDm" and two letters for its kind */

/* Returns the length of what a reflection reflects, up to its E. */
static size_t reflected_length(const char *p, size_t len)
{
	struct tokens t = tokens_of(p, len);
	for (unsigned open = 0; next_token(&t); open = t.n_open)
		if (*t.token == 'E' && open == 0)
			break;
	return t.token - p;
}

/* "NS::v" of all identifiers. */
static void add_identifiers(const char *p, size_t len, struct buf *out)
{
	struct tokens t = tokens_of(p, len);
	const char *between = "";
	while (next_token(&t)) {
		size_t digits = strspn(t.token, DIGITS);
		bool is_std = is_at(&t, "St");
		if (!is_std && (!isdigit((unsigned char)*t.token) || digits >= t.len))
			continue;
		buf_adds(out, between);
		if (is_std)
			buf_adds(out, "std");
		else
			buf_add(out, t.token + digits, t.len - digits);
		between = "::";
	}
}

/* Returns the length of the whole reflection, 0 if it is damaged. */
static size_t add_reflection(const char *p, size_t left,
			     bool (*type)(void *ctx, const char *mangled, size_t len,
					  struct buf *out),
			     void *ctx, struct buf *out)
{
	struct buf text = { 0 };
	size_t len = left > REFLECTION ? reflected_length(p + REFLECTION, left - REFLECTION) : 0;
	if (!len || REFLECTION + len >= left)
		return 0;
	buf_adds(&text, "^^");
	if (memcmp(p + 3, "ty", 2) != 0 || !type(ctx, p + REFLECTION, len, &text))
		add_identifiers(p + REFLECTION, len, &text);
	buf_addf(out, "u%zu", text.len);
	buf_add(out, text.data, text.len);
	buf_done(&text);
	return REFLECTION + len + 1;
}

/* --- names ------------------------------------------------------------------------------------ */

/* Returns the length of "TnDa", "Tni": a declaration whose type is one token. */
static size_t declaration(const struct tokens *t)
{
	const char *p = t->token + 2;
	if (t->end - t->token < 4)
		return 0;
	if (*p == 'D' && (p[1] == 'a' || p[1] == 'c'))
		return 4;
	return islower((unsigned char)*p) ? 3 : 0;
}

/* Whether a substitution by number follows: "S_", "S0_". */
static bool has_numbered(const char *p, size_t len)
{
	struct tokens t = tokens_of(p, len);
	while (next_token(&t))
		if (*t.token == 'S' && t.token[t.len - 1] == '_')
			return true;
	return false;
}

/* Returns the length of "TkSt8integral", "TkNS_1CE", "TkSt7same_asIiE", or 0 if without it the
 * numbers of substitutions were others. */
static size_t concept_length(const struct tokens *at)
{
	struct tokens t = tokens_of(at->token + 2, at->end - at->token - 2);
	unsigned names = 0;
	do {
		if (!next_token(&t))
			return 0;
		names += isdigit((unsigned char)*t.token) || *t.token == 'I';
	} while (t.n_open || is_at(&t, "St"));
	const char *end = t.token + t.len;
	bool has_arguments = end < t.end && *end == 'I';
	while (has_arguments) {
		if (!next_token(&t))
			return 0;
		names = 2;
		end = t.token + t.len;
		has_arguments = t.n_open;
	}
	return names > 1 && has_numbered(end, t.end - end) ? 0 : (size_t)(end - at->token);
}

/* Returns the length of a declaration of a template parameter in front of its argument, 0 if it
 * stays. A lambda's declarations belong to its type. */
static size_t parameter(const struct tokens *t)
{
	if (is_at(t, "Tn"))
		return declaration(t);
	if (t->n_open && t->open[t->n_open - 1] == 'l')
		return 0;
	return is_at(t, "Tk") ? concept_length(t) : is_at(t, "Tp") || is_at(t, "Ty") ? 2 : 0;
}

static bool is_newer_token(const struct tokens *t)
{
	return is_at(t, "Dy") || is_at(t, "Tk") || is_at(t, "Tt") ||
	       (*t->token == 'Q' && t->len == 1);
}

bool cxx_newer_rewrite(const char *name, size_t len,
		       bool (*type)(void *ctx, const char *mangled, size_t len, struct buf *out),
		       void *ctx, struct buf *out)
{
	struct tokens t = tokens_of(name + 2, len - 2);
	struct buf made = { 0 };
	bool is_newer = false;
	buf_adds(&made, "_Z");
	while (next_token(&t)) {
		size_t drop = is_at(&t, "NH") ? 2 : parameter(&t);
		if (is_at(&t, "NH"))
			buf_addc(&made, 'N');
		else if (is_at(&t, "LDm"))
			drop = add_reflection(t.token, t.end - t.token, type, ctx, &made);
		is_newer |= drop || is_newer_token(&t);
		if (is_at(&t, "LDm") && drop)
			t.n_open--; /* its E is skipped */
		if (drop)
			skip(&t, drop);
		else
			buf_add(&made, t.token, t.len);
	}
	if (is_newer)
		buf_add(out, made.data, made.len);
	buf_done(&made);
	return is_newer;
}

bool cxx_newer_cut(const char *name, size_t len, unsigned i, struct buf *out)
{
	enum { MAX_LISTS = 64 };
	struct tokens t = tokens_of(name + 2, len - 2);
	size_t lists[MAX_LISTS];
	unsigned n = 0;
	while (next_token(&t) && n < MAX_LISTS) {
		bool is_nested = name[2] == 'N';
		if (*t.token == 'I' && t.len == 1 && t.n_open == 1u + is_nested)
			lists[n++] = t.token - name;
	}
	if (i >= n)
		return false;
	buf_add(out, name, lists[n - 1 - i]);
	buf_adds(out, name[2] == 'N' ? "Ev" : "v");
	return true;
}
