/* profile/estimate.h: how far sums of samples can be off whose stacks are estimates.
 *
 * What ran on GPUs above a rate of launches has its stacks by those that were sampled (gpu/join.h): all that one process ran of one kind (the leaf), whose time
 * is exact, was shared out. Such samples have a label, ESTIMATE_LABEL: of how many samples (rounded down) the shares are. A function that has the share p of
 * a kind is worth p of it, and as far off as Wilson's interval says of p among so many samples (profile/interval.h); all of a kind is exact. Kinds are independent of each other: their
 * distances are added up as squares. Where one kind was shared out thread by thread, threads of equal labels are taken together, which makes intervals
 * rather too wide. */
#ifndef CRESSET_PROFILE_ESTIMATE_H
#define CRESSET_PROFILE_ESTIMATE_H

#include "profile/tree.h"

#define ESTIMATE_LABEL "estimated_from"

struct estimate {
	int64_t self_low, self_high, total_low, total_high;
};
struct estimates;

/* As tree_build, with the same options. NULL in *out: nothing here is an estimate. */
int estimates_build(struct profile *p, const struct tree_opts *opts, struct estimates **out,
		    struct err *err);
void estimates_free(struct estimates *e); /* NULL is fine */

/* Of a function of t, which was built of the same samples, and its sums. What is exact has itself as both. */
struct estimate estimates_get(const struct estimates *e, const struct tree *t, uint32_t func,
			      int64_t self, int64_t total);
/* How much of the whole is one. */
int64_t estimates_total(const struct estimates *e);

#endif
