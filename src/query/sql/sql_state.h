/* query/sql/sql_state.h: shared by query/sql/sql*.c. Only they use it. */
#ifndef CRESSET_QUERY_SQL_SQL_STATE_H
#define CRESSET_QUERY_SQL_SQL_STATE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"
#include "profile/link.h"
#include "profile/stack_id.h"
#include "query/guard.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

/* The functions of a dictionary, and the functions of each of its frames: built once, so that a
 * statement about many stacks handles numbers instead of text. A frame with inlined calls has
 * several lines, outermost first as in stacks. */
struct named_function {
	uint32_t name, file, binary; /* strings of the dictionary */
	uint32_t kind;               /* enum frame_kind */
};
struct named_line {
	uint32_t function, line;
};
struct frame_names { /* zeroed = empty */
	const struct profile *dict;
	VEC(struct named_function) functions;
	VEC(struct named_line) lines;
	VEC(uint32_t) first; /* by frame: index of its first line; at the end their number */
	struct map index;
};

void frame_names_done(struct frame_names *names);

/* A stack, root first, including inlined calls. */
struct stack_line {
	uint32_t frame, function, line;
	bool inlined; /* into the one before */
};
struct stack_lines { /* zeroed = empty */
	VEC(struct stack_line) lines;
	VEC(uint32_t) frames; /* reused from stack to stack */
};
void stack_lines_get(struct stack_lines *out, const struct frame_names *names, uint32_t stack);
void stack_lines_done(struct stack_lines *s);

/* A dictionary of the source. */
struct sql_part {
	struct profile *dict;
	uint32_t n_stacks;        /* when found: later ones are not referred to by samples */
	struct frame_names names; /* once a name is needed */
	bool has_names;
	struct stack_ids stack_ids; /* once one is needed */
};

struct sql {
	sqlite3 *db;
	struct source *source;
	struct guard_limits limits;
	VEC(struct sql_part) parts;
	bool has_parts;
	size_t held_rows;        /* of all scans of samples */
	struct link_table links; /* of samples in the current statement */
	struct stack_lines lines;
	struct buf text;

	/* Of the current statement. */
	struct guard guard;
	int64_t memory_before;
	struct err failed;         /* error of the source, or a limit */
	struct buf forbidden;      /* message on what the authorizer refused */
	struct buf forbidden_word; /* as in the text; empty: unknown */
};

/* --- sql_guard.c: what statements may do --- */

int sql_guard_set_up(struct sql *sql);
void sql_guard_begin(struct sql *sql);
void sql_guard_end(struct sql *sql);
/* Sets whether SQLite may merge subqueries of the next statement into the outer ones. */
void sql_guard_merge_subqueries(struct sql *sql, bool on);

/* --- sql_growth.c: growth of a statement while it is prepared --- */

struct sql_growth {
	uint64_t copies;  /* words, with each use of a WITH replaced by its text */
	uint64_t columns; /* upper bound of expressions after merging subqueries */
};
void sql_growth_of(const char *text, struct sql_growth *out);

/* --- sql_state.c: dictionaries and ids --- */

/* Returns whether the statement has to end, and sets sql->failed; long operations call it now and
 * then. */
bool sql_must_stop(struct sql *sql);

/* Finds all dictionaries. Returns an SQLITE_ code; the error is in sql->failed. */
int sql_find_parts(struct sql *sql);
/* Returns the number of a dictionary, or UINT32_MAX. */
uint32_t sql_part_of(const struct sql *sql, const struct profile *dict);
const struct frame_names *sql_names(struct sql *sql, uint32_t part);
static inline int64_t sql_id(uint32_t part, uint32_t id)
{
	return (int64_t)part << 32 | id;
}
/* Returns false if the value is not the id of a stack. */
bool sql_stack_of(const struct sql *sql, sqlite3_value *value, uint32_t *part, uint32_t *stack);

/* --- tables and functions for statements: each returns an SQLITE_ code --- */

int sql_samples_register(struct sql *sql); /* sql_samples.c */
int sql_metrics_register(struct sql *sql); /* sql_metrics.c */
int sql_tables_register(struct sql *sql);  /* sql_tables.c */
int sql_text_register(struct sql *sql);    /* sql_text.c */

/* Tables exist without being created (eponymous virtual tables), and only for statements. The
 * argument of their modules: */
struct table;
struct sql_module {
	struct sql *sql;
	const char *schema;
	const struct table *table; /* for sql_tables.c, which has several tables */
};
struct sql_vtab {
	sqlite3_vtab base;
	struct sql *sql;
	const struct table *table;
};
int sql_module_add(struct sql *sql, const char *name, const char *schema,
		   const sqlite3_module *module, const struct table *table);
/* xConnect and xDisconnect of all tables. */
int sql_vtab_connect(sqlite3 *db, void *module, int argc, const char *const *argv,
		     sqlite3_vtab **out, char **err);
int sql_vtab_disconnect(sqlite3_vtab *vtab);
/* Passes the message of sql->failed to SQLite. */
int sql_vtab_fail(sqlite3_vtab *vtab, int rc);

/* Constraints that xBestIndex pushes down: idxStr passes a letter for each to xFilter, in the order
 * of their values. */
enum { SQL_PUSH_FROM = '>', SQL_PUSH_TO = '<', SQL_PUSH_AT = 'a' }; /* of times */
enum { SQL_PUSH_LIST = 'S' - 's' }; /* a list of values: capital letters */
struct sql_push {
	int column;
	char letter; /* for `=`; SQL_PUSH_AT: less and greater are pushed down, too */
	bool is_text;
};
struct sql_pushes {
	const struct sql_push *columns;
	size_t n;
	bool lists; /* IN, too */
	/* Estimates: number of rows, share of them left by an equal value, fixed cost of a scan. */
	double rows, equal_part, cost;
};
int sql_push_all(sqlite3_index_info *info, const struct sql_pushes *pushes);
/* Converts a number, rounded down, or up if `up`. Returns false if it is not a number, or exceeds
 * 64 bits. */
bool sql_integer_of(sqlite3_value *v, bool up, int64_t *out);
/* Narrows [from_ns, to_ns) by a constraint on a time; one that is not a number is left to
 * SQLite. */
void sql_push_time(sqlite3_value *v, char push, int64_t *from_ns, int64_t *to_ns);
bool sql_string_is(const struct profile *p, uint32_t string, sqlite3_value *v);
void sql_result_string(sqlite3_context *ctx, const struct profile *p, uint32_t string);

#endif
