/* query/row_sums.h: rows of a source added up by group and stack, where series alone do not say which group a row is in, or where only
 * the last snapshot counts (query/plan.h). Only the files of query/plan.h use it. */
#ifndef CRESSET_QUERY_ROW_SUMS_H
#define CRESSET_QUERY_ROW_SUMS_H

#include "profile/tree_sums.h"
#include "query/groups.h"
#include "query/snapshots.h"

struct row_sum {
	uint32_t dict, group, stack;
	int64_t value; /* in the unit of the answer */
	double count, squares;
	uint32_t rows;
};
struct row_sums {
	struct groups *groups;
	const struct guard *guard;
	struct snapshots *snapshots; /* NULL: everything counts */
	VEC(struct profile *) dicts;
	VEC(struct row_sum) all;
	struct map index;
	struct sample_weight *weights; /* by series */
	uint32_t last_dict;
	uint64_t rows;
	struct err *err;
};

/* Reads everything the query asks for. r is to be done in any case. */
int row_sums_read(struct row_sums *r, struct groups *g, const struct guard *guard, struct err *err);
void row_sums_done(struct row_sums *r);

/* Sums of one group and one dictionary, stacks ascending; the next ones at each call, by dictionary, then group. False at the end. The
 * arrays are the iterator's. */
struct row_sums_at {
	size_t next;
	struct profile *dict;
	uint32_t group;
	struct stack_values sums;
	VEC(uint32_t) stack;
	VEC(int64_t) value;
	VEC(double) count, squares;
	VEC(uint32_t) rows;
};
bool row_sums_next(struct row_sums *r, struct row_sums_at *at);
void row_sums_at_done(struct row_sums_at *at);

#endif
