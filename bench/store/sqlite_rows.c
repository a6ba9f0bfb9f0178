/* The peer that needs no new program: rows in a SQLite table whose key is what is asked for. Only some hours of them: it takes its time. */
#include "base/mem.h"
#include "engine.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const schema =
	"PRAGMA page_size=16384; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA "
	"cache_size=-262144;"
	"CREATE TABLE function(id INTEGER PRIMARY KEY, name TEXT, file TEXT);"
	"CREATE TABLE frame(id INTEGER PRIMARY KEY, function INT, binary INT, address INT, line "
	"INT);"
	"CREATE TABLE stack(id INTEGER PRIMARY KEY, frames BLOB);" /* u32, root first */
	"CREATE TABLE series(id INTEGER PRIMARY KEY, host TEXT, process TEXT, type TEXT, pool INT);"
	"CREATE TABLE sample(series INT, t INT, stack INT, value INT, PRIMARY KEY(series, t, "
	"stack)) WITHOUT ROWID;";

struct pair {
	uint64_t key;
	int64_t value;
};
struct sqlite_rows {
	struct engine_opts opts;
	char *path;
	sqlite3 *db;
	sqlite3_stmt *insert, *insert_stack;
	VEC(bool) has_stack;
	VEC(struct pair) pairs;
	struct name_tree tree;
};

static void check(struct sqlite_rows *e, int rc)
{
	if (rc != SQLITE_OK && rc != SQLITE_DONE && rc != SQLITE_ROW)
		bench_fail("sqlite: %s", sqlite3_errmsg(e->db));
}
static void run(struct sqlite_rows *e, const char *sql)
{
	check(e, sqlite3_exec(e->db, sql, NULL, NULL, NULL));
}
static sqlite3_stmt *prepare(struct sqlite_rows *e, const char *sql)
{
	sqlite3_stmt *s;
	check(e, sqlite3_prepare_v2(e->db, sql, -1, &s, NULL));
	return s;
}
static void step(struct sqlite_rows *e, sqlite3_stmt *s)
{
	check(e, sqlite3_step(s));
	sqlite3_reset(s);
}

static void put_series(struct sqlite_rows *e)
{
	char host[MODEL_NAME_BYTES], program[MODEL_NAME_BYTES];
	sqlite3_stmt *s = prepare(e, "INSERT INTO series VALUES(?1, ?2, ?3, ?4, ?5)");
	for (uint32_t i = 0; i < MODEL_SERIES; i++) {
		uint32_t pool = model_series_pool(i);
		snprintf(host, sizeof host, "node-%02u", model_series_node(i));
		model_program_name(pool / MODEL_TYPES, program);
		sqlite3_bind_int(s, 1, i);
		sqlite3_bind_text(s, 2, host, -1, SQLITE_TRANSIENT);
		sqlite3_bind_text(s, 3, program, -1, SQLITE_TRANSIENT);
		sqlite3_bind_text(s, 4, pool % MODEL_TYPES ? "off-cpu" : "cpu", -1, SQLITE_STATIC);
		sqlite3_bind_int(s, 5, pool);
		step(e, s);
	}
	sqlite3_finalize(s);
}

static void *sqlite_open(const struct engine_opts *opts)
{
	struct sqlite_rows *e = xcalloc(1, sizeof *e);
	e->opts = *opts;
	e->path = xasprintf("%s/rows.db", opts->dir);
	check(e, sqlite3_open(e->path, &e->db));
	run(e, schema);
	put_series(e);
	e->insert = prepare(e, "INSERT INTO sample VALUES(?1, ?2, ?3, ?4)");
	e->insert_stack = prepare(e, "INSERT INTO stack VALUES(?1, ?2)");
	return e;
}

static void sqlite_forget(void *engine)
{
	struct sqlite_rows *e = engine;
	vec_done(&e->pairs);
	name_tree_done(&e->tree);
}

static void sqlite_close(void *engine)
{
	struct sqlite_rows *e = engine;
	sqlite3_finalize(e->insert);
	sqlite3_finalize(e->insert_stack);
	sqlite3_close(e->db);
	sqlite_forget(e);
	vec_done(&e->has_stack);
	free(e->path);
	free(e);
}

static void put_stack(struct sqlite_rows *e, uint32_t stack)
{
	uint32_t depth;
	const uint32_t *frames = model_stack_frames(e->opts.m, stack, &depth);
	while (e->has_stack.n <= stack)
		vec_push(&e->has_stack, false);
	if (e->has_stack.v[stack])
		return;
	e->has_stack.v[stack] = true;
	sqlite3_bind_int(e->insert_stack, 1, stack);
	sqlite3_bind_blob(e->insert_stack, 2, frames, depth * sizeof *frames, SQLITE_STATIC);
	step(e, e->insert_stack);
}

static void sqlite_add(void *engine, const struct model_row *rows, size_t n)
{
	struct sqlite_rows *e = engine;
	run(e, "BEGIN");
	for (size_t i = 0; i < n; i++) {
		put_stack(e, rows[i].stack);
		sqlite3_bind_int(e->insert, 1, rows[i].series);
		sqlite3_bind_int(e->insert, 2, rows[i].window);
		sqlite3_bind_int(e->insert, 3, rows[i].stack);
		sqlite3_bind_int64(e->insert, 4, rows[i].value);
		step(e, e->insert);
	}
	run(e, "COMMIT");
}

