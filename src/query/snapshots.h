/* query/snapshots.h: finds the rows of the last complete snapshot of their origin (query/plan.h).
 * Only the files of query/plan.h use it. */
#ifndef CRESSET_QUERY_SNAPSHOTS_H
#define CRESSET_QUERY_SNAPSHOTS_H

#include "base/hash.h"
#include "base/vec.h"
#include "profile/strtab.h"
#include "query/source.h"

#include <stdbool.h>
#include <stdint.h>

struct err;

struct snapshots {
	const struct query *q;
	uint32_t *name_of_series; /* id of the labels that identify its origin */
	struct strtab names;
	struct map index;       /* (name, pid) → origin */
	VEC(int64_t) latest_ns; /* by origin; INT64_MIN: unknown */
};

bool query_is_snapshot(const struct query *q);

void snapshots_init(struct snapshots *s, const struct query *q);
void snapshots_done(struct snapshots *s);

uint32_t snapshots_origin(struct snapshots *s, const struct source_row *row);

/* Reads all rows of the query's type from from_ns to the end of its range, of all series: a series
 * that is not selected may show that there is a later snapshot. */
int snapshots_rows(const struct snapshots *s, int64_t from_ns, source_row_fn row, void *ctx,
		   struct err *err);

/* snapshots_find finds the latest snapshot of each origin that is not stale; snapshots_has then
 * returns whether a row belongs to it. */
int snapshots_find(struct snapshots *s, struct err *err);
bool snapshots_has(struct snapshots *s, const struct source_row *row);

/* Returns the earliest time of rows that can belong to these. */
int64_t snapshots_from_ns(const struct query *q);

#endif
