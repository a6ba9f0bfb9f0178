/* The peer to beat: DuckDB on one thread. Rows, stacks and series are given as the integers they have been resolved to, column by column
 * through its appender, one transaction a batch. Once all is there a second table is made, sorted by series and time, as our compaction
 * does; each question is put to both, and the better time counts. */
#include "engine.h"

#include "duckdb_api.h"

#include "base/clock.h"
#include "base/mem.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool duckdb_load(const char *library, struct duckdb_api *out)
{
	void *so = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (!so)
		return false;
#define DUCKDB_LOOK_UP(result, name, arguments) \
	*(void **)&out->name = dlsym(so, "duckdb_" #name); \
	if (!out->name) \
		return false;
	DUCKDB_FUNCTIONS(DUCKDB_LOOK_UP)
	return true;
}

static const char *const schema[] = {
	"SET threads = 1",
	"SET checkpoint_threshold = '1GB'",
	"CREATE TABLE function(id UINTEGER, name VARCHAR, file VARCHAR)",
	"CREATE TABLE frame(id UINTEGER, function UINTEGER, binary_id UTINYINT, address UBIGINT, "
	"line UINTEGER)",
	"CREATE TABLE stack(id UINTEGER, frames UINTEGER[])",
	"CREATE TABLE series(id USMALLINT, pool UTINYINT, host VARCHAR, process VARCHAR, type "
	"VARCHAR)",
	"CREATE TABLE sample(series USMALLINT, t UINTEGER, stack UINTEGER, value BIGINT)",
};

/* A table that is being written. */
struct table {
	void *appender, *chunk;
	uint64_t n; /* rows in chunk */
};
struct duckdb {
	struct duckdb_api api;
	struct engine_opts opts;
	char *path;
	void *db, *con;
	struct table samples, stacks;
	uint32_t n_stacks; /* written so far */
	duckdb_result results[2];
	int n_results;
	struct name_tree tree;
	double sorted_s;
	uint64_t plain_bytes;
};

/* --- statements ---
 */

static void query(struct duckdb *e, const char *sql, duckdb_result *out)
{
	if (e->api.query(e->con, sql, out) != DUCKDB_OK)
		bench_fail("duckdb: %s", e->api.result_error(out));
}
static void run(struct duckdb *e, const char *sql)
{
	duckdb_result result;
	query(e, sql, &result);
	e->api.destroy_result(&result);
}

/* --- appending ---
 */

enum { MAX_COLUMNS = 5, LIST_OF_UINTEGER = -1 };

static void *logical_type(struct duckdb *e, int type)
{
	if (type != LIST_OF_UINTEGER)
		return e->api.create_logical_type(type);
	void *child = e->api.create_logical_type(DUCKDB_UINTEGER);
	void *list = e->api.create_list_type(child);
	e->api.destroy_logical_type(&child);
	return list;
}

static void table_open(struct duckdb *e, struct table *t, const char *name, const int *types, int n)
{
	void *logical[MAX_COLUMNS];
	for (int i = 0; i < n; i++)
		logical[i] = logical_type(e, types[i]);
	*t = (struct table){ .chunk = e->api.create_data_chunk(logical, n) };
	for (int i = 0; i < n; i++)
		e->api.destroy_logical_type(&logical[i]);
	if (e->api.appender_create(e->con, NULL, name, &t->appender) != DUCKDB_OK)
		bench_fail("duckdb: no table %s", name);
}

static void table_flush(struct duckdb *e, struct table *t)
{
	e->api.data_chunk_set_size(t->chunk, t->n);
	if (t->n && e->api.append_data_chunk(t->appender, t->chunk) != DUCKDB_OK)
		bench_fail("duckdb: %s", e->api.appender_error(t->appender));
	e->api.data_chunk_reset(t->chunk);
	t->n = 0;
}
/* What was appended becomes part of the transaction. */
static void table_end(struct duckdb *e, struct table *t)
{
	table_flush(e, t);
	if (e->api.appender_flush(t->appender) != DUCKDB_OK)
		bench_fail("duckdb: %s", e->api.appender_error(t->appender));
}
static void table_close(struct duckdb *e, struct table *t)
{
	e->api.appender_destroy(&t->appender);
	e->api.destroy_data_chunk(&t->chunk);
}

/* The place for the next row. */
static uint64_t table_row(struct duckdb *e, struct table *t)
{
	if (t->n == e->api.vector_size())
		table_flush(e, t);
	return t->n++;
}
static void *column(struct duckdb *e, struct table *t, int i)
{
	return e->api.vector_get_data(e->api.data_chunk_get_vector(t->chunk, i));
}
static void put_text(struct duckdb *e, struct table *t, int i, uint64_t row, const char *text)
{
	e->api.vector_assign_string_element(e->api.data_chunk_get_vector(t->chunk, i), row, text);
}

static void put_series(struct duckdb *e)
{
	static const int types[] = { DUCKDB_USMALLINT, DUCKDB_UTINYINT, DUCKDB_VARCHAR,
				     DUCKDB_VARCHAR, DUCKDB_VARCHAR };
	struct table t;
	char text[MODEL_NAME_BYTES];
	table_open(e, &t, "series", types, 5);
	for (uint32_t i = 0; i < MODEL_SERIES; i++) {
		uint64_t row = table_row(e, &t);
		uint32_t pool = model_series_pool(i);
		((uint16_t *)column(e, &t, 0))[row] = i;
		((uint8_t *)column(e, &t, 1))[row] = pool;
		snprintf(text, sizeof text, "node-%02u", model_series_node(i));
		put_text(e, &t, 2, row, text);
		put_text(e, &t, 3, row, model_program_name(pool / MODEL_TYPES, text));
		put_text(e, &t, 4, row, pool % MODEL_TYPES ? "off-cpu" : "cpu");
	}
	table_end(e, &t);
	table_close(e, &t);
}

static void put_functions(struct duckdb *e)
{
	static const int types[] = { DUCKDB_UINTEGER, DUCKDB_VARCHAR, DUCKDB_VARCHAR };
	struct table t;
	char text[MODEL_NAME_BYTES];
	table_open(e, &t, "function", types, 3);
	for (uint32_t i = 0; i < model_functions(e->opts.m); i++) {
		uint64_t row = table_row(e, &t);
		((uint32_t *)column(e, &t, 0))[row] = i;
		put_text(e, &t, 1, row, model_function_name(e->opts.m, i, text));
		put_text(e, &t, 2, row, model_file_name(e->opts.m, i, text));
	}
	table_end(e, &t);
	table_close(e, &t);
}

static void put_frames(struct duckdb *e)
{
	static const int types[] = { DUCKDB_UINTEGER, DUCKDB_UINTEGER, DUCKDB_UTINYINT,
				     DUCKDB_UBIGINT, DUCKDB_UINTEGER };
	struct table t;
	table_open(e, &t, "frame", types, 5);
	uint32_t n = model_functions(e->opts.m) * MODEL_FRAMES_PER_FUNCTION;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t row = table_row(e, &t);
		uint32_t function = i / MODEL_FRAMES_PER_FUNCTION;
		((uint32_t *)column(e, &t, 0))[row] = i;
		((uint32_t *)column(e, &t, 1))[row] = function;
		((uint8_t *)column(e, &t, 2))[row] = model_function_binary(e->opts.m, function);
		((uint64_t *)column(e, &t, 3))[row] = model_frame_offset(i);
		((uint32_t *)column(e, &t, 4))[row] = model_frame_line(i);
	}
	table_end(e, &t);
	table_close(e, &t);
}

