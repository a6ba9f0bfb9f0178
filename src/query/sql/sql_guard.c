/* Restricts statements: the authorizer, limits, and the interruption of long ones. */
#include "base/buf.h"
#include "query/sql/sql.h"
#include "query/sql/sql_state.h"
#include "store/sqlite/db.h"

#include <string.h>

/* SQLite instructions between two checks of the clock: some ten microseconds. */
enum { LOOK_EVERY = 1000 };

static const char *const tables[] = {
	"samples", "stacks", "frames", "functions", "series", "labels", "metrics",
};

/* Functions without side effects, in about linear time. instr, printf, replace and trim are ours
 * (sql_text.c). */
static const char *const functions[] = {
	"stack_text",
	"has_function",
	/* https://www.sqlite.org/lang_corefunc.html */
	"abs",
	"char",
	"coalesce",
	"format",
	"glob",
	"hex",
	"ifnull",
	"iif",
	"instr",
	"length",
	"like",
	"likelihood",
	"likely",
	"lower",
	"ltrim",
	"max",
	"min",
	"nullif",
	"printf",
	"quote",
	"random",
	"replace",
	"round",
	"rtrim",
	"sign",
	"substr",
	"substring",
	"trim",
	"typeof",
	"unicode",
	"unlikely",
	"upper",
	"zeroblob",
	/* …/lang_aggfunc.html, …/windowfunctions.html */
	"avg",
	"count",
	"group_concat",
	"sum",
	"total",
	"row_number",
	"rank",
	"dense_rank",
	"percent_rank",
	"cume_dist",
	"ntile",
	"lag",
	"lead",
	"first_value",
	"last_value",
	"nth_value",
	/* …/lang_datefunc.html */
	"date",
	"time",
	"datetime",
	"julianday",
	"unixepoch",
	"strftime",
	"current_date",
	"current_time",
	"current_timestamp",
	/* …/lang_mathfunc.html */
	"acos",
	"acosh",
	"asin",
	"asinh",
	"atan",
	"atan2",
	"atanh",
	"ceil",
	"ceiling",
	"cos",
	"cosh",
	"degrees",
	"exp",
	"floor",
	"ln",
	"log",
	"log10",
	"log2",
	"mod",
	"pi",
	"pow",
	"power",
	"radians",
	"sin",
	"sinh",
	"sqrt",
	"tan",
	"tanh",
	"trunc",
};

static bool is_among(const char *word, const char *const *list, size_t n)
{
	for (size_t i = 0; word && i < n; i++)
		if (strcasecmp(word, list[i]) == 0)
			return true;
	return false;
}

static int forbid(struct sql *sql, const char *what, const char *word)
{
	buf_clear(&sql->forbidden);
	buf_clear(&sql->forbidden_word);
	buf_adds(&sql->forbidden_word, word ? word : "");
	buf_addf(&sql->forbidden, what, word ? word : "");
	return SQLITE_DENY;
}

static int authorize(void *ctx, int action, const char *a, const char *b, const char *database,
		     const char *inside)
{
	struct sql *sql = ctx;

	(void)database;
	(void)inside;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	/* No column if rows are only counted; then it may be the name of a WITH. */
	case SQLITE_READ:
		if (is_among(a, tables, sizeof tables / sizeof *tables) ||
		    (b && !*b && sqlite3_strnicmp(a, "sqlite_", 7) != 0))
			return SQLITE_OK;
		return forbid(sql, "the table '%s' is not readable", a);
	case SQLITE_FUNCTION:
		if (is_among(b, functions, sizeof functions / sizeof *functions))
			return SQLITE_OK;
		return forbid(sql, "the function '%s' is not available", b);
	}
	return forbid(sql, "only SELECT, WITH ... SELECT and VALUES are run here", NULL);
}

static void set_limits(struct sql *sql)
{
	static const struct {
		int what, most;
	} limits[] = {
		{ SQLITE_LIMIT_LENGTH, SQL_MAX_VALUE },
		{ SQLITE_LIMIT_SQL_LENGTH, SQL_MAX_TEXT },
		{ SQLITE_LIMIT_COLUMN, SQL_MAX_COLUMNS },
		{ SQLITE_LIMIT_EXPR_DEPTH, SQL_MAX_DEPTH },
		{ SQLITE_LIMIT_COMPOUND_SELECT, SQL_MAX_COMPOUND },
		{ SQLITE_LIMIT_VDBE_OP, SQL_MAX_OPS },
		{ SQLITE_LIMIT_FUNCTION_ARG, SQL_MAX_ARGUMENTS },
		{ SQLITE_LIMIT_LIKE_PATTERN_LENGTH, SQL_MAX_PATTERN },
		{ SQLITE_LIMIT_ATTACHED, 0 },
		{ SQLITE_LIMIT_VARIABLE_NUMBER, 0 },
		{ SQLITE_LIMIT_TRIGGER_DEPTH, 0 },
		{ SQLITE_LIMIT_WORKER_THREADS, 0 },
	};

	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
		sqlite3_limit(sql->db, limits[i].what, limits[i].most);
}

static int on_progress(void *ctx)
{
	return sql_must_stop(ctx);
}

int sql_guard_set_up(struct sql *sql)
{
	char text[64];
	int rc = SQLITE_OK;

	/* Connect all tables now, as the authorizer would refuse the change of the schema later. */
	for (size_t i = 0; rc == SQLITE_OK && i < sizeof tables / sizeof *tables; i++) {
		snprintf(text, sizeof text, "SELECT * FROM %s LIMIT 0", tables[i]);
		rc = sqlite3_exec(sql->db, text, NULL, NULL, NULL);
	}
	if (rc != SQLITE_OK)
		return rc;
	db_defend(sql->db);
	set_limits(sql);
	sqlite3_progress_handler(sql->db, LOOK_EVERY, on_progress, sql);
	return sqlite3_set_authorizer(sql->db, authorize, sql);
}

/* SQLite replaces each use of a subquery's column by its expression, level by level: 300 bytes can
 * become gigabytes before anything runs. With this turned off, subqueries are run as written. */
void sql_guard_merge_subqueries(struct sql *sql, bool on)
{
	enum { FLATTEN = 0x1, PUSH_DOWN = 0x1000 }; /* as in sqliteInt.h */

	sqlite3_test_control(SQLITE_TESTCTRL_OPTIMIZATIONS, sql->db, on ? 0 : FLATTEN | PUSH_DOWN);
}

void sql_guard_begin(struct sql *sql)
{
	guard_begin(&sql->guard, &sql->limits, sql->source);
	sql->memory_before = sqlite3_memory_used();
	sql->failed = (struct err){ 0 };
	buf_clear(&sql->forbidden);
	buf_clear(&sql->forbidden_word);
}

void sql_guard_end(struct sql *sql)
{
	guard_end(&sql->guard, sql->source);
}
