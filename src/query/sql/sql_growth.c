/* Estimates how a statement grows while SQLite prepares it, which cannot be interrupted: each use
 * of a WITH becomes a copy of its text, and each use of a subquery's column is replaced by its
 * expression. Both multiply from level to level, so both are bounded here before SQLite sees the
 * text. This is not a parser: it only sees words, parentheses, and which of these start with
 * SELECT. */
#include "base/buf.h"
#include "base/hash.h"
#include "base/vec.h"
#include "profile/strtab.h"
#include "query/sql/sql_state.h"

#include <ctype.h>
#include <string.h>

enum { MAX_LEVELS = 100 }; /* deeper ones are refused by SQLite's parser, too */

struct token {
	uint32_t word; /* in lower case; 0: a sign */
	char sign;
	uint32_t open; /* of a ): the token of its ( */
};

/* A SELECT without those nested in it: the whole statement, or one in parentheses. */
struct group {
	uint64_t words, unions;
	uint64_t copies, columns; /* once known */
	enum { NEW, OPEN, KNOWN } state;
	uint32_t first_use; /* in scan.uses once these are sorted */
};
struct use {
	uint32_t by, of; /* groups */
};
struct named {
	uint32_t by, word; /* a word in a group that may be the name of a WITH */
};

struct scan {
	struct strtab words;
	uint32_t as, materialized, not, select, with, values, union_;
	VEC(struct token) tokens;
	VEC(struct group) groups;
	VEC(struct named) named;
	VEC(struct use) uses;
	struct map bodies; /* word → the group that a WITH gives this name */
};

/* --- words ------------------------------------------------------------------------------------ */

static bool is_word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* Returns the end of a comment at s, or s if none exists. */
static const char *skip_comment(const char *s)
{
	if (s[0] == '-' && s[1] == '-')
		return s + strcspn(s, "\n");
	if (s[0] == '/' && s[1] == '*') {
		const char *end = strstr(s + 2, "*/");
		return end ? end + 2 : s + strlen(s);
	}
	return s;
}

/* Reads a quoted word: SQLite accepts strings as names as well. A doubled quote is one. */
static const char *read_quoted(const char *s, struct buf *word)
{
	char end = *s == '[' ? ']' : *s;

	for (s++; *s; s++) {
		if (*s == end && (end == ']' || s[1] != end))
			return s + 1;
		s += *s == end;
		buf_addc(word, tolower((unsigned char)*s));
	}
	return s;
}

static const char *read_word(const char *s, struct buf *word)
{
	if (strchr("'\"`[", *s))
		return read_quoted(s, word);
	while (is_word_char(*s))
		buf_addc(word, tolower((unsigned char)*s++));
	return s;
}

static void read_tokens(struct scan *scan, const char *s)
{
	struct buf word = { 0 };

	while (*s) {
		const char *end = skip_comment(s);
		buf_clear(&word);
		if (end > s || isspace((unsigned char)*s)) {
			s = end > s ? end : s + 1;
		} else if (is_word_char(*s) || strchr("'\"`[", *s)) {
			s = read_word(s, &word);
			uint32_t id = strtab_putn(&scan->words, word.data, word.len);
			vec_push(&scan->tokens, (struct token){ .word = id, .sign = 'a' });
		} else {
			vec_push(&scan->tokens, (struct token){ .sign = *s++ });
		}
	}
	buf_done(&word);
}

/* --- groups ----------------------------------------------------------------------------------- */

static uint32_t word_at(const struct scan *scan, size_t i)
{
	return i < scan->tokens.n ? scan->tokens.v[i].word : 0;
}

/* Returns the name's word of "name AS (" or "name (a, b) AS NOT MATERIALIZED (", or 0 if the ( at
 * token i is neither. */
static uint32_t body_name(const struct scan *scan, size_t i)
{
	if (i && word_at(scan, i - 1) == scan->materialized) {
		i--;
		i -= i && word_at(scan, i - 1) == scan->not ;
	}
	if (i < 2 || word_at(scan, i - 1) != scan->as)
		return 0;
	i -= 2;
	if (scan->tokens.v[i].sign == ')')
		i = scan->tokens.v[i].open - 1; /* wraps if nothing is before it */
	return word_at(scan, i);
}

/* Adds a group for the ( at token i. One named by a WITH counts at each use of the name, others
 * where they stand. */