/* The frames of stacks that follow each other do, too. */
static void put_stacks(struct duckdb *e, uint32_t first, uint32_t n)
{
	uint32_t *id = column(e, &e->stacks, 0), depth;
	void *lists = e->api.data_chunk_get_vector(e->stacks.chunk, 1);
	duckdb_list_entry *list = e->api.vector_get_data(lists);
	uint64_t items = 0;
	for (uint32_t i = 0; i < n; i++) {
		model_stack_frames(e->opts.m, first + i, &depth);
		id[i] = first + i;
		list[i] = (duckdb_list_entry){ items, depth };
		items += depth;
	}
	e->api.list_vector_reserve(lists, items);
	e->api.list_vector_set_size(lists, items);
	memcpy(e->api.vector_get_data(e->api.list_vector_get_child(lists)),
	       model_stack_frames(e->opts.m, first, &depth), items * sizeof(uint32_t));
	e->stacks.n = n;
	table_flush(e, &e->stacks);
}

static void put_samples(struct duckdb *e, const struct model_row *rows, uint64_t n)
{
	uint16_t *series = column(e, &e->samples, 0);
	uint32_t *t = column(e, &e->samples, 1), *stack = column(e, &e->samples, 2);
	int64_t *value = column(e, &e->samples, 3);
	for (uint64_t i = 0; i < n; i++) {
		series[i] = rows[i].series;
		t[i] = rows[i].window;
		stack[i] = rows[i].stack;
		value[i] = rows[i].value;
	}
	e->samples.n = n;
	table_flush(e, &e->samples);
}

/* As much of what is left as a chunk holds. */
static uint64_t next_piece(struct duckdb *e, uint64_t left)
{
	return left < e->api.vector_size() ? left : e->api.vector_size();
}

