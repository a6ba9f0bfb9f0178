#include "names.h"

#include "words.h"

#include <stdlib.h>
#include <string.h>

struct name {
	const char *s;
	size_t len;
	bool is_module;    /* declared at its level */
	size_t local_in;   /* the last unit that declares it */
	size_t seen_in;    /* the last unit that was looked at and has it */
	size_t count;      /* how often it is written */
	size_t named_in;   /* the last unit that it has a short name in */
	char module_as[8]; /* "": none yet */
	char as[8];
};
/* A statement, or a member of a class: locals are named in each by itself. */
struct unit {
	size_t from, to;
};
struct declared {
	size_t word;
	bool is_module;
};
struct naming {
	word_list words;
	unsigned level;
	VEC(struct name) names;
	VEC(uint32_t) name_of; /* by word; WORDS_NONE */
	VEC(struct unit) units;
	VEC(struct declared) declared;
	bool at_module; /* what is declared now is the module's */
};

static struct name *name_at(const struct naming *n, size_t word)
{
	uint32_t id = n->name_of.v[word];
	return id == WORDS_NONE ? NULL : &n->names.v[id];
}

static uint32_t intern(struct naming *n, const struct js_token *t)
{
	for (size_t i = 0; i < n->names.n; i++)
		if (n->names.v[i].len == t->len && memcmp(n->names.v[i].s, t->s, t->len) == 0)
			return i;
	vec_push(&n->names, (struct name){ .s = t->s, .len = t->len });
	return n->names.n - 1;
}

static bool is(const struct naming *n, size_t i, const char *text)
{
	return i < n->words.n && n->words.v[i].t.kind != JS_STRING && js_is(&n->words.v[i].t, text);
}

/* --- what is declared --- */

static size_t declare_binding(struct naming *n, size_t i);

static void declare(struct naming *n, size_t i)
{
	bool is_outside = i >= n->words.n || n->words.v[i].t.depth < n->level;
	if (!is_outside && n->words.v[i].role != WORD_OTHER)
		vec_push(&n->declared, (struct declared){ i, n->at_module });
}

/* Behind an expression: at the comma, or the bracket or the end behind it. */
static size_t skip_value(const struct naming *n, size_t i)
{
	while (i < n->words.n && !is(n, i, ",") && !is(n, i, ";")) {
		const struct word *w = &n->words.v[i];
		if (w->closes && !w->opens)
			break;
		i = w->opens ? w->pair : i + 1;
		i += w->opens && !n->words.v[i].opens; /* a piece of a template goes on */
	}
	return i;
}

/* a, [b], {c} = …, … up to end. */
static void declare_list(struct naming *n, size_t i, size_t end, bool is_object)
{
	while (i < end) {
		if (is(n, i, ",") || is(n, i, ".")) {
			i++;
			continue;
		}
		if (is_object && n->words.v[i].opens) /* a key that is computed */
			i = n->words.v[i].pair;
		bool has_key = is_object && is(n, i + 1, ":");
		i = declare_binding(n, has_key ? i + 2 : i);
		if (is(n, i, "="))
			i = skip_value(n, i + 1);
	}
}

static size_t declare_binding(struct naming *n, size_t i)
{
	const struct word *w = &n->words.v[i];
	if (i >= n->words.n || !w->opens) {
		declare(n, i);
		return i + 1;
	}
	declare_list(n, i + 1, w->pair, w->is_object);
	return w->pair + 1;
}

/* Behind const, let, var. */
static void declare_variables(struct naming *n, size_t i)
{
	do {
		i = declare_binding(n, i);
		if (is(n, i, "="))
			i = skip_value(n, i + 1);
	} while (is(n, i, ",") && i++ < n->words.n);
}

static bool is_function_head(const struct naming *n, size_t open)
{
	static const char *const others[] = { "if", "for", "while", "switch", "with", NULL };
	size_t behind = n->words.v[open].pair + 1;
	if (is(n, behind, "=>"))
		return true;
	if (!open || !is(n, behind, "{") || n->words.v[behind].is_object)
		return false;
	for (const char *const *word = others; *word; word++)
		if (is(n, open - 1, *word) && !(open > 1 && is(n, open - 2, ".")))
			return false;
	return true;
}

