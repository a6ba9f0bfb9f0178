/* query/sql.h: SQL over a source: one SELECT in, rows out, nothing written, nothing else read.
 *
 *     sql_open(source, &limits, &sql, &err);
 *     sql_run(sql, "SELECT type, sum(value) FROM samples GROUP BY 1", &answer, &err);
 *     sql_close(sql);
 *
 * SQLite does it, in memory, without any file; docs/sql.md has the tables, columns and functions. A statement may come from anybody:
 * an authorizer lets through no more than SELECT, our tables and a list of functions; sizes are limited; time, memory and cancellation
 * are looked at while it runs. What would take long before it runs (names of subqueries that multiply) is refused.
 *
 * Stacks of several dictionaries have ids of their own: the number of the dictionary << 32 | stack. */
#ifndef CRESSET_QUERY_SQL_H
#define CRESSET_QUERY_SQL_H

#include "base/cell.h"
#include "base/err.h"
#include "query/guard.h"
#include "query/source.h"

#include <stddef.h>
#include <stdint.h>

/* What no option changes. */
enum {
	SQL_MAX_TEXT = 64 * 1024,   /* of a statement */
	SQL_MAX_VALUE = 1000000,    /* bytes of one value */
	SQL_MAX_COLUMNS = 200,      /* of an answer */
	SQL_MAX_DEPTH = 100,        /* of an expression */
	SQL_MAX_COMPOUND = 50,      /* SELECTs that one UNION joins */
	SQL_MAX_OPS = 250000,       /* instructions of a statement, once it is compiled */
	SQL_MAX_ARGUMENTS = 16,     /* of a function */
	SQL_MAX_PATTERN = 128,      /* bytes of one for LIKE or GLOB */
	SQL_MAX_EXPANSION = 2 << 20 /* words, once each use of a WITH stands for its text */
};
/* Who takes the rows. Both return 0, or -errno with words, which ends the statement. Names and cells are valid during the call. */
struct sql_answer {
	int (*columns)(void *ctx, const char *const *names, size_t n, struct err *err);
	int (*row)(void *ctx, const struct cell *cells, size_t n, struct err *err);
	void *ctx;
};

struct sql;

/* The source stays the caller's, and is used by nobody else meanwhile. limits: of each statement. memory_bytes is what SQLite may take to
 * sort and group, as far as it can be seen: what it takes in this process meanwhile. Scans of samples hold up to 56 MiB beside that. */
int sql_open(struct source *source, const struct guard_limits *limits, struct sql **out,
	     struct err *err);
void sql_close(struct sql *sql); /* NULL is fine */

/* -EINVAL: it is no statement, or none that is run here, with the place; a limit as query/guard.h has them, -E2BIG for a value, too; else
 * what the source or the answer failed with. Rows that came before stay with the answer. */
int sql_run(struct sql *sql, const char *text, const struct sql_answer *answer, struct err *err);

#endif
