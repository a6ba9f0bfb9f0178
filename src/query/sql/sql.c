/* Opens an in-memory database with virtual tables, an authorizer and limits. */
#include "query/sql/sql.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/pattern.h"
#include "base/vec.h"
#include "format/table/grid.h"
#include "profile/profile.h"
#include "profile/strtab.h"
#include "query/query.h"
#include "query/sql/sql_state.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

/* --- stack_text(stack) and has_function(stack, 're') --- */

/* A ; in a name would look like two names. */
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

/* Cached result for a function or a stack. */
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

/* Runs the expression only at the first use of a function. */
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
			return false; /* noticed by the next check */
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
	if (fresh) /* SQLite frees it immediately unless the pattern is constant */
		sqlite3_set_auxdata(ctx, 1, fresh, matcher_free);
}

static int sql_functions_register(struct sql *sql)
{
	enum { FLAGS = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY };
	int rc = sqlite3_create_function_v2(sql->db, "stack_text", 1, FLAGS, sql, stack_text, NULL,
					    NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_create_function_v2(sql->db, "has_function", 2, FLAGS, sql,
						has_function, NULL, NULL, NULL);
	return rc;
}

/* --- opening ---------------------------------------------------------------------------------- */

static int set_up(struct sql *sql)
{
	int rc = sqlite3_open_v2(":memory:", &sql->db,
				 SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX,
				 NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(sql->db, "PRAGMA temp_store=MEMORY", NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_drop_modules(sql->db, NULL); /* only our tables */
	if (rc == SQLITE_OK)
		rc = sql_samples_register(sql);
	if (rc == SQLITE_OK)
		rc = sql_metrics_register(sql);
	if (rc == SQLITE_OK)
		rc = sql_tables_register(sql);
	if (rc == SQLITE_OK)
		rc = sql_functions_register(sql);
	if (rc == SQLITE_OK)
		rc = sql_text_register(sql);
	return rc == SQLITE_OK ? sql_guard_set_up(sql) : rc;
}

int sql_open(struct source *source, const struct guard_limits *limits, struct sql **out,
	     struct err *err)
{
	struct sql *sql = xcalloc(1, sizeof *sql);

	sql->source = source;
	sql->limits = *limits;
	int rc = set_up(sql);
	if (rc != SQLITE_OK) {
		err_set(err, EIO, "SQL: cannot set up SQLite: %s", sqlite3_errstr(rc));
		sql_close(sql);
		return -EIO;
	}
	*out = sql;
	return 0;
}

void sql_close(struct sql *sql)
{
	if (!sql)
		return;
	sqlite3_close(sql->db);
	for (size_t i = 0; i < sql->parts.n; i++) {
		frame_names_done(&sql->parts.v[i].names);
		stack_ids_done(&sql->parts.v[i].stack_ids);
	}
	vec_done(&sql->parts);
	stack_lines_done(&sql->lines);
	buf_done(&sql->text);
	buf_done(&sql->forbidden);
	buf_done(&sql->forbidden_word);
	free(sql);
}

/* --- one statement ---------------------------------------------------------------------------- */

/* Skips blanks, comments and characters of `also`. */
static const char *skip_blanks(const char *s, const char *also)
{
	for (;;) {
		size_t n = strspn(s, " \t\r\n\f");
		const char *end;

		if (s[0] == '-' && s[1] == '-')
			n = strcspn(s, "\n");
		else if (s[0] == '/' && s[1] == '*')
			n = (end = strstr(s + 2, "*/")) ? (size_t)(end + 2 - s) : strlen(s);
		else if (*s && strchr(also, *s))
			n = 1;
		if (!n)
			return s;
		s += n;
	}
}

static bool is_word(const char *s, const char *word)
{
	size_t n = strlen(word);
	return strncasecmp(s, word, n) == 0 && !isalnum((unsigned char)s[n]) && s[n] != '_';
}

static int check_text(struct sql *sql, const char *text, struct err *err)
{
	const char *first = skip_blanks(text, ";");
	struct sql_growth growth;

	if (strlen(text) > SQL_MAX_TEXT)
		return err_set(err, E2BIG, "SQL: the statement is longer than %d bytes",
			       SQL_MAX_TEXT);
	if (!*first)
		return err_set(err, EINVAL, "SQL: empty statement");
	if (!is_word(first, "SELECT") && !is_word(first, "WITH") && !is_word(first, "VALUES"))
		return column_error(err, "SQL", text, first,
				    "only SELECT, WITH ... SELECT and VALUES are allowed");
	sql_growth_of(text, &growth);
	if (growth.copies > SQL_MAX_EXPANSION)
		return err_set(err, E2BIG, "SQL: the parts of WITH use each other too many times");
	sql_guard_merge_subqueries(sql, growth.columns <= SQL_MAX_EXPANSION);
	return 0;
}

/* Returns the position of the refused word: its first occurrence. */
static const char *find_word(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (const char *s = text; n && *s; s++)
		if (strncasecmp(s, word, n) == 0)
			return s;
	return skip_blanks(text, ";");
}

static int prepare_error(struct sql *sql, const char *text, struct err *err)
{
	int at = sqlite3_error_offset(sql->db);
	const char *words = sqlite3_errmsg(sql->db);

	if (sql->failed.code) {
		*err = sql->failed;
		return -err->code;
	}
	if (sql->forbidden.len)
		return column_error(err, "SQL", text,
				    find_word(text, buf_cstr(&sql->forbidden_word)),
				    buf_cstr(&sql->forbidden));
	if (at >= 0 && (size_t)at <= strlen(text))
		return column_error(err, "SQL", text, text + at, words);
	return err_set(err, EINVAL, "SQL: %s", words);
}

static int prepare(struct sql *sql, const char *text, sqlite3_stmt **out, struct err *err)
{
	const char *tail;

	if (sqlite3_prepare_v3(sql->db, text, -1, 0, out, &tail) != SQLITE_OK)
		return prepare_error(sql, text, err);
	tail = skip_blanks(tail, ";");
	if (!*tail && *out && sqlite3_stmt_readonly(*out) && !sqlite3_stmt_isexplain(*out))
		return 0;
	sqlite3_finalize(*out);
	return column_error(err, "SQL", text, tail, "one statement at a time");
}

static int step_error(struct sql *sql, struct err *err)
{
	if (sql->failed.code) {
		*err = sql->failed;
		return -err->code;
	}
	bool is_big = (sqlite3_errcode(sql->db) & 0xff) == SQLITE_TOOBIG;
	return err_set(err, is_big ? E2BIG : EINVAL, "SQL: %s", sqlite3_errmsg(sql->db));
}

static struct cell cell_of(sqlite3_stmt *stmt, int column)
{
	struct cell c = { .kind = CELL_NULL };

	switch (sqlite3_column_type(stmt, column)) {
	case SQLITE_INTEGER:
		c.kind = CELL_INTEGER;
		c.integer = sqlite3_column_int64(stmt, column);
		break;
	case SQLITE_FLOAT:
		c.kind = CELL_REAL;
		c.real = sqlite3_column_double(stmt, column);
		break;
	case SQLITE_TEXT:
		c.kind = CELL_TEXT;
		c.data = (const char *)sqlite3_column_text(stmt, column);
		break;
	case SQLITE_BLOB:
		c.kind = CELL_BLOB;
		c.data = sqlite3_column_blob(stmt, column);
		break;
	}
	if (c.kind == CELL_TEXT || c.kind == CELL_BLOB)
		c.len = sqlite3_column_bytes(stmt, column);
	return c;
}

static int give_columns(sqlite3_stmt *stmt, const struct sql_answer *answer, struct err *err)
{
	const char *names[SQL_MAX_COLUMNS];
	int n = sqlite3_column_count(stmt);

	for (int i = 0; i < n; i++)
		names[i] = sqlite3_column_name(stmt, i);
	return answer->columns(answer->ctx, names, n, err);
}

static int give_row(sqlite3_stmt *stmt, const struct sql_answer *answer, struct err *err)
{
	struct cell cells[SQL_MAX_COLUMNS];
	int n = sqlite3_column_count(stmt);

	for (int i = 0; i < n; i++)
		cells[i] = cell_of(stmt, i);
	return answer->row(answer->ctx, cells, n, err);
}

static int give_rows(struct sql *sql, sqlite3_stmt *stmt, const struct sql_answer *answer,
		     struct err *err)
{
	uint64_t rows = 0;
	int step, rc = 0;

	while (rc == 0 && (step = sqlite3_step(stmt)) == SQLITE_ROW) {
		rc = guard_rows(&sql->guard, ++rows, err);
		if (rc == 0)
			rc = give_row(stmt, answer, err);
	}
	if (rc == 0 && step != SQLITE_DONE)
		rc = step_error(sql, err);
	return rc;
}

static int run_checked(struct sql *sql, const char *text, const struct sql_answer *answer,
		       struct err *err)
{
	sqlite3_stmt *stmt = NULL;
	int rc = prepare(sql, text, &stmt, err);

	if (rc)
		return rc;
	rc = give_columns(stmt, answer, err);
	if (rc == 0)
		rc = give_rows(sql, stmt, answer, err);
	sqlite3_finalize(stmt);
	return rc;
}

int sql_run(struct sql *sql, const char *text, const struct sql_answer *answer, struct err *err)
{
	struct err local = { 0 };

	err = err ? err : &local;
	sql_guard_begin(sql);
	int rc = check_text(sql, text, err);
	if (rc == 0)
		rc = run_checked(sql, text, answer, err);
	sql_guard_end(sql);
	link_table_done(&sql->links);
	sql->links = (struct link_table){ 0 };
	return rc;
}