static void look_for_declarations(struct naming *n)
{
	for (size_t i = 0; i < n->words.n; i++) {
		const struct word *w = &n->words.v[i];
		bool is_word = w->t.kind == JS_WORD && !(i && is(n, i - 1, "."));
		n->at_module = is_word && w->t.depth == n->level;
		if (is_word && (is(n, i, "const") || is(n, i, "let") || is(n, i, "var")))
			declare_variables(n, i + 1);
		else if (is_word && (is(n, i, "function") || is(n, i, "class")))
			declare(n, i + 1 + is(n, i + 1, "*"));
		n->at_module = false;
		if (is(n, i, "(") && is_function_head(n, i))
			declare_list(n, i + 1, w->pair, false);
		else if (w->role == WORD_NAME && is(n, i + 1, "=>"))
			declare(n, i);
	}
}

/* --- units --- */

static bool begins_block(const struct naming *n, size_t i)
{
	static const char *const words[] = { "function", "class", "async", "for", "if",
					     "while",    "try",   "else",  NULL };
	for (const char *const *word = words; *word; word++)
		if (is(n, i, *word))
			return true;
	return false;
}

/* Whether word i is where a class at the module's level has its members. */
static bool is_member_level(const struct naming *n, size_t i)
{
	uint32_t around = n->words.v[i].inside;
	return around != WORDS_NONE && n->words.v[around].is_class &&
	       n->words.v[around].t.depth == n->level;
}

static void cut_into_units(struct naming *n)
{
	size_t from = 0;
	bool has_value = false;
	for (size_t i = 0; i < n->words.n; i++) {
		bool member = is_member_level(n, i), top = n->words.v[i].t.depth == n->level;
		has_value |= member && is(n, i, "=");
		bool ends = (top || member) && is(n, i, ";");
		ends |= top && is(n, i, "}") &&
			(begins_block(n, from) || n->words.v[n->words.v[i].pair].is_class);
		ends |= member && is(n, i, "}") && !has_value;
		ends |= top && is(n, i, "{") && n->words.v[i].is_class;
		if (!ends && i + 1 < n->words.n)
			continue;
		vec_push(&n->units, (struct unit){ from, i + 1 });
		from = i + 1;
		has_value = false;
	}
}

/* --- short names --- */

