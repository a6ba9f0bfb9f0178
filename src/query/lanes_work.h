/* query/lanes_work.h: what the files of query/lanes.h share: lanes.c chooses lanes and buckets, lanes_read.c reads, lanes_spans.c makes spans. */
#ifndef CRESSET_QUERY_LANES_WORK_H
#define CRESSET_QUERY_LANES_WORK_H

#include "query/groups.h"
#include "query/lanes.h"
#include "query/stack_facts.h"
#include "query/steps.h"

/* One sample that is looked at by itself. */
struct lane_row {
	int64_t time_ns, length_ns;
	int64_t value_ns;
	uint32_t key, fact;
	uint32_t state; /* enum lane_state */
	uint32_t is_moment;
};
/* A type that is asked, with the groups of its series. */
struct lane_type {
	struct lanes_work *work;
	struct query q; /* groups refers to it */
	struct groups groups;
	int64_t *ns;           /* by series: what a value is worth; 0: no time */
	enum lane_state state; /* where no stack says another */
	bool by_stack;         /* stacks say the state, or whether the sample counts */
	bool is_gpu;           /* what ran on GPUs */
	VEC(uint32_t) key_of;  /* by group; KEY_UNKNOWN */
	/* By stack of a dictionary, for windows: where its values go. */
	struct profile *goes_dict;
	VEC(uint8_t) goes; /* GOES_UNKNOWN, GOES_NOWHERE, or its enum lane_state behind these */
};
struct lane_sum {
	int64_t total_ns[LANE_STATES];
};
struct lanes_work {
	const struct query *q;
	const struct lanes_opts *opts;
	struct guard guard;
	struct query_lanes *out;
	struct stack_facts facts;
	struct lane_type types[LANES_MAX_TYPES];
	uint32_t n_types;
	struct strtab keys; /* the values of `by`, each with its NUL: a lane before any is chosen */
	bool exact;
	VEC(struct lane_row) rows; /* exact: all of them */
	size_t max_rows;
	/* What is being added up: sums[(slot * LANE_STATES + state) * axis.n + step], where a key's slot is slots[key], or itself without slots.
	 * There are no more than max_sums; beyond that LANES_TOO_WIDE. */
	struct step_axis axis;
	uint32_t *slots;
	uint32_t n_slots; /* keys; those that came later are of the rest */
	VEC(int64_t) sums;
	size_t max_sums;
	uint64_t looked; /* at rows of windows */
	struct err *err;
};

static inline uint32_t lanes_slot(const struct lanes_work *w, uint32_t key)
{
	if (!w->slots)
		return key;
	return key < w->n_slots ? w->slots[key] : w->out->n_lanes;
}

enum { KEY_UNKNOWN = UINT32_MAX };

/* Which types, and their series. */
int lanes_types_init(struct lanes_work *w);
void lanes_types_done(struct lanes_work *w);

/* Every sample into rows; 1: there are too many, or some are windows, and rows are empty. */
int lanes_read_rows(struct lanes_work *w);
/* The sums of axis; LANES_TOO_WIDE: they would be more than max_sums. */
enum { LANES_TOO_WIDE = 1 };
int lanes_add_up(struct lanes_work *w);

/* Of the lanes that are threads; rows are sorted by it. Sums are there. */
void lanes_add_spans(struct lanes_work *w);

#endif
