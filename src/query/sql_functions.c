/* stack_text(stack) and has_function(stack, 're'). */
#include "base/mem.h"
#include "base/pattern.h"
#include "query/sql_state.h"

#include <string.h>

/* --- stack_text -------------------------------------------------------------------------------- */

/* A ; in a name would look like two. */
static void add_name(struct buf *b, const struct profile *p, uint32_t name)
{
	const char *s = profile_str(p, name);
	size_t from = b->len;

	buf_add(b, s, strtab_len(&p->strings, name));
	for (size_t i = from; i < b->len; i++)
		if (b->data[i] == ';')
			b->data[i] = ':';
}

static void stack_text(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct sql *sql = sqlite3_user_data(ctx);
	uint32_t part, stack;

	(void)argc;
	if (sql_find_parts(sql) != SQLITE_OK) {
		sqlite3_result_error(ctx, sql->failed.text, -1);
		return;
	}
	if (!sql_stack_of(sql, argv[0], &part, &stack))
		return; /* NULL */
	const struct frame_names *names = sql_names(sql, part);
	struct buf *text = &sql->text;
	stack_lines_get(&sql->lines, names, stack);
	buf_clear(text);
	for (size_t i = 0; i < sql->lines.lines.n && text->len <= SQL_MAX_VALUE; i++) {
		uint32_t function = sql->lines.lines.v[i].function;
		if (i)
			buf_addc(text, ';');
		add_name(text, names->dict, names->functions.v[function].name);
	}
	sqlite3_result_text64(ctx, text->len ? text->data : "", text->len, SQLITE_TRANSIENT,
			      SQLITE_UTF8);
}

/* --- has_function ------------------------------------------------------------------------------ */

/* What is known of a function or a stack. */
enum { UNKNOWN, HAS_NOT, HAS };
struct known {
	uint8_t *functions, *stacks; /* NULL until needed */
};
struct matcher {
	regex_t regex;
	uint32_t n_parts;
	struct known *parts;
};

static void matcher_free(void *ctx)
{
	struct matcher *m = ctx;

	for (uint32_t i = 0; i < m->n_parts; i++) {
		free(m->parts[i].functions);
		free(m->parts[i].stacks);
	}
	free(m->parts);
	regfree(&m->regex);
	free(m);
}

static struct matcher *matcher_new(const struct sql *sql, const char *pattern, struct err *err)
{
	struct matcher *m = xcalloc(1, sizeof *m);

	if (pattern_compile(pattern, &m->regex, err)) {
		free(m);
		return NULL;
	}
	m->n_parts = sql->parts.n;
	m->parts = xcalloc(m->n_parts + 1, sizeof *m->parts);
	return m;
}

/* Only the first use of a function runs the expression. */
static bool function_matches(const struct matcher *m, struct known *known,
			     const struct frame_names *names, uint32_t function)
{
	uint8_t *k = &known->functions[function];

	if (*k == UNKNOWN) {
		const char *name = profile_str(names->dict, names->functions.v[function].name);
		*k = regexec(&m->regex, name, 0, NULL, 0) == 0 ? HAS : HAS_NOT;
	}
	return *k == HAS;
}

static bool stack_matches(struct sql *sql, struct matcher *m, uint32_t part, uint32_t stack)
{
	const struct frame_names *names = sql_names(sql, part);
	struct known *known = &m->parts[part];

	if (!known->stacks) {
		known->functions = xcalloc(names->functions.n + 1, 1);
		known->stacks = xcalloc(sql->parts.v[part].n_stacks + 1, 1);
	}
	if (known->stacks[stack] != UNKNOWN)
		return known->stacks[stack] == HAS;
	stack_lines_get(&sql->lines, names, stack);
	uint8_t found = HAS_NOT;
	for (size_t i = 0; i < sql->lines.lines.n && found == HAS_NOT; i++) {
		if (function_matches(m, known, names, sql->lines.lines.v[i].function))
			found = HAS;
		if (i % 64 == 63 && sql_must_stop(sql))
			return false; /* seen by the next look at the clock */
	}
	known->stacks[stack] = found;
	return found == HAS;
}

static void has_function(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct sql *sql = sqlite3_user_data(ctx);
	struct matcher *m = sqlite3_get_auxdata(ctx, 1), *fresh = NULL;
	const char *pattern = (const char *)sqlite3_value_text(argv[1]);
	struct err err = { 0 };
	uint32_t part, stack;

	(void)argc;
	if (!pattern)
		return; /* NULL */
	if (sql_find_parts(sql) != SQLITE_OK) {
		sqlite3_result_error(ctx, sql->failed.text, -1);
		return;
	}
	if (!m)
		m = fresh = matcher_new(sql, pattern, &err);
	if (!m) {
		sqlite3_result_error(ctx, err.text, -1);
		return;
	}
	if (sql_stack_of(sql, argv[0], &part, &stack))
		sqlite3_result_int(ctx, stack_matches(sql, m, part, stack));
	if (fresh) /* SQLite frees it now where the pattern is no constant */
		sqlite3_set_auxdata(ctx, 1, fresh, matcher_free);
}

int sql_functions_register(struct sql *sql)
{
	enum { FLAGS = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY };
	int rc = sqlite3_create_function_v2(sql->db, "stack_text", 1, FLAGS, sql, stack_text, NULL,
					    NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_create_function_v2(sql->db, "has_function", 2, FLAGS, sql,
						has_function, NULL, NULL, NULL);
	return rc;
}
