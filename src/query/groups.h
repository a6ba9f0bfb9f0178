/* query/groups.h: finds the series that a query selects, and the group of each. Only the files of
 * query/plan.h use it. */
#ifndef CRESSET_QUERY_GROUPS_H
#define CRESSET_QUERY_GROUPS_H

#include "base/hash.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/strtab.h"
#include "profile/weight.h"
#include "query/source.h"

struct err;

enum { GROUP_NONE = UINT32_MAX, GROUP_ASK = UINT32_MAX - 1 };

struct groups {
	const struct query *q;
	const struct profile *catalog;
	struct selector_match *match; /* NULL: no selector */
	struct value_scale scale;     /* over the selected series */
	bool *wanted;                 /* by series */
	/* By series: its group; GROUP_NONE: not selected; GROUP_ASK: depends on the row. */
	uint32_t *of_series;
	bool by_rows;     /* some series have GROUP_ASK */
	bool by_ids;      /* of these, pid, tid, cpu or trace of the row decides for some */
	bool by_stack;    /* or the stack may: windows of a series may belong to several groups */
	bool ids_missing; /* ids were needed of rows that are windows */
	uint32_t n_series, n;
	struct strtab texts;
	VEC(uint32_t) keys; /* texts: n_by for each group */
	struct map index;
};

/* -E2BIG: more than QUERY_MAX_GROUPS. groups_done has to be called in any case. */
int groups_init(struct groups *g, const struct query *q, struct err *err);
void groups_done(struct groups *g);

/* Returns the group of a row; GROUP_NONE: not selected, or too many groups. */
uint32_t groups_of_row(struct groups *g, const struct source_row *row);
/* Reads all rows of the selected series; windows of a series that are all in one group come as
 * columns. */
int groups_read(const struct groups *g, int64_t from_ns, int64_t to_ns, source_row_fn row,
		source_columns_fn columns, void *ctx, struct err *err);
int groups_check(const struct groups *g, struct err *err);

/* Returns the group's value of by[i]. */
const char *groups_text(const struct groups *g, uint32_t group, uint32_t i);

static inline int64_t groups_factor(const struct groups *g, uint32_t series)
{
	return value_factor(&g->scale, &g->catalog->series.series.v[series]);
}

#endif