static void add(void *engine, const struct model_row *rows, size_t n)
{
	struct duckdb *e = engine;
	run(e, "BEGIN");
	for (uint32_t some; (some = next_piece(e, model_stacks(e->opts.m) - e->n_stacks));) {
		put_stacks(e, e->n_stacks, some);
		e->n_stacks += some;
	}
	table_end(e, &e->stacks);
	for (size_t i = 0, some; (some = next_piece(e, n - i)); i += some)
		put_samples(e, rows + i, some);
	table_end(e, &e->samples);
	run(e, "COMMIT");
}

/* --- a life ---
 */

static void *open_engine(const struct engine_opts *opts)
{
	static const int sample_types[] = { DUCKDB_USMALLINT, DUCKDB_UINTEGER, DUCKDB_UINTEGER,
					    DUCKDB_BIGINT };
	static const int stack_types[] = { DUCKDB_UINTEGER, LIST_OF_UINTEGER };
	struct duckdb *e = xcalloc(1, sizeof *e);
	e->opts = *opts;
	e->path = xasprintf("%s/rows.duckdb", opts->dir);
	if (!duckdb_load(opts->last, &e->api))
		bench_fail("%s", dlerror());
	if (e->api.open(e->path, &e->db) != DUCKDB_OK ||
	    e->api.connect(e->db, &e->con) != DUCKDB_OK)
		bench_fail("duckdb: %s cannot be made", e->path);
	for (size_t i = 0; i < sizeof schema / sizeof *schema; i++)
		run(e, schema[i]);
	put_series(e);
	table_open(e, &e->samples, "sample", sample_types, 4);
	table_open(e, &e->stacks, "stack", stack_types, 2);
	return e;
}

static void forget(void *engine)
{
	struct duckdb *e = engine;
	while (e->n_results)
		e->api.destroy_result(&e->results[--e->n_results]);
	name_tree_done(&e->tree);
}

static void close_engine(void *engine)
{
	struct duckdb *e = engine;
	forget(e);
	e->api.disconnect(&e->con);
	e->api.close(&e->db);
	free(e->path);
	free(e);
}

static uint64_t file_bytes(const struct duckdb *e)
{
	struct stat st;
	return stat(e->path, &st) ? 0 : st.st_size;
}

static void finish(void *engine)
{
	struct duckdb *e = engine;
	table_close(e, &e->samples);
	table_close(e, &e->stacks);
	put_functions(e);
	put_frames(e);
	run(e, "CHECKPOINT");
	e->plain_bytes = file_bytes(e);
	uint64_t start_ns = clock_mono_ns();
	run(e, "CREATE TABLE sorted AS SELECT * FROM sample ORDER BY series, t, stack");
	run(e, "CHECKPOINT");
	e->sorted_s = (clock_mono_ns() - start_ns) / 1e9;
}

/* The second table's own bytes cannot be told from the file, which has both: from what it grew by. */
static void report(void *engine)
{
	struct duckdb *e = engine;
	printf("bytes %llu\nsorted_rows_bytes %llu\nsorted_s %.2f\n",
	       (unsigned long long)e->plain_bytes,
	       (unsigned long long)(file_bytes(e) - e->plain_bytes), e->sorted_s);
}

/* --- questions ---
 */

static void ask_sql(struct duckdb *e, const char *sql)
{
	query(e, sql, &e->results[e->n_results++]);
}

/* The frames come from the database, names and the tree from the client. */
static void ask_tree(struct duckdb *e, const char *table)
{
	char sql[512];
	void *chunk;
	const struct asked *a = &e->opts.asked;
	snprintf(sql, sizeof sql,
		 "SELECT frames, v FROM (SELECT stack, sum(value)::BIGINT v FROM %s WHERE series = "
		 "%u "
		 "AND t >= %u AND t < %u GROUP BY stack) JOIN stack ON id = stack",
		 table, a->series, a->from, a->to);
	duckdb_result result;
	query(e, sql, &result);
	while ((chunk = e->api.fetch_chunk(result))) {
		void *lists = e->api.data_chunk_get_vector(chunk, 0);
		const duckdb_list_entry *list = e->api.vector_get_data(lists);
		const uint32_t *frames =
			e->api.vector_get_data(e->api.list_vector_get_child(lists));
		const int64_t *v = e->api.vector_get_data(e->api.data_chunk_get_vector(chunk, 1));
		for (uint64_t i = 0; i < e->api.data_chunk_get_size(chunk); i++)
			name_tree_add(&e->tree, e->opts.name_keys, frames + list[i].offset,
				      list[i].length, v[i]);
		e->api.destroy_data_chunk(&chunk);
	}
	e->api.destroy_result(&result);
}

