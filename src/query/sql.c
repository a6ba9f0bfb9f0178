#include "query/sql_state.h"

#include "base/mem.h"
#include "query/column_error.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

/* --- dictionaries ------------------------------------------------------------------------------ */

static void add_part(struct sql *sql, struct profile *dict)
{
	struct sql_part part = { .dict = dict, .n_stacks = dict->stacks.stacks.n };

	if (sql_part_of(sql, dict) == UINT32_MAX)
		vec_push(&sql->parts, part);
}

/* A merge of everything: it has each dictionary once, in an order that stays, and its names. */
static int find_parts(struct sql *sql)
{
	struct source *source = sql->source;
	uint32_t n = source->ops->catalog(source)->series.series.n;
	bool *wanted = xmalloc(n + 1);
	struct source_merged merged = { 0 };
	int64_t from_ns, to_ns;

	memset(wanted, true, n + 1);
	source->ops->range(source, &from_ns, &to_ns);
	to_ns += to_ns < INT64_MAX; /* the last moment, too */
	int rc = source->ops->merge(source, wanted, from_ns, to_ns, &merged, &sql->failed);
	free(wanted);
	if (rc)
		return rc;
	for (size_t i = 0; i < merged.n; i++)
		add_part(sql, merged.parts[i].dict);
	source_merged_done(&merged);
	return 0;
}

int sql_find_parts(struct sql *sql)
{
	if (sql->has_parts)
		return SQLITE_OK;
	if (find_parts(sql)) {
		sql_must_stop(sql); /* of a limit: says which */
		return SQLITE_ERROR;
	}
	sql->has_parts = true;
	return SQLITE_OK;
}

uint32_t sql_part_of(const struct sql *sql, const struct profile *dict)
{
	for (uint32_t i = 0; i < sql->parts.n; i++)
		if (sql->parts.v[i].dict == dict)
			return i;
	return UINT32_MAX;
}

const struct frame_names *sql_names(struct sql *sql, uint32_t part)
{
	struct sql_part *p = &sql->parts.v[part];

	if (!p->has_names)
		frame_names_init(&p->names, p->dict);
	p->has_names = true;
	return &p->names;
}

bool sql_stack_of(const struct sql *sql, sqlite3_value *value, uint32_t *part, uint32_t *stack)
{
	int64_t id = sqlite3_value_int64(value);

	if (sqlite3_value_type(value) != SQLITE_INTEGER || id < 0 ||
	    (uint64_t)id >> 32 >= sql->parts.n)
		return false;
	*part = (uint64_t)id >> 32;
	*stack = (uint32_t)id;
	return *stack < sql->parts.v[*part].n_stacks;
}

/* --- opening ----------------------------------------------------------------------------------- */

static int set_up(struct sql *sql)
{
	int rc = sqlite3_open_v2(":memory:", &sql->db,
				 SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX,
				 NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(sql->db, "PRAGMA temp_store=MEMORY", NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_drop_modules(sql->db, NULL); /* no tables but ours */
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

/* --- one statement ----------------------------------------------------------------------------- */

/* What is not blank, comment or one of `also` from s on. */
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
		return err_set(err, EINVAL, "SQL: there is no statement");
	if (!is_word(first, "SELECT") && !is_word(first, "WITH") && !is_word(first, "VALUES"))
		return column_error(err, "SQL", text, first,
				    "only SELECT, WITH ... SELECT and VALUES are run here");
	sql_growth_of(text, &growth);
	if (growth.copies > SQL_MAX_EXPANSION)
		return err_set(err, E2BIG, "SQL: the parts of WITH use each other too many times");
	sql_guard_merge_subqueries(sql, growth.columns <= SQL_MAX_EXPANSION);
	return 0;
}

/* The place of the word that was refused: the first such. */
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