static uint32_t add_group(struct scan *scan, size_t i, uint32_t around)
{
	uint32_t id = scan->groups.n, name = body_name(scan, i);
	uint32_t *body = name ? map_get(&scan->bodies, name) : NULL;

	vec_push(&scan->groups, (struct group){ 0 });
	if (name && !body)
		map_put(&scan->bodies, name, id);
	else /* if several have one name, the first stands for all */
		vec_push(&scan->uses, (struct use){ body ? *body : around, id });
	return id;
}

static void find_groups(struct scan *scan)
{
	VEC(struct use) open = { 0 }; /* by: the group around the (, of: its token */
	uint32_t group = 0;

	vec_push(&scan->groups, (struct group){ 0 });
	for (size_t i = 0; i < scan->tokens.n; i++) {
		struct token *t = &scan->tokens.v[i];
		uint32_t next = word_at(scan, i + 1);
		if (t->sign == '(') {
			vec_push(&open, (struct use){ group, i });
			if (next &&
			    (next == scan->select || next == scan->with || next == scan->values))
				group = add_group(scan, i, group);
		} else if (t->sign == ')' && open.n) {
			group = open.v[--open.n].by;
			t->open = open.v[open.n].of;
		} else if (t->sign == 'a') {
			scan->groups.v[group].words++;
			scan->groups.v[group].unions += t->word == scan->union_;
			vec_push(&scan->named, (struct named){ group, t->word });
		}
	}
	vec_done(&open);
}

static int use_order(const void *a, const void *b)
{
	const struct use *x = a, *y = b;
	return (x->by > y->by) - (x->by < y->by);
}

static void find_uses(struct scan *scan)
{
	for (size_t i = 0; i < scan->named.n; i++) {
		uint32_t *body = map_get(&scan->bodies, scan->named.v[i].word);
		if (body)
			vec_push(&scan->uses, (struct use){ scan->named.v[i].by, *body });
	}
	if (scan->uses.n)
		qsort(scan->uses.v, scan->uses.n, sizeof *scan->uses.v, use_order);
	for (size_t i = scan->uses.n; i--;)
		scan->groups.v[scan->uses.v[i].by].first_use = i;
}

/* --- growth ----------------------------------------------------------------------------------- */

enum { ENDLESS = 1 << 30 };

static uint64_t times(uint64_t a, uint64_t b)
{
	return a * b < ENDLESS ? a * b : ENDLESS; /* both are at most that */
}

static void grow(struct scan *scan, uint32_t id, int level)
{
	struct group *g = &scan->groups.v[id];
	uint64_t copies = g->words, inner = 0, arms = 1;

	g->state = OPEN;
	g->copies = g->columns = level < MAX_LEVELS ? 0 : ENDLESS;
	for (size_t i = g->first_use;
	     level < MAX_LEVELS && i < scan->uses.n && scan->uses.v[i].by == id; i++) {
		struct group *of = &scan->groups.v[scan->uses.v[i].of];
		if (of->state == NEW)
			grow(scan, scan->uses.v[i].of, level + 1);
		copies += of->copies; /* nothing for one that uses itself */
		inner += of->columns;
		arms = times(arms, 1 + of->unions);
	}
	g->state = KNOWN;
	if (level == MAX_LEVELS)
		return;
	g->copies = copies < ENDLESS ? copies : ENDLESS;
	inner = inner < ENDLESS ? inner : ENDLESS;
	g->columns = times(times(g->words, inner ? inner : 1), arms);
}

static void scan_init(struct scan *scan)
{
	strtab_init(&scan->words);
	scan->as = strtab_put(&scan->words, "as");
	scan->materialized = strtab_put(&scan->words, "materialized");
	scan->not = strtab_put(&scan->words, "not");
	scan->select = strtab_put(&scan->words, "select");
	scan->with = strtab_put(&scan->words, "with");
	scan->values = strtab_put(&scan->words, "values");
	scan->union_ = strtab_put(&scan->words, "union");
}

void sql_growth_of(const char *text, struct sql_growth *out)
{
	struct scan scan = { 0 };

	scan_init(&scan);
	read_tokens(&scan, text);
	find_groups(&scan);
	find_uses(&scan);
	grow(&scan, 0, 0);
	*out = (struct sql_growth){ scan.groups.v[0].copies, scan.groups.v[0].columns };
	strtab_done(&scan.words);
	vec_done(&scan.tokens);
	vec_done(&scan.groups);
	vec_done(&scan.named);
	vec_done(&scan.uses);
	map_done(&scan.bodies);
}
