/* query/groups.h: which series a query asks for, and which of its groups each belongs to. Only the files of query/plan.h use it. */
#ifndef CRESSET_QUERY_GROUPS_H
#define CRESSET_QUERY_GROUPS_H

#include "profile/weight.h"
#include "query/plan.h"

enum { GROUP_NONE = UINT32_MAX, GROUP_ASK = UINT32_MAX - 1 };

struct groups {
	const struct query *q;
	const struct profile *catalog;
	struct selector_match *match; /* NULL: no selector */
	struct value_scale scale;     /* over the series that are wanted */
	bool *wanted;                 /* by series */
	/* By series: its group; GROUP_NONE: not wanted; GROUP_ASK: each row says. */
	uint32_t *of_series;
	bool by_rows;     /* some say GROUP_ASK */
	bool by_ids;      /* of these, pid, tid, cpu or trace of their rows decide */
	bool by_stack;    /* or the stack may: windows of one series are not of one group */
	bool ids_missing; /* of rows that were asked: they were windows */
	uint32_t n_series, n;
	struct strtab texts;
	VEC(uint32_t) keys; /* texts: n_by for each group */
	struct map index;
};

/* -E2BIG with words when there are more than QUERY_MAX_GROUPS. g is to be done in any case. */
int groups_init(struct groups *g, const struct query *q, struct err *err);
void groups_done(struct groups *g);

/* GROUP_NONE: the row is not selected, or there are too many groups. */
uint32_t groups_of_row(struct groups *g, const struct source_row *row);
/* Gives all rows of the series that are wanted: windows of a series that are all of one group many at once. */
int groups_read(const struct groups *g, int64_t from_ns, int64_t to_ns, source_row_fn row,
		source_columns_fn columns, void *ctx, struct err *err);
int groups_check(const struct groups *g, struct err *err);

/* The value of by[i]. */
const char *groups_text(const struct groups *g, uint32_t group, uint32_t i);

static inline int64_t groups_factor(const struct groups *g, uint32_t series)
{
	return value_factor(&g->scale, &g->catalog->series.series.v[series]);
}

#endif
