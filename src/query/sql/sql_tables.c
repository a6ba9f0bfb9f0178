/* The tables that samples refer to. Each is a list of ids in each dictionary (or in the catalog)
 * with some rows for each id; if a statement gives the id, only its rows are visited. */
#include "base/hash.h"
#include "base/mem.h"
#include "profile/frame.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/strtab.h"
#include "query/catalog.h"
#include "query/source.h"
#include "query/sql/sql_state.h"

/* A row: item `item` of id `id` in part `part`. */
struct place {
	struct sql *sql;
	uint32_t part, id, item;
	const struct profile *p;         /* the dictionary, or the catalog */
	const struct frame_names *names; /* of the dictionary */
	struct stack_lines lines;        /* for stacks and frames: those of id */
};

struct table {
	const char *name, *schema;
	int key;         /* column of the id */
	bool is_catalog; /* from the catalog, otherwise from every dictionary */
	uint32_t (*n_ids)(const struct place *at);
	uint32_t (*n_items)(struct place *at);
	void (*column)(const struct place *at, int column, sqlite3_context *ctx);
};

static uint32_t one_item(struct place *at)
{
	(void)at;
	return 1;
}

static void result_string(const struct place *at, uint32_t string, sqlite3_context *ctx)
{
	sql_result_string(ctx, at->p, string);
}

/* NULL if unknown. */
static void result_known(const struct place *at, uint32_t string, sqlite3_context *ctx)
{
	if (string)
		result_string(at, string, ctx);
}

static void result_number(uint32_t v, sqlite3_context *ctx)
{
	if (v)
		sqlite3_result_int64(ctx, v);
}

/* --- stacks ----------------------------------------------------------------------------------- */

static uint32_t stacks_n(const struct place *at)
{
	return at->sql->parts.v[at->part].n_stacks;
}

static uint32_t stacks_items(struct place *at)
{
	stack_lines_get(&at->lines, at->names, at->id);
	return 1;
}

static const struct named_function *function_of(const struct place *at, size_t line)
{
	return &at->names->functions.v[at->lines.lines.v[line].function];
}

/* Hashes the names, so that it is the same in all dictionaries. */
static int64_t hash_names(const struct place *at)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < at->lines.lines.n; i++) {
		uint32_t name = function_of(at, i)->name;
		hash = hash_mix(hash, hash_bytes(profile_str(at->p, name),
						 strtab_len(&at->p->strings, name)));
	}
	return (int64_t)hash;
}

static void result_stack_id(const struct place *at, sqlite3_context *ctx)
{
	struct stack_ids *ids = &at->sql->parts.v[at->part].stack_ids;
	struct stack_id id = stack_id_of(ids, at->p, at->id);
	char text[STACK_ID_TEXT_BYTES];

	stack_id_text(&id, text);
	sqlite3_result_text(ctx, text, -1, SQLITE_TRANSIENT);
}

static void stacks_column(const struct place *at, int column, sqlite3_context *ctx)
{
	size_t depth = at->lines.lines.n;

	switch (column) {
	case 0:
		sqlite3_result_int64(ctx, sql_id(at->part, at->id));
		break;
	case 1:
		sqlite3_result_int64(ctx, depth);
		break;
	case 2:
		if (depth)
			result_string(at, function_of(at, 0)->name, ctx);
		break;
	case 3:
		if (depth)
			result_string(at, function_of(at, depth - 1)->name, ctx);
		break;
	case 4:
		sqlite3_result_int64(ctx, hash_names(at));
		break;
	case 5:
		result_stack_id(at, ctx);
		break;
	}
}

/* --- frames ----------------------------------------------------------------------------------- */

static uint32_t frames_items(struct place *at)
{
	stacks_items(at);
	return at->lines.lines.n;
}

static void result_build_id(const struct place *at, const struct mapping *m, sqlite3_context *ctx)
{
	char text[2 * BUILD_ID_MAX + 1];

	for (int i = 0; i < m->build_id_len; i++)
		snprintf(text + 2 * i, 3, "%02x", m->build_id[i]);
	if (m->build_id_len)
		sqlite3_result_text(ctx, text, 2 * m->build_id_len, SQLITE_TRANSIENT);
	else
		result_known(at, m->build_id_text, ctx);
}

static void frames_mapping(const struct place *at, int column, sqlite3_context *ctx)
{
	const struct frame *f = &at->p->frames.frames.v[at->lines.lines.v[at->item].frame];

	if (f->mapping == MAPPING_NONE)
		return; /* NULL */
	const struct mapping *m = &at->p->frames.mappings.v[f->mapping];
	if (column == 10)
		sqlite3_result_int64(ctx, f->offset);
	else if (column == 9)
		result_build_id(at, m, ctx);
	else
		result_string(at, m->name, ctx);
}