/* The first are of one letter, those behind them of two. */
static void short_name(size_t number, const char *letters, char out[8])
{
	static const char more[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	size_t n = strlen(letters), at = 0;
	out[at++] = letters[number % n];
	for (number /= n; number; number /= sizeof more - 1) {
		number--;
		out[at++] = more[number % (sizeof more - 1)];
	}
	out[at] = 0;
}

static bool is_reserved(const char *s)
{
	static const char *const words[] = { "as",  "do",  "if",  "in",  "of",  "for", "get",
					     "let", "new", "set", "try", "var", NULL };
	for (const char *const *word = words; *word; word++)
		if (strcmp(s, *word) == 0)
			return true;
	return false;
}

static bool has_text(const struct name *name, const char *s)
{
	return strlen(s) == name->len && memcmp(s, name->s, name->len) == 0;
}

/* In a unit a name of a module that is not used there may be taken; in the module none that is anybody's own. */
static bool is_free(const struct naming *n, size_t unit, const char *s)
{
	for (size_t i = 0; i < n->names.n; i++) {
		const struct name *name = &n->names.v[i];
		if (unit && name->seen_in != unit)
			continue;
		if (*name->module_as ? strcmp(name->module_as, s) == 0
				     : (!unit || name->local_in != unit) && has_text(name, s))
			return false;
	}
	return !is_reserved(s);
}

static int by_count(const void *a, const void *b)
{
	const struct name *x = *(struct name *const *)a, *y = *(struct name *const *)b;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void name_module(struct naming *n)
{
	struct name **list = xcalloc(n->names.n + 1, sizeof *list);
	size_t used = 0, number = 0;
	for (size_t i = 0; i < n->names.n; i++)
		if (n->names.v[i].is_module)
			list[used++] = &n->names.v[i];
	qsort(list, used, sizeof *list, by_count);
	for (size_t i = 0; i < used; i++) {
		char s[8];
		do
			short_name(number++, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_", s);
		while (!is_free(n, 0, s));
		memcpy(list[i]->module_as, s, sizeof s);
	}
	free(list);
}

/* In the order in which they come: what is alike is called alike, which packs best. */
static void name_locals(struct naming *n, size_t unit)
{
	const struct unit *u = &n->units.v[unit - 1];
	size_t number = 0;
	for (size_t i = u->from; i < u->to; i++)
		if (name_at(n, i))
			name_at(n, i)->seen_in = unit;
	for (size_t i = u->from; i < u->to; i++) {
		struct name *name = name_at(n, i);
		if (!name || name->local_in != unit || name->named_in == unit)
			continue;
		do
			short_name(number++, "etnriaoscldpumhfgbvyxwkjqz", name->as);
		while (!is_free(n, unit, name->as));
		name->named_in = unit;
	}
}

/* --- the script --- */

static void put_word(const struct naming *n, size_t i, size_t unit, struct buf *out)
{
	const struct word *w = &n->words.v[i];
	const struct name *name = name_at(n, i);
	const char *as = !name                    ? NULL
			 : name->is_module        ? name->module_as
			 : name->local_in == unit ? name->as
						  : NULL;
	if (!as || (name->len == strlen(as) && has_text(name, as))) {
		buf_add(out, w->t.s, w->t.len);
		return;
	}
	if (w->role == WORD_PAIR)
		buf_addf(out, "%.*s:", (int)w->t.len, w->t.s);
	buf_adds(out, as);
}

static void mark_modules(struct naming *n)
{
	for (size_t i = 0; i < n->declared.n; i++)
		if (n->declared.v[i].is_module)
			name_at(n, n->declared.v[i].word)->is_module = true;
}

static void mark_locals(struct naming *n, size_t unit)
{
	const struct unit *u = &n->units.v[unit - 1];
	for (size_t i = 0; i < n->declared.n; i++) {
		size_t word = n->declared.v[i].word;
		if (word >= u->from && word < u->to && !name_at(n, word)->is_module)
			name_at(n, word)->local_in = unit;
	}
}

static void write_all(struct naming *n, const char *text, size_t len, struct buf *out)
{
	const char *at = text;
	for (size_t unit = 1; unit <= n->units.n; unit++) {
		mark_locals(n, unit);
		name_locals(n, unit);
		for (size_t i = n->units.v[unit - 1].from; i < n->units.v[unit - 1].to; i++) {
			buf_add(out, at, n->words.v[i].t.s - at);
			put_word(n, i, unit, out);
			at = n->words.v[i].t.s + n->words.v[i].t.len;
		}
	}
	buf_add(out, at, text + len - at);
}

static void intern_all(struct naming *n)
{
	for (size_t i = 0; i < n->words.n; i++) {
		bool is_name = n->words.v[i].role != WORD_OTHER;
		uint32_t id = is_name ? intern(n, &n->words.v[i].t) : WORDS_NONE;
		vec_push(&n->name_of, id);
		if (is_name)
			n->names.v[id].count++;
	}
}

const char *names_shorten(const char *text, size_t len, unsigned level, struct buf *out)
{
	struct naming n = { .level = level };
	const char *trouble = words_read(text, len, &n.words);
	if (!trouble) {
		intern_all(&n);
		look_for_declarations(&n);
		cut_into_units(&n);
		mark_modules(&n);
		name_module(&n);
		write_all(&n, text, len, out);
	}
	vec_done(&n.words);
	vec_done(&n.names);
	vec_done(&n.name_of);
	vec_done(&n.units);
	vec_done(&n.declared);
	return trouble;
}
