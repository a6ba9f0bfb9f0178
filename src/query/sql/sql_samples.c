/* The table samples. The source passes rows to a callback, in no particular order, but SQLite takes
 * them one by one, so a scan holds the rows of a slice of time. A slice with too many rows is
 * halved until it fits; the next one starts at its end. If one time alone has too many rows, they
 * are read in several rounds, each of which skips those of earlier rounds.
 *
 * Conditions on series, type and time are pushed down to the source. SQLite checks each condition
 * again, so reading too much is fine, too little is not. */
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "query/source.h"
#include "query/sql/sql_state.h"

#include <errno.h>
#include <string.h>

enum {
	TIME,
	LENGTH,
	TYPE,
	SERIES,
	STACK,
	VALUE,
	PID,
	TID,
	CPU,
	SAMPLE_TYPE,
	TRACE_ID,
	SPAN_ID,
};
static const char schema[] = "CREATE TABLE x(time INTEGER, length INTEGER, type TEXT, series "
			     "INTEGER, stack INTEGER, value INTEGER, "
			     "pid INTEGER, tid INTEGER, cpu INTEGER, sample_type TEXT, "
			     "trace_id TEXT, span_id TEXT)";

/* Rows held by all scans of a statement: 56 MiB. A new scan gets half of the rest, but at least
 * HELD_LEAST. */
/* limit HELD_ROWS: samples a SQL statement holds at a time */
enum { HELD_ROWS = 1 << 20, HELD_LEAST = 4096, LOOK_EVERY = 4096 };

struct held {
	int64_t time_ns, length_ns, value;
	uint32_t series, part, stack, pid, tid, cpu,
		link;  /* in sql.links; 0: none, or not needed */
	uint32_t zero; /* no padding: the content is hashed */
};

struct scan {
	sqlite3_vtab_cursor base;
	struct sql *sql;
	bool *wanted;           /* by series */
	bool needs_part;        /* the stack is used */
	bool needs_link;        /* the trace or the span is used */
	int64_t from_ns, to_ns; /* the rest */
	uint64_t slice_ns;

	/* The current slice. */
	VEC(struct held) rows;
	size_t limit, at;
	uint64_t looked; /* number of rows read so far */
	int64_t slice_from_ns, slice_to_ns;
	uint64_t pass_over, passed;
	const struct profile *last_dict;
	uint32_t last_part;

	/* For xRowid. */
	struct map seen; /* content → number of such rows at this time so far */
	VEC(uint32_t) repeat;
};

static struct scan *scan_of(sqlite3_vtab_cursor *base)
{
	return (struct scan *)base;
}

/* --- reading a slice -------------------------------------------------------------------------- */

enum { ROW_TOO_MANY = 1 }; /* a result of the callback */

static int find_part(struct scan *s, const struct profile *dict)
{
	if (!s->needs_part || dict == s->last_dict)
		return 0;
	s->last_dict = dict;
	s->last_part = sql_part_of(s->sql, dict);
	return s->last_part == UINT32_MAX
		       ? err_set(&s->sql->failed, EBADMSG, "samples of an unknown dictionary")
		       : 0;
}

/* Interns a link for the whole statement, so that its id is the same in all scans. */
static int find_link(struct scan *s, const struct trace_link *link, uint32_t *id)
{
	*id = s->needs_link && link ? link_intern(&s->sql->links, link) : 0;
	return s->needs_link && link && !*id && !link_is_none(link)
		       ? err_set(&s->sql->failed, E2BIG,
				 "the statement looks at more than %d spans of traces", LINK_MAX)
		       : 0;
}

static int hold_row(void *ctx, const struct source_row *r)
{
	struct scan *s = ctx;

	if (s->looked++ % LOOK_EVERY == 0 && sql_must_stop(s->sql))
		return -EINTR;
	if (r->time_ns < s->slice_from_ns || r->time_ns >= s->slice_to_ns)
		return 0; /* of another slice: a window that only overlaps this one */
	if (s->passed < s->pass_over) {
		s->passed++;
		return 0;
	}
	if (s->rows.n == s->limit)
		return ROW_TOO_MANY;
	uint32_t link;
	int rc = find_part(s, r->dict);
	if (rc == 0)
		rc = find_link(s, r->link, &link);
	if (rc)
		return rc;
	vec_push(&s->rows,
		 (struct held){ r->time_ns, r->length_ns, r->value, r->series, s->last_part,
				r->stack, r->pid, r->tid, r->cpu, link, 0 });
	return 0;
}

