/* query/lanes/lanes_work.h: shared by the files of query/lanes/lanes.h: lanes.c chooses lanes and
 * buckets, lanes_read.c reads, lanes_spans.c builds spans. */
#ifndef CRESSET_QUERY_LANES_LANES_WORK_H
#define CRESSET_QUERY_LANES_LANES_WORK_H

#include "base/vec.h"
#include "profile/state.h"
#include "profile/strtab.h"
#include "profile/tree/tree_filter.h"
#include "query/groups.h"
#include "query/guard.h"
#include "query/lanes/lanes_types.h"
#include "query/query.h"
#include "query/time.h"

#include <stdbool.h>
#include <stdint.h>

/* --- stack_facts.c ---
 *
 * Facts about a stack: what the thread did, whether it passes the filters, the leaf. Found once per
 * stack. */

struct err;
struct tree_opts;

struct stack_fact {
	uint32_t dict, stack;
	bool passes; /* focus and ignore */
	enum thread_state state;
	const char *leaf; /* of the dictionary; "" if no frame is left */
};
/* The known stacks of a dictionary. */
struct stack_facts_of {
	struct profile *dict;
	uint32_t *known; /* by stack: its index in `all` plus 1; 0: unknown */
	uint32_t n;
};
struct stack_facts {
	struct tree_filter filter;
	bool has_filter; /* focus or ignore */
	VEC(struct stack_facts_of) dicts;
	uint32_t last_dict;
	VEC(struct stack_fact) all;
	VEC(uint32_t) frames;
};

/* -EINVAL: bad regular expression. stack_facts_done has to be called in any case. */
int stack_facts_init(struct stack_facts *s, const struct tree_opts *opts, struct err *err);
void stack_facts_done(struct stack_facts *s);

/* Returns the index in `all`. dict must stay valid; strings may be interned in it. */
uint32_t stack_facts_get(struct stack_facts *s, struct profile *dict, uint32_t stack);
uint64_t stack_facts_bytes(const struct stack_facts *s);

/* --- lanes.c, lanes_read.c, lanes_spans.c --- */

/* One sample with its own time. */
struct lane_row {
	int64_t time_ns, length_ns;
	int64_t value_ns;
	uint32_t key, fact;
	uint32_t state; /* enum lane_state */
	uint32_t is_moment;
};
/* A type that is read, with the groups of its series. */
struct lane_type {
	struct lanes_work *work;
	struct query q; /* groups refers to it */
	struct groups groups;
	int64_t *ns;           /* by series: time per unit of value; 0: not a time */
	enum lane_state state; /* unless a stack states otherwise */
	bool by_stack;         /* the stack decides the state, or whether the sample counts */
	bool is_gpu;           /* work on GPUs */
	VEC(uint32_t) key_of;  /* by group; KEY_UNKNOWN */
	/* By stack of a dictionary, for windows: what its values add to. */
	struct profile *goes_dict;
	VEC(uint8_t) goes; /* GOES_UNKNOWN, GOES_NOWHERE, then the values of enum lane_state */
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
	struct strtab keys; /* the values of `by`, each with its NUL: candidates for lanes */
	bool exact;
	VEC(struct lane_row) rows; /* exact: all rows */
	size_t max_rows;
	/* sums[(slot * LANE_STATES + state) * axis.n + step]; the slot of a key is slots[key], or
	 * the key itself without slots. At most max_sums; beyond that LANES_TOO_WIDE. */
	struct step_axis axis;
	uint32_t *slots;
	uint32_t n_slots; /* keys; later ones belong to the rest */
	VEC(int64_t) sums;
	size_t max_sums;
	uint64_t looked; /* number of window rows read */
	struct err *err;
};

static inline uint32_t lanes_slot(const struct lanes_work *w, uint32_t key)
{
	if (!w->slots)
		return key;
	return key < w->n_slots ? w->slots[key] : w->out->n_lanes;
}

enum { KEY_UNKNOWN = UINT32_MAX };

/* Finds the types to read, and their series. */
int lanes_types_init(struct lanes_work *w);
void lanes_types_done(struct lanes_work *w);

/* Reads every sample into rows. Returns 1, with rows empty, if there are too many or some are
 * windows. */
int lanes_read_rows(struct lanes_work *w);
/* Computes sums on axis. LANES_TOO_WIDE: there would be more than max_sums. */
enum { LANES_TOO_WIDE = 1 };
int lanes_add_up(struct lanes_work *w);

/* Adds spans to the lanes that are threads, after the sums; sorts rows by lane. */
void lanes_add_spans(struct lanes_work *w);

#endif