static void put_frame(struct sqlite_rows *e, sqlite3_stmt *s, uint32_t frame)
{
	uint32_t function = frame / MODEL_FRAMES_PER_FUNCTION;
	sqlite3_bind_int(s, 1, frame);
	sqlite3_bind_int(s, 2, function);
	sqlite3_bind_int(s, 3, model_function_binary(e->opts.m, function));
	sqlite3_bind_int64(s, 4, model_frame_offset(frame));
	sqlite3_bind_int(s, 5, model_frame_line(frame));
	step(e, s);
}

static void sqlite_finish(void *engine)
{
	struct sqlite_rows *e = engine;
	char name[MODEL_NAME_BYTES], file[MODEL_NAME_BYTES];
	sqlite3_stmt *s = prepare(e, "INSERT INTO function VALUES(?1, ?2, ?3)");
	sqlite3_stmt *f = prepare(e, "INSERT INTO frame VALUES(?1, ?2, ?3, ?4, ?5)");
	run(e, "BEGIN");
	for (uint32_t i = 0; i < model_functions(e->opts.m); i++) {
		model_function_name(e->opts.m, i, name);
		model_file_name(e->opts.m, i, file);
		sqlite3_bind_int(s, 1, i);
		sqlite3_bind_text(s, 2, name, -1, SQLITE_STATIC);
		sqlite3_bind_text(s, 3, file, -1, SQLITE_STATIC);
		step(e, s);
		for (uint32_t k = 0; k < MODEL_FRAMES_PER_FUNCTION; k++)
			put_frame(e, f, i * MODEL_FRAMES_PER_FUNCTION + k);
	}
	run(e, "COMMIT");
	sqlite3_finalize(s);
	sqlite3_finalize(f);
	run(e, "PRAGMA wal_checkpoint(TRUNCATE)");
}

/* --- questions ---
 */

static void ask_pairs(struct sqlite_rows *e, const char *sql, uint32_t from, uint32_t to)
{
	sqlite3_stmt *s = prepare(e, sql);
	sqlite3_bind_int(s, 1, e->opts.asked.series);
	sqlite3_bind_int(s, 2, from);
	sqlite3_bind_int(s, 3, to);
	while (sqlite3_step(s) == SQLITE_ROW)
		vec_push(&e->pairs,
			 (struct pair){ sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1) });
	check(e, sqlite3_finalize(s));
}

static void ask_tree(struct sqlite_rows *e)
{
	sqlite3_stmt *s =
		prepare(e, "SELECT frames, v FROM (SELECT stack, sum(value) v FROM sample "
			   "WHERE series = ?1 AND t >= ?2 AND t < ?3 GROUP BY stack) "
			   "JOIN stack ON stack.id = stack");
	sqlite3_bind_int(s, 1, e->opts.asked.series);
	sqlite3_bind_int(s, 2, e->opts.asked.from);
	sqlite3_bind_int(s, 3, e->opts.asked.to);
	while (sqlite3_step(s) == SQLITE_ROW)
		name_tree_add(&e->tree, e->opts.name_keys, sqlite3_column_blob(s, 0),
			      sqlite3_column_bytes(s, 0) / sizeof(uint32_t),
			      sqlite3_column_int64(s, 1));
	check(e, sqlite3_finalize(s));
}

static bool sqlite_ask(void *engine, enum question q, int way)
{
	(void)way;
	struct sqlite_rows *e = engine;
	const struct asked *a = &e->opts.asked;
	uint32_t before = a->from - (a->to - a->from);
	switch (q) {
	case Q_TREE:
		ask_tree(e);
		return true;
	case Q_DIFF:
		ask_pairs(e,
			  "SELECT stack, sum(value) FROM sample WHERE series = ?1 AND t >= ?2 AND "
			  "t < ?3 "
			  "GROUP BY stack",
			  a->from, a->to);
		ask_pairs(
			e,
			"SELECT stack | (1 << 32), -sum(value) FROM sample WHERE series = ?1 AND t "
			">= ?2 "
			"AND t < ?3 GROUP BY stack",
			before, a->from);
		return true;
	case Q_SOME_MERGE:
		ask_pairs(
			e,
			"SELECT stack, sum(value) FROM sample WHERE ?1 >= 0 AND t >= ?2 AND t < ?3 "
			"GROUP BY stack",
			a->some_from, a->some_to);
		return true;
	case Q_SOME_STEPS:
		ask_pairs(e,
			  "SELECT t / 6 * 80 + pool, sum(value) FROM sample JOIN series ON id = "
			  "series "
			  "WHERE ?1 >= 0 AND t >= ?2 AND t < ?3 GROUP BY 1",
			  a->some_from, a->some_to);
		return true;
	default:
		return false;
	}
}

static void sqlite_answer(void *engine, enum question q, struct answer *out)
{
	struct sqlite_rows *e = engine;
	if (q == Q_TREE)
		name_tree_answer(&e->tree, 1, out);
	for (size_t i = 0; i < e->pairs.n; i++)
		answer_add(out, e->pairs.v[i].key, e->pairs.v[i].value);
}

static void sqlite_report(void *engine)
{
	struct sqlite_rows *e = engine;
	struct stat st;
	if (!stat(e->path, &st))
		printf("bytes %lld\n", (long long)st.st_size);
}

const struct engine_ops sqlite_engine = {
	.name = "sqlite",
	.only_some = true,
	.batch_windows = 10,
	.open = sqlite_open,
	.add = sqlite_add,
	.finish = sqlite_finish,
	.forget = sqlite_forget,
	.ask = sqlite_ask,
	.answer = sqlite_answer,
	.report = sqlite_report,
	.close = sqlite_close,
};
_Static_assert(STEP_WINDOWS == 6 && MODEL_POOLS == 80, "as in the statement");
