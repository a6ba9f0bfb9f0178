/* query/sql_state.h: what the parts of SQL (query/sql*.c) share. Only they use it. */
#ifndef CRESSET_QUERY_SQL_STATE_H
#define CRESSET_QUERY_SQL_STATE_H

#include "base/buf.h"
#include "base/vec.h"
#include "profile/stack_id.h"
#include "query/frame_names.h"
#include "query/sql.h"

#include <sqlite3.h>

/* A dictionary of the source. */
struct sql_part {
	struct profile *dict;
	uint32_t n_stacks; /* when it was found: more may come, which samples do not refer to */
	struct frame_names names; /* once somebody asks for a name */
	bool has_names;
	struct stack_ids stack_ids; /* once somebody asks for one */
};

struct sql {
	sqlite3 *db;
	struct source *source;
	struct guard_limits limits;
	VEC(struct sql_part) parts;
	bool has_parts;
	size_t held_rows;        /* by all that read samples */
	struct link_table links; /* that samples of the statement that runs have */
	struct stack_lines lines;
	struct buf text;

	/* Of the statement that runs. */
	struct guard guard;
	int64_t memory_before;
	struct err failed;         /* of the source, or a limit */
	struct buf forbidden;      /* what the authorizer refused, in words */
	struct buf forbidden_word; /* as it stands in the text; empty: unknown */
};

/* --- sql_guard.c: what statements may do --- */

int sql_guard_set_up(struct sql *sql);
void sql_guard_begin(struct sql *sql);
void sql_guard_end(struct sql *sql);
/* Whether SQLite may merge subqueries of the next statement with what is around them. */
void sql_guard_merge_subqueries(struct sql *sql, bool on);
/* Whether the statement has to end: asked now and then by whatever takes long. Says why in sql->failed. */
bool sql_must_stop(struct sql *sql);

/* --- sql_growth.c: what becomes of a text before it is run --- */

struct sql_growth {
	uint64_t copies;  /* words, once each use of a WITH stands for its text */
	uint64_t columns; /* the most that expressions grow to when subqueries are merged */
};
void sql_growth_of(const char *text, struct sql_growth *out);

/* --- sql.c: dictionaries and ids --- */

/* Finds all dictionaries. Returns an SQLITE_ code; the words are in sql->failed. */
int sql_find_parts(struct sql *sql);
/* The number of a dictionary; UINT32_MAX: there is no such. */
uint32_t sql_part_of(const struct sql *sql, const struct profile *dict);
const struct frame_names *sql_names(struct sql *sql, uint32_t part);
static inline int64_t sql_id(uint32_t part, uint32_t id)
{
	return (int64_t)part << 32 | id;
}
/* False when the value is no id of a stack. */
bool sql_stack_of(const struct sql *sql, sqlite3_value *value, uint32_t *part, uint32_t *stack);

/* --- what is there for statements: each returns an SQLITE_ code --- */

int sql_samples_register(struct sql *sql);   /* sql_samples.c */
int sql_metrics_register(struct sql *sql);   /* sql_metrics.c */
int sql_tables_register(struct sql *sql);    /* sql_tables.c */
int sql_functions_register(struct sql *sql); /* sql_functions.c */
int sql_text_register(struct sql *sql);      /* sql_text.c */

/* Tables are there without being created (eponymous virtual tables), and for statements only. What their modules are given: */
struct table;
struct sql_module {
	struct sql *sql;
	const char *schema;
	const struct table *table; /* of sql_tables.c, which has several */
};
struct sql_vtab {
	sqlite3_vtab base;
	struct sql *sql;
	const struct table *table;
};
int sql_module_add(struct sql *sql, const char *name, const char *schema,
		   const sqlite3_module *module, const struct table *table);
/* xConnect and xDisconnect of all. */
int sql_vtab_connect(sqlite3 *db, void *module, int argc, const char *const *argv,
		     sqlite3_vtab **out, char **err);
int sql_vtab_disconnect(sqlite3_vtab *vtab);
/* Puts sql->failed into words for SQLite. */
int sql_vtab_fail(sqlite3_vtab *vtab, int rc);

/* Constraints that xBestIndex pushes down: a letter for each, in the order of their values, which idxStr hands to xFilter. */
enum { SQL_PUSH_FROM = '>', SQL_PUSH_TO = '<', SQL_PUSH_AT = 'a' }; /* of times */
enum { SQL_PUSH_LIST = 'S' - 's' }; /* a list of values: capital letters */
struct sql_push {
	int column;
	char letter; /* what `=` becomes; SQL_PUSH_AT: less and greater are pushed down, too */
	bool is_text;
};
struct sql_pushes {
	const struct sql_push *columns;
	size_t n;
	bool lists; /* IN, too */
	/* Rough: how many rows there are, what part of them an equal value leaves, what asking costs in itself. */
	double rows, equal_part, cost;
};
int sql_push_all(sqlite3_index_info *info, const struct sql_pushes *pushes);
/* A number; what is between two whole ones becomes the next one below or above. False for what is no number, or none of 64 bits. */
bool sql_integer_of(sqlite3_value *v, bool up, int64_t *out);
/* Narrows [from_ns, to_ns) to what a constraint on a time leaves; one that is no number leaves all, SQLite checks it. */
void sql_push_time(sqlite3_value *v, char push, int64_t *from_ns, int64_t *to_ns);
bool sql_string_is(const struct profile *p, uint32_t string, sqlite3_value *v);
void sql_result_string(sqlite3_context *ctx, const struct profile *p, uint32_t string);

#endif
