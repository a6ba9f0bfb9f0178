/* query/sql/sql.h: SQL over a source: runs one SELECT, which can write nothing and read nothing
 * else.
 *
 *     sql_open(source, &limits, &sql, &err);
 *     sql_run(sql, "SELECT type, sum(value) FROM samples GROUP BY 1", &answer, &err);
 *     sql_close(sql);
 *
 * SQLite executes it in memory, without any file; docs/sql.md has the tables, columns and
 * functions. Statements are untrusted: an authorizer allows only SELECT, our tables and a list of
 * functions; sizes are limited; time, memory and cancellation are checked during execution.
 * Statements that take long to prepare (names of subqueries that multiply) are refused.
 *
 * Stack ids include the dictionary: dictionary << 32 | stack. */
#ifndef CRESSET_QUERY_SQL_SQL_H
#define CRESSET_QUERY_SQL_SQL_H

#include <stddef.h>
#include <stdint.h>

struct cell;
struct err;
struct guard_limits;
struct source;

/* Takes the rows. Both functions return 0, or -errno, which ends the statement. Names and cells are
 * valid during the call. */
struct sql_answer {
	int (*columns)(void *ctx, const char *const *names, size_t n, struct err *err);
	int (*row)(void *ctx, const struct cell *cells, size_t n, struct err *err);
	void *ctx;
};

struct sql;

/* The source stays the caller's, and must not be used otherwise in the meantime. limits: of each
 * statement. memory_bytes limits SQLite's memory for sorting and grouping, measured as the growth
 * of its memory in this process. Scans of samples take up to 56 MiB more. */
int sql_open(struct source *source, const struct guard_limits *limits, struct sql **out,
	     struct err *err);
void sql_close(struct sql *sql); /* NULL is fine */

/* -EINVAL: not a statement, or not an allowed one; the message has the position. Errors of limits
 * as in query/guard.h, -E2BIG also for a value; other errors of the source or the response. Rows
 * given before an error stay with the response. */
int sql_run(struct sql *sql, const char *text, const struct sql_answer *answer, struct err *err);

/* --- limits of a statement, and of its answer --- */

/* Fixed limits. */
enum {
	/* limit: bytes of a SQL statement */
	SQL_MAX_TEXT = 64 * 1024,
	/* limit: bytes of a value */
	SQL_MAX_VALUE = 1000000,
	SQL_MAX_COLUMNS = 200,  /* of a response */
	SQL_MAX_DEPTH = 100,    /* of an expression */
	SQL_MAX_COMPOUND = 50,  /* SELECTs in one UNION */
	SQL_MAX_OPS = 250000,   /* instructions of a compiled statement */
	SQL_MAX_ARGUMENTS = 16, /* of a function */
	SQL_MAX_PATTERN = 128,  /* bytes of a pattern for LIKE or GLOB */
	/* limit: its words, with each use of a WITH written out */
	SQL_MAX_EXPANSION = 2 << 20
};

#endif