static void frames_column(const struct place *at, int column, sqlite3_context *ctx)
{
	const struct stack_line *l = &at->lines.lines.v[at->item];
	const struct named_function *f = &at->names->functions.v[l->function];

	switch (column) {
	case 0:
		sqlite3_result_int64(ctx, sql_id(at->part, at->id));
		break;
	case 1:
		sqlite3_result_int64(ctx, at->item);
		break;
	case 2:
		sqlite3_result_text(ctx, frame_kinds[f->kind].name, -1, SQLITE_STATIC);
		break;
	case 3:
		result_string(at, f->name, ctx);
		break;
	case 4:
		result_known(at, f->file, ctx);
		break;
	case 5:
		result_number(l->line, ctx);
		break;
	case 6:
		result_known(at, f->binary, ctx);
		break;
	case 7:
		sqlite3_result_int(ctx, l->inlined);
		break;
	case 11:
		sqlite3_result_int64(ctx, sql_id(at->part, l->function));
		break;
	default:
		frames_mapping(at, column, ctx);
	}
}

/* --- functions -------------------------------------------------------------------------------- */

static uint32_t functions_n(const struct place *at)
{
	return at->names->functions.n;
}

static void functions_column(const struct place *at, int column, sqlite3_context *ctx)
{
	const struct named_function *f = &at->names->functions.v[at->id];

	switch (column) {
	case 0:
		sqlite3_result_int64(ctx, sql_id(at->part, at->id));
		break;
	case 1:
		result_string(at, f->name, ctx);
		break;
	case 2:
		result_known(at, f->file, ctx);
		break;
	case 3:
		result_known(at, f->binary, ctx);
		break;
	case 4:
		sqlite3_result_text(ctx, frame_kinds[f->kind].name, -1, SQLITE_STATIC);
		break;
	}
}

/* --- series and labels ------------------------------------------------------------------------ */

static uint32_t series_n(const struct place *at)
{
	return at->p->series.series.n;
}

static uint32_t series_items(struct place *at)
{
	return !series_is_free(&at->p->series, at->id);
}

static void series_column(const struct place *at, int column, sqlite3_context *ctx)
{
	const struct series *s = &at->p->series.series.v[at->id];
	const struct type *t = &at->p->series.types.v[s->type];

	switch (column) {
	case 0:
		sqlite3_result_int64(ctx, at->id);
		break;
	case 1:
		result_string(at, t->name, ctx);
		break;
	case 2:
		result_string(at, t->sample_type, ctx);
		break;
	case 3:
		result_string(at, t->unit, ctx);
		break;
	case 4:
		if (s->period)
			sqlite3_result_int64(ctx, s->period);
		break;
	case 5:
		result_known(at, t->period_type, ctx);
		break;
	case 6:
		result_known(at, t->period_unit, ctx);
		break;
	case 7:
		sqlite3_result_text(ctx, catalog_aggregation(t), -1, SQLITE_STATIC);
		break;
	}
}

static const struct label_set *label_set(const struct place *at)
{
	return &at->p->series.sets.v[at->p->series.series.v[at->id].labels];
}

static uint32_t labels_items(struct place *at)
{
	return label_set(at)->n;
}

static void labels_column(const struct place *at, int column, sqlite3_context *ctx)
{
	const struct label *l = &at->p->series.labels.v[label_set(at)->first + at->item];

	switch (column) {
	case 0:
		sqlite3_result_int64(ctx, at->id);
		break;
	case 1:
		result_string(at, l->key, ctx);
		break;
	case 2:
		if (l->is_num)
			sqlite3_result_int64(ctx, l->num);
		else
			result_string(at, l->str, ctx);
		break;
	case 3:
		result_known(at, l->unit, ctx);
		break;
	}
}

/* --- all -------------------------------------------------------------------------------------- */

static const struct table tables[] = {
	{ "stacks",
	  "CREATE TABLE x(stack INTEGER, depth INTEGER, root TEXT, leaf TEXT, hash INTEGER, "
	  "stack_id TEXT)",
	  0, false, stacks_n, stacks_items, stacks_column },
	{ "frames",
	  "CREATE TABLE x(stack INTEGER, depth INTEGER, kind TEXT, function TEXT, file TEXT, line "
	  "INTEGER, binary TEXT, "
	  "inlined INTEGER, mapping TEXT, build_id TEXT, offset INTEGER, function_id INTEGER)",
	  0, false, stacks_n, frames_items, frames_column },
	{ "functions", "CREATE TABLE x(id INTEGER, name TEXT, file TEXT, binary TEXT, kind TEXT)",
	  0, false, functions_n, one_item, functions_column },
	{ "series",
	  "CREATE TABLE x(id INTEGER, type TEXT, sample_type TEXT, unit TEXT, period INTEGER, "
	  "period_type TEXT, "
	  "period_unit TEXT, aggregation TEXT)",
	  0, true, series_n, series_items, series_column },
	{ "labels", "CREATE TABLE x(series INTEGER, key TEXT, value, unit TEXT)", 0, true, series_n,
	  labels_items, labels_column },
};

