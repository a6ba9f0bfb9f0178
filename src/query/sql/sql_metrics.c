/* The table metrics: points of metric series, one series after the other, a day at a time.
 * Conditions on series, name and time are pushed down; SQLite checks each again, so reading too
 * much is fine, too little is not. */
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/sum.h"
#include "query/source.h"
#include "query/sql/sql_state.h"
#include "store/codec/metric.h"

#include <errno.h>
#include <string.h>

enum { TIME, NAME, VALUE, SERIES };
static const char schema[] = "CREATE TABLE x(time INTEGER, name TEXT, value REAL, series INTEGER)";

#define SLICE_NS INT64_C(86400000000000)

struct scan {
	sqlite3_vtab_cursor base;
	struct sql *sql;
	int64_t from_ns, to_ns;
	bool *wanted;     /* by series */
	uint32_t series;  /* current */
	int64_t slice_ns; /* start of its next slice */
	struct metric_points points;
	size_t at;
};

static struct scan *scan_of(sqlite3_vtab_cursor *base)
{
	return (struct scan *)base;
}

static const struct profile *catalog_of(const struct scan *s)
{
	return s->sql->source->ops->catalog(s->sql->source);
}

/* --- reading ---------------------------------------------------------------------------------- */

static int hold_points(void *ctx, const struct metric_point *points, size_t n)
{
	struct scan *s = ctx;

	if (sql_must_stop(s->sql))
		return -EINTR;
	if (s->points.n + n > METRIC_MAX_POINTS)
		return err_set(&s->sql->failed, E2BIG,
			       "more than %d points of a metric in a day: select a shorter range",
			       METRIC_MAX_POINTS);
	vec_append(&s->points, points, n);
	return 0;
}

static int read_slice(struct scan *s)
{
	struct source *source = s->sql->source;
	int64_t from_ns = s->slice_ns, end_ns = sum_add(from_ns, SLICE_NS);

	s->slice_ns = end_ns < s->to_ns ? end_ns : s->to_ns;
	return source->ops->points(source, s->series, from_ns, s->slice_ns, hold_points, s,
				   &s->sql->failed);
}

/* Reads the next slice with points; none at the end. */
static int fill(struct scan *s)
{
	uint32_t n = s->sql->source->ops->points ? catalog_of(s)->series.series.n : 0;

	vec_clear(&s->points);
	s->at = 0;
	while (s->points.n == 0 && s->series < n) {
		if (!s->wanted[s->series] || s->slice_ns >= s->to_ns) {
			s->series++;
			s->slice_ns = s->from_ns;
			continue;
		}
		if (read_slice(s))
			return sql_must_stop(s->sql) ? SQLITE_INTERRUPT : SQLITE_ERROR;
	}
	return SQLITE_OK;
}

/* --- constraints ------------------------------------------------------------------------------ */

enum { PUSH_SERIES = 's', PUSH_NAME = 'n' };
static const struct sql_push columns[] = {
	{ TIME, SQL_PUSH_AT, false },
	{ SERIES, PUSH_SERIES, false },
	{ NAME, PUSH_NAME, true },
};
static const struct sql_pushes pushes = { .columns = columns,
					  .n = sizeof columns / sizeof *columns,
					  .rows = 1e6,
					  .equal_part = 0.05,
					  .cost = 1e3 };

static int best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
	(void)vtab;
	return sql_push_all(info, &pushes);
}

static bool is_asked(const struct scan *s, uint32_t series, char push, sqlite3_value *v)
{
	const struct profile *p = catalog_of(s);
	uint32_t name = p->series.types.v[p->series.series.v[series].type].name;
	int64_t id;

	if (push == PUSH_SERIES)
		return sql_integer_of(v, false, &id) && id == series;
	return sql_string_is(p, name, v);
}

static void start(struct scan *s)
{
	const struct profile *p = catalog_of(s);
	uint32_t n = p->series.series.n;

	free(s->wanted);
	s->wanted = xcalloc(n + 1, sizeof *s->wanted);
	for (uint32_t i = 0; i < n; i++)
		s->wanted[i] = type_is_metric(&p->series.types.v[p->series.series.v[i].type]);
	s->sql->source->ops->range(s->sql->source, &s->from_ns, &s->to_ns);
	s->series = 0;
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *pushed, int argc,
		  sqlite3_value **argv)
{
	struct scan *s = scan_of(base);

	(void)number;
	start(s);
	for (int i = 0; i < argc; i++) {
		if (pushed[i] == SQL_PUSH_AT || strchr("<>", pushed[i]))
			sql_push_time(argv[i], pushed[i], &s->from_ns, &s->to_ns);
		else
			for (uint32_t k = 0; k < catalog_of(s)->series.series.n; k++)
				s->wanted[k] &= is_asked(s, k, pushed[i], argv[i]);
	}
	s->slice_ns = s->from_ns;
	return sql_vtab_fail(base->pVtab, fill(s));
}

/* --- the table -------------------------------------------------------------------------------- */

static int open_scan(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out)
{
	struct scan *s = xcalloc(1, sizeof *s);

	s->sql = ((struct sql_vtab *)vtab)->sql;
	*out = &s->base;
	return SQLITE_OK;
}

static int close_scan(sqlite3_vtab_cursor *base)
{
	struct scan *s = scan_of(base);

	free(s->wanted);
	vec_done(&s->points);
	free(s);
	return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *base)
{
	struct scan *s = scan_of(base);

	if (++s->at < s->points.n)
		return SQLITE_OK;
	return sql_vtab_fail(base->pVtab, fill(s));
}

static int eof(sqlite3_vtab_cursor *base)
{
	return scan_of(base)->at >= scan_of(base)->points.n;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int i)
{
	const struct scan *s = scan_of(base);
	const struct profile *p = catalog_of(s);
	const struct metric_point *point = &s->points.v[s->at];

	switch (i) {
	case TIME:
		sqlite3_result_int64(ctx, point->time_ns);
		break;
	case NAME:
		sql_result_string(ctx, p,
				  p->series.types.v[p->series.series.v[s->series].type].name);
		break;
	case VALUE:
		sqlite3_result_double(ctx, point->value);
		break;
	case SERIES:
		sqlite3_result_int64(ctx, s->series);
		break;
	}
	return SQLITE_OK;
}

/* A series has one point at a time. */
static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
	const struct scan *s = scan_of(base);

	*out = (sqlite3_int64)hash_mix(s->series, (uint64_t)s->points.v[s->at].time_ns);
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

int sql_metrics_register(struct sql *sql)
{
	return sql_module_add(sql, "metrics", schema, &module, NULL);
}
