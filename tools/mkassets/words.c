#include "words.h"

#include <string.h>

struct reading {
	struct js js;
	word_list *all;
	uint32_t open; /* the innermost bracket */
	bool is_class; /* its { is still to come */
};

static const struct word *back(const struct reading *r, size_t n)
{
	static const struct word none = { .t = { .kind = JS_END, .s = "", .len = 0 } };
	return n <= r->all->n ? &r->all->v[r->all->n - n] : &none;
}

static bool is_one_of(const struct js_token *t, const char *const *words)
{
	for (; *words; words++)
		if (js_is(t, *words))
			return true;
	return false;
}

/* Also those that mean something in some places only. */
static bool is_keyword(const struct js_token *t)
{
	static const char *const words[] = {
		"arguments", "async",      "await",    "break",    "case",      "catch",
		"class",     "const",      "continue", "debugger", "default",   "delete",
		"do",        "else",       "enum",     "export",   "extends",   "false",
		"finally",   "for",        "function", "get",      "if",        "import",
		"in",        "instanceof", "let",      "new",      "null",      "of",
		"return",    "set",        "static",   "super",    "switch",    "this",
		"throw",     "true",       "try",      "typeof",   "undefined", "var",
		"void",      "while",      "with",     "yield",    NULL
	};
	return is_one_of(t, words);
}

static bool is_modifier(const struct js_token *t)
{
	static const char *const words[] = { "get", "set", "async", "static", "*", NULL };
	return is_one_of(t, words);
}

static bool follows_point(const struct reading *r)
{
	const struct word *a = back(r, 1), *b = back(r, 2);
	bool is_rest = js_is(&b->t, ".") && b->t.s + 1 == a->t.s;
	return js_is(&a->t, ".") && !is_rest;
}

/* --- keys --- */

/* Whether a key may stand behind the tokens before it: where members of an object or a class begin, or behind one's modifiers. */
static bool is_key_place(const struct reading *r)
{
	const struct word *around = r->open == WORDS_NONE ? NULL : &r->all->v[r->open];
	size_t n = 1;
	if (!around || !(around->is_class || around->is_object))
		return false;
	while (n < r->all->n && is_modifier(&back(r, n)->t) && back(r, n)->inside == r->open)
		n++;
	const struct word *before = back(r, n);
	if (before == around)
		return true;
	return around->is_class ? js_is(&before->t, ";") || js_is(&before->t, "}")
				: js_is(&before->t, ",");
}

/* What the last word is, now that the one behind it is known: a key alone stands before these. */
static void settle_key(struct word *w, const struct word *around, const struct js_token *next)
{
	if (around->is_class || js_is(next, ":") || js_is(next, "("))
		w->role = WORD_OTHER;
	else if (js_is(next, ",") || js_is(next, "}") || js_is(next, "="))
		w->role = w->role == WORD_NAME ? WORD_PAIR : WORD_OTHER;
	else
		w->role = WORD_OTHER; /* a modifier */
}

/* --- brackets --- */

static bool opens_template(const struct js_token *t)
{
	return t->kind == JS_TEMPLATE && t->len > 2 && t->s[t->len - 1] == '{';
}

static bool is_sign(const struct js_token *t, const char *signs)
{
	return t->kind == JS_SIGN && t->len == 1 && strchr(signs, *t->s);
}

static void take_brace(struct reading *r, struct word *w)
{
	static const char *const declaring[] = { "const", "let", "var", NULL };
	w->is_class = r->is_class;
	w->is_object = !w->is_class && (is_one_of(&back(r, 1)->t, declaring) ||
					r->js.open[r->js.depth - 1] == JS_PLAIN);
	r->is_class = false;
}

static void take_brackets(struct reading *r, struct word *w)
{
	const struct js_token *t = &w->t;
	w->closes = is_sign(t, ")]}") || (t->kind == JS_TEMPLATE && *t->s == '}');
	w->opens = is_sign(t, "([{") || opens_template(t);
	if (w->closes) {
		w->pair = r->open;
		r->all->v[r->open].pair = r->all->n;
		w->inside = r->open = r->all->v[r->open].inside;
	}
	if (w->opens && js_is(t, "{"))
		take_brace(r, w);
}

static void take(struct reading *r, const struct js_token *t, bool *key)
{
	struct word w = { .t = *t, .inside = r->open, .pair = WORDS_NONE };
	if (*key)
		settle_key(&r->all->v[r->all->n - 1], &r->all->v[r->open], t);
	bool is_name = t->kind == JS_WORD && *t->s != '#' && !follows_point(r);
	*key = t->kind == JS_WORD && is_key_place(r);
	if (is_name && !is_keyword(t))
		w.role = WORD_NAME;
	if (is_name && !*key && js_is(t, "class"))
		r->is_class = true;
	take_brackets(r, &w);
	vec_push(r->all, w);
	if (w.opens)
		r->open = r->all->n - 1;
}

const char *words_read(const char *text, size_t len, word_list *out)
{
	struct reading r = { .all = out, .open = WORDS_NONE };
	struct js_token t;
	bool key = false;
	js_init(&r.js, text, len);
	while (js_next(&r.js, &t))
		if (t.kind != JS_SPACE && t.kind != JS_COMMENT)
			take(&r, &t, &key);
	return r.js.trouble;
}