static int read_slice(struct scan *s)
{
	struct source *source = s->sql->source;
	uint64_t left_ns = (uint64_t)s->to_ns - (uint64_t)s->from_ns;

	vec_clear(&s->rows);
	vec_clear(&s->repeat);
	s->at = s->passed = 0;
	s->slice_from_ns = s->from_ns;
	s->slice_to_ns =
		s->slice_ns < left_ns ? (int64_t)((uint64_t)s->from_ns + s->slice_ns) : s->to_ns;
	return (source->ops->whole_rows ? source->ops->whole_rows : source->ops->rows)(
		source, s->wanted, s->slice_from_ns, s->slice_to_ns, hold_row, s, &s->sql->failed);
}

/* Reads the next slice with rows; none at the end. */
static int fill(struct scan *s)
{
	vec_clear(&s->rows);
	s->at = 0;
	while (s->from_ns < s->to_ns && s->rows.n == 0) {
		int rc = read_slice(s);
		uint64_t slice_ns = (uint64_t)s->slice_to_ns - (uint64_t)s->slice_from_ns;
		if (rc == 0) {
			/* Complete. The next slice is as long, or longer if this one was nearly
			 * empty. */
			s->from_ns = s->slice_to_ns;
			s->pass_over = 0;
			map_clear(&s->seen);
			if (s->rows.n < s->limit / 4 && s->slice_ns <= UINT64_MAX / 4)
				s->slice_ns *= 4;
		} else if (rc == ROW_TOO_MANY && slice_ns > 1) {
			s->slice_ns = slice_ns / 2;
			vec_clear(&s->rows);
		} else if (rc == ROW_TOO_MANY) {
			s->pass_over += s->rows.n;
		} else {
			vec_clear(&s->rows);
			return sql_must_stop(s->sql) ? SQLITE_INTERRUPT : SQLITE_ERROR;
		}
	}
	return SQLITE_OK;
}

/* --- constraints ------------------------------------------------------------------------------ */

enum { PUSH_SERIES = 's', PUSH_TYPE = 't', PUSH_SAMPLE_TYPE = 'y' };
static const struct sql_push columns[] = {
	{ TIME, SQL_PUSH_AT, false },
	{ SERIES, PUSH_SERIES, false },
	{ TYPE, PUSH_TYPE, true },
	{ SAMPLE_TYPE, PUSH_SAMPLE_TYPE, true },
};
static const struct sql_pushes pushes = { .columns = columns,
					  .n = sizeof columns / sizeof *columns,
					  .lists = true,
					  .rows = 1e7,
					  .equal_part = 0.1,
					  .cost = 1e4 };

enum { NEEDS_STACK = 1, NEEDS_LINK = 2 };

/* idxNum: the members that are needed of each row. */
static int best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
	(void)vtab;
	if (info->colUsed & 1ull << STACK)
		info->idxNum = NEEDS_STACK;
	if (info->colUsed & (1ull << TRACE_ID | 1ull << SPAN_ID))
		info->idxNum |= NEEDS_LINK;
	return sql_push_all(info, &pushes);
}

