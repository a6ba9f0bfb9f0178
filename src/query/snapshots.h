/* query/snapshots.h: which rows are of the last complete snapshot of their origin (query/plan.h). Only the files of query/plan.h use
 * it. */
#ifndef CRESSET_QUERY_SNAPSHOTS_H
#define CRESSET_QUERY_SNAPSHOTS_H

#include "query/plan.h"

struct snapshots {
	const struct query *q;
	uint32_t *name_of_series; /* of its labels that tell origins apart */
	struct strtab names;
	struct map index;       /* (name, pid) → origin */
	VEC(int64_t) latest_ns; /* by origin; INT64_MIN: not known yet */
};

bool query_is_snapshot(const struct query *q);

void snapshots_init(struct snapshots *s, const struct query *q);
void snapshots_done(struct snapshots *s);

uint32_t snapshots_origin(struct snapshots *s, const struct source_row *row);

/* Every row of the query's type from from_ns to the end of its range, of all series: one that is not asked for may be what says that
 * there is a later snapshot. */
int snapshots_rows(const struct snapshots *s, int64_t from_ns, source_row_fn row, void *ctx,
		   struct err *err);

/* Finds the latest of each origin that is not stale; then says of a row whether it is of it. */
int snapshots_find(struct snapshots *s, struct err *err);
bool snapshots_has(struct snapshots *s, const struct source_row *row);

/* Where rows that can be of these begin. */
int64_t snapshots_from_ns(const struct query *q);

#endif
