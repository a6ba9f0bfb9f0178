/* profile/tree_sums.h: the flame tree of values that are added up by stack already, as a store keeps them; from any number of
 * dictionaries, for stacks meet by the functions they show.
 *
 *     struct tree_sums s;
 *     tree_sums_begin(&s, &opts, &err);
 *     root = tree_sums_root(&s, root_frames, n);        none: TREE_ROOT
 *     tree_sums_add(&s, dict, root, &sums);
 *     tree = tree_sums_end(&s); */
#ifndef CRESSET_PROFILE_TREE_SUMS_H
#define CRESSET_PROFILE_TREE_SUMS_H

#include "profile/tree.h"
#include "profile/tree_filter.h"
#include "profile/weight.h"

/* Values by stack of a dictionary. */
struct stack_values {
	uint32_t n;
	const uint32_t *stack; /* no two equal */
	const int64_t *value;
	/* Samples behind each, and the sum of the squares of what they weigh (struct tree_spread);
	 * NULL: each weighs 1. */
	const double *count, *squares;
	const uint32_t *rows; /* behind each, for tree.n_samples; NULL: not known */
	int64_t factor;       /* of all values */
};

/* With min_share: what was added, until the end tells what is too small. */
struct tree_held {
	struct profile *dict;
	uint32_t root, n;
	uint32_t *stack; /* those that pass the filter */
	int64_t *value;
};
struct tree_sums {
	const struct tree_opts *opts;
	struct tree_filter filter;
	struct tree *t;
	uint32_t n_roots; /* levels of root frames */
	VEC(struct tree_held) held;
};

/* Of opts type, by and the times do not count; they stay the caller's until the end. -EINVAL with the words in err for a bad regular
 * expression; nothing is then to be ended. */
int tree_sums_begin(struct tree_sums *s, const struct tree_opts *opts, struct err *err);

/* What the values are of, and in. */
void tree_sums_unit(struct tree_sums *s, const char *type_name, const struct value_scale *scale);

/* The node of these root frames, of kind FRAME_MARKER: as many at each call. */
uint32_t tree_sums_root(struct tree_sums *s, const char *const *names, uint32_t n);

/* dict is changed by interned strings only, and stays until the end. */
void tree_sums_add(struct tree_sums *s, struct profile *dict, uint32_t root,
		   const struct stack_values *sums);

/* Memory of what is held with min_share. */
uint64_t tree_sums_bytes(const struct tree_sums *s);
/* Totals included, to be freed with tree_free; s is done. */
struct tree *tree_sums_end(struct tree_sums *s);

#endif