/* Narrows the range to the minimum and maximum of a list. */
static int push_times(struct scan *s, sqlite3_value *list)
{
	int64_t first = INT64_MAX, last = INT64_MIN, t;
	sqlite3_value *v;
	int rc;

	for (rc = sqlite3_vtab_in_first(list, &v); rc == SQLITE_OK;
	     rc = sqlite3_vtab_in_next(list, &v)) {
		if (sql_integer_of(v, false, &t) && t < first)
			first = t;
		if (sql_integer_of(v, true, &t) && t > last)
			last = t;
	}
	if (first > s->from_ns)
		s->from_ns = first;
	if (last < INT64_MAX && last + 1 < s->to_ns)
		s->to_ns = last + 1;
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static const struct series_table *catalog_series(const struct sql *sql)
{
	return &sql->source->ops->catalog(sql->source)->series;
}

/* Marks the series that match one value of a constraint. */
static void mark(const struct sql *sql, char push, sqlite3_value *v, bool *marked)
{
	const struct profile *catalog = sql->source->ops->catalog(sql->source);
	const struct series_table *t = &catalog->series;
	int64_t id;

	if (push == PUSH_SERIES) {
		if (sql_integer_of(v, false, &id) && id >= 0 && (uint64_t)id < t->series.n)
			marked[id] = true;
		return;
	}
	for (uint32_t i = 0; i < t->series.n; i++) {
		const struct type *type = &t->types.v[t->series.v[i].type];
		if (sql_string_is(catalog, push == PUSH_TYPE ? type->name : type->sample_type, v))
			marked[i] = true;
	}
}

/* Drops series that do not match a constraint. */
static int push_series(struct scan *s, char push, sqlite3_value *v)
{
	uint32_t n = catalog_series(s->sql)->series.n;
	bool *marked = xcalloc(n + 1, 1);
	sqlite3_value *each;
	int rc = SQLITE_DONE;

	if (push >= 'a')
		mark(s->sql, push, v, marked);
	else
		for (rc = sqlite3_vtab_in_first(v, &each); rc == SQLITE_OK;
		     rc = sqlite3_vtab_in_next(v, &each))
			mark(s->sql, push - SQL_PUSH_LIST, each, marked);
	for (uint32_t i = 0; i < n; i++)
		s->wanted[i] &= marked[i];
	free(marked);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static bool wants_any(const struct scan *s)
{
	return memchr(s->wanted, true, catalog_series(s->sql)->series.n) != NULL;
}

static void start(struct scan *s)
{
	struct source *source = s->sql->source;
	uint32_t n = catalog_series(s->sql)->series.n;

	free(s->wanted);
	s->wanted = xmalloc(n + 1);
	memset(s->wanted, true, n + 1);
	source->ops->range(source, &s->from_ns, &s->to_ns);
	s->to_ns += s->to_ns < INT64_MAX; /* including the last moment */
	s->slice_ns = UINT64_MAX;
	s->pass_over = 0;
	s->last_dict = NULL;
	s->last_part = 0;
	map_clear(&s->seen);
}

static int filter(sqlite3_vtab_cursor *base, int needs, const char *pushed, int argc,
		  sqlite3_value **argv)
{
	struct scan *s = scan_of(base);
	int rc = SQLITE_OK;

	start(s);
	s->needs_part = needs & NEEDS_STACK;
	s->needs_link = needs & NEEDS_LINK;
	if (s->needs_part)
		rc = sql_find_parts(s->sql);
	for (int i = 0; rc == SQLITE_OK && i < argc; i++) {
		if (pushed[i] == SQL_PUSH_AT + SQL_PUSH_LIST)
			rc = push_times(s, argv[i]);
		else if (pushed[i] == SQL_PUSH_AT || strchr("<>", pushed[i]))
			sql_push_time(argv[i], pushed[i], &s->from_ns, &s->to_ns);
		else
			rc = push_series(s, pushed[i], argv[i]);
	}
	if (!wants_any(s))
		s->to_ns = s->from_ns;
	if (rc == SQLITE_OK)
		rc = fill(s);
	return sql_vtab_fail(base->pVtab, rc);
}

/* --- the table -------------------------------------------------------------------------------- */

static int open_scan(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out)
{
	struct scan *s = xcalloc(1, sizeof *s);
	size_t held;

	s->sql = ((struct sql_vtab *)vtab)->sql;
	held = s->sql->held_rows;
	s->limit = held < HELD_ROWS ? (HELD_ROWS - held) / 2 : 0;
	s->limit = s->limit > HELD_LEAST ? s->limit : HELD_LEAST;
	s->sql->held_rows += s->limit;
	*out = &s->base;
	return SQLITE_OK;
}

static int close_scan(sqlite3_vtab_cursor *base)
{
	struct scan *s = scan_of(base);

	s->sql->held_rows -= s->limit;
	free(s->wanted);
	vec_done(&s->rows);
	vec_done(&s->repeat);
	map_done(&s->seen);
	free(s);
	return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *base)
{
	struct scan *s = scan_of(base);

	if (++s->at < s->rows.n)
		return SQLITE_OK;
	return sql_vtab_fail(base->pVtab, fill(s));
}

static int eof(sqlite3_vtab_cursor *base)
{
	return scan_of(base)->at >= scan_of(base)->rows.n;
}

static void result_type(const struct scan *s, const struct held *r, bool sample_type,
			sqlite3_context *ctx)
{
	const struct profile *catalog = s->sql->source->ops->catalog(s->sql->source);
	const struct type *t = &catalog->series.types.v[catalog->series.series.v[r->series].type];

	sql_result_string(ctx, catalog, sample_type ? t->sample_type : t->name);
}

static void result_id(uint32_t id, sqlite3_context *ctx)
{
	if (id != SAMPLE_NO_ID)
		sqlite3_result_int64(ctx, id);
}

static void result_link(const struct scan *s, uint32_t id, bool span, sqlite3_context *ctx)
{
	static const uint8_t none[LINK_TRACE_BYTES];
	const struct trace_link *link = link_get(&s->sql->links, id);
	char text[LINK_TEXT_BYTES];

	if (!link || memcmp(span ? link->span : link->trace, none,
			    span ? LINK_SPAN_BYTES : LINK_TRACE_BYTES) == 0)
		return;
	link_text(span ? link->span : link->trace, span ? LINK_SPAN_BYTES : LINK_TRACE_BYTES, text);
	sqlite3_result_text(ctx, text, -1, SQLITE_TRANSIENT);
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int i)
{
	const struct scan *s = scan_of(base);
	const struct held *r = &s->rows.v[s->at];

	switch (i) {
	case TIME:
		sqlite3_result_int64(ctx, r->time_ns);
		break;
	case LENGTH:
		sqlite3_result_int64(ctx, r->length_ns);
		break;
	case TYPE:
	case SAMPLE_TYPE:
		result_type(s, r, i == SAMPLE_TYPE, ctx);
		break;
	case SERIES:
		sqlite3_result_int64(ctx, r->series);
		break;
	case STACK:
		sqlite3_result_int64(ctx, sql_id(r->part, r->stack));
		break;
	case VALUE:
		sqlite3_result_int64(ctx, r->value);
		break;
	case PID:
		result_id(r->pid, ctx);
		break;
	case TID:
		result_id(r->tid, ctx);
		break;
	case CPU:
		result_id(r->cpu, ctx);
		break;
	case TRACE_ID:
	case SPAN_ID:
		result_link(s, r->link, i == SPAN_ID, ctx);
		break;
	}
	return SQLITE_OK;
}

/* --- rowids ----------------------------------------------------------------------------------- */

static uint64_t content_of(const struct held *r)
{
	return hash_bytes(r, sizeof *r);
}

/* SQLite identifies rows by their ids if several scans (a OR b) may return the same row, so the id
 * must be the same in each scan. It is made from the row's content and the number of equal rows
 * before it; equal rows have the same time, so they are in one slice. */
static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
	struct scan *s = scan_of(base);

	while (s->repeat.n < s->rows.n) {
		uint64_t content = content_of(&s->rows.v[s->repeat.n]);
		uint32_t *n = map_get(&s->seen, content);
		uint32_t before = n ? *n : 0;
		vec_push(&s->repeat, before);
		map_put(&s->seen, content, before + 1);
	}
	*out = (sqlite3_int64)hash_mix(content_of(&s->rows.v[s->at]), s->repeat.v[s->at]);
	return SQLITE_OK;
}

static const sqlite3_module module = {
	.xConnect = sql_vtab_connect,
	.xBestIndex = best_index,
	.xDisconnect = sql_vtab_disconnect,
	.xOpen = open_scan,
	.xClose = close_scan,
	.xFilter = filter,
	.xNext = next,
	.xEof = eof,
	.xColumn = column,
	.xRowid = rowid,
};

int sql_samples_register(struct sql *sql)
{
	return sql_module_add(sql, "samples", schema, &module, NULL);
}