struct cursor {
	sqlite3_vtab_cursor base;
	struct place at;
	uint32_t items, end_part, end_id;
	bool done;
};

static struct cursor *cursor_of(sqlite3_vtab_cursor *base)
{
	return (struct cursor *)base;
}
static const struct table *table_of(sqlite3_vtab_cursor *base)
{
	return ((struct sql_vtab *)base->pVtab)->table;
}

/* idxNum 1: the id is given. */
static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	const struct table *table = ((struct sql_vtab *)base)->table;

	info->estimatedCost = 1e5;
	info->estimatedRows = 100000;
	for (int i = 0; i < info->nConstraint; i++) {
		if (info->aConstraint[i].iColumn != table->key || !info->aConstraint[i].usable ||
		    info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ)
			continue;
		info->aConstraintUsage[i].argvIndex = 1;
		info->idxNum = 1;
		info->estimatedCost = 10;
		info->estimatedRows = 10;
		break;
	}
	return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
	struct cursor *c = xcalloc(1, sizeof *c);

	c->at.sql = ((struct sql_vtab *)base)->sql;
	*out = &c->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	stack_lines_done(&cursor_of(base)->at.lines);
	free(base);
	return SQLITE_OK;
}

static void enter_part(struct cursor *c, const struct table *table)
{
	struct place *at = &c->at;
	struct source *source = at->sql->source;

	if (table->is_catalog) {
		at->p = source->ops->catalog(source);
		return;
	}
	at->names = sql_names(at->sql, at->part);
	at->p = at->names->dict;
}

/* Advances from an id to the first one with rows. */
static void settle(struct cursor *c, const struct table *table)
{
	struct place *at = &c->at;

	for (; at->part < c->end_part; at->part++, at->id = 0) {
		enter_part(c, table);
		uint32_t n = table->n_ids(at), end = n < c->end_id ? n : c->end_id;
		for (; at->id < end; at->id++) {
			at->item = 0;
			c->items = table->n_items(at);
			if (c->items)
				return;
		}
	}
	c->done = true;
}

/* Limits the scan to the rows of one id; none if it does not exist. */
static void go_to(struct cursor *c, int64_t id)
{
	bool fits = id >= 0 && (uint64_t)id >> 32 < c->end_part && (uint32_t)id < UINT32_MAX;

	c->at.part = (uint64_t)id >> 32;
	c->at.id = (uint32_t)id;
	c->end_part = fits ? c->at.part + 1 : 0;
	c->end_id = c->at.id + 1;
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *name, int argc,
		  sqlite3_value **argv)
{
	struct cursor *c = cursor_of(base);
	const struct table *table = table_of(base);
	struct sql *sql = c->at.sql;

	(void)name, (void)argc;
	if (!table->is_catalog && sql_find_parts(sql) != SQLITE_OK)
		return sql_vtab_fail(base->pVtab, SQLITE_ERROR);
	c->done = false;
	c->at.part = c->at.id = 0;
	c->end_part = table->is_catalog ? 1 : sql->parts.n;
	c->end_id = UINT32_MAX;
	if (number == 1) {
		int64_t id = -1;
		sql_integer_of(argv[0], false, &id);
		go_to(c, id);
	}
	settle(c, table);
	return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *base)
{
	struct cursor *c = cursor_of(base);

	if (++c->at.item == c->items) {
		c->at.id++;
		settle(c, table_of(base));
	}
	return SQLITE_OK;
}

static int eof(sqlite3_vtab_cursor *base)
{
	return cursor_of(base)->done;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int i)
{
	table_of(base)->column(&cursor_of(base)->at, i, ctx);
	return SQLITE_OK;
}

/* The same in every scan: SQLite identifies rows by it if it scans twice (a OR b). */
static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
	const struct place *at = &cursor_of(base)->at;

	*out = (sqlite3_int64)hash_mix(sql_id(at->part, at->id), at->item);
	return SQLITE_OK;
}

static const sqlite3_module module = {
	.xConnect = sql_vtab_connect,
	.xBestIndex = best_index,
	.xDisconnect = sql_vtab_disconnect,
	.xOpen = open_cursor,
	.xClose = close_cursor,
	.xFilter = filter,
	.xNext = next,
	.xEof = eof,
	.xColumn = column,
	.xRowid = rowid,
};

int sql_tables_register(struct sql *sql)
{
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < sizeof tables / sizeof *tables; i++)
		rc = sql_module_add(sql, tables[i].name, tables[i].schema, &module, &tables[i]);
	return rc;
}