static void ask_diff(struct duckdb *e, const char *table)
{
	const struct asked *a = &e->opts.asked;
	uint32_t before = a->from - (a->to - a->from);
	char sql[512];
	snprintf(sql, sizeof sql,
		 "SELECT stack::BIGINT, coalesce(sum(value) FILTER (t >= %u), 0)::BIGINT, "
		 "coalesce(sum(value) FILTER (t < %u), 0)::BIGINT FROM %s WHERE series = %u AND t "
		 ">= %u "
		 "AND t < %u GROUP BY stack",
		 a->from, a->from, table, a->series, before, a->to);
	ask_sql(e, sql);
}

static void ask_merge(struct duckdb *e, const char *table, uint32_t from, uint32_t to)
{
	char sql[512];
	snprintf(sql, sizeof sql,
		 "SELECT stack::BIGINT, sum(value)::BIGINT FROM %s WHERE t >= %u AND t < %u GROUP "
		 "BY stack",
		 table, from, to);
	ask_sql(e, sql);
}

static void ask_steps(struct duckdb *e, const char *table, uint32_t from, uint32_t to)
{
	char sql[512];
	snprintf(sql, sizeof sql,
		 "SELECT (t // %d * %d + pool)::BIGINT AS cell, sum(value)::BIGINT FROM %s JOIN "
		 "series ON id = "
		 "series WHERE t >= %u AND t < %u GROUP BY cell",
		 STEP_WINDOWS, MODEL_POOLS, table, from, to);
	ask_sql(e, sql);
}

static void ask_filter(struct duckdb *e, const char *table)
{
	char sql[1024];
	snprintf(sql, sizeof sql,
		 "SELECT stack::BIGINT, sum(value)::BIGINT FROM %s WHERE stack IN (SELECT id FROM "
		 "(SELECT id, "
		 "unnest(frames) AS f FROM stack) WHERE f IN (SELECT frame.id FROM frame JOIN "
		 "function ON "
		 "function.id = frame.function WHERE contains(name, '%s'))) GROUP BY stack",
		 table, e->opts.asked.word);
	ask_sql(e, sql);
}

static void ask_table(struct duckdb *e, enum question q, const char *table)
{
	const struct asked *a = &e->opts.asked;
	uint32_t end = model_windows(e->opts.m);
	switch (q) {
	case Q_TREE:
		ask_tree(e, table);
		break;
	case Q_DIFF:
		ask_diff(e, table);
		break;
	case Q_SOME_MERGE:
		ask_merge(e, table, a->some_from, a->some_to);
		break;
	case Q_SOME_STEPS:
		ask_steps(e, table, a->some_from, a->some_to);
		break;
	case Q_STEPS:
		ask_steps(e, table, 0, end);
		break;
	case Q_FILTER:
		ask_filter(e, table);
		break;
	default:
		ask_merge(e, table, 0, end);
	}
}

static bool ask(void *engine, enum question q, int way)
{
	if (q == Q_TREE_ALL || q == Q_ROWS) /* Q_MERGE reads every row */
		return false;
	ask_table(engine, q, way ? "sorted" : "sample");
	return true;
}

/* Of Q_DIFF the third column is the older side. */
static void answer_chunk(struct duckdb *e, enum question q, void *chunk, struct answer *out)
{
	const int64_t *column[3];
	for (int i = 0; i < (q == Q_DIFF ? 3 : 2); i++)
		column[i] = e->api.vector_get_data(e->api.data_chunk_get_vector(chunk, i));
	for (uint64_t i = 0; i < e->api.data_chunk_get_size(chunk); i++) {
		if (column[1][i])
			answer_add(out, column[0][i], column[1][i]);
		if (q == Q_DIFF && column[2][i])
			answer_add(out, older_side(column[0][i]), -column[2][i]);
	}
}

static void answer(void *engine, enum question q, struct answer *out)
{
	struct duckdb *e = engine;
	void *chunk;
	if (q == Q_TREE)
		name_tree_answer(&e->tree, 1, out);
	for (int i = 0; i < e->n_results; i++)
		while ((chunk = e->api.fetch_chunk(e->results[i]))) {
			answer_chunk(e, q, chunk, out);
			e->api.destroy_data_chunk(&chunk);
		}
}

const struct engine_ops duckdb_engine = {
	.name = "duckdb",
	.other_way = "sorted-",
	.batch_windows = 10,
	.open = open_engine,
	.add = add,
	.finish = finish,
	.forget = forget,
	.ask = ask,
	.answer = answer,
	.report = report,
	.close = close_engine,
};
