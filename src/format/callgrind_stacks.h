/* format/callgrind_stacks.h: stacks made up from a call graph with costs.
 *
 * The graph says what each function cost itself and what each call cost in all, but not which call
 * led to which. Every activation of a function is taken for average: what flows into it by a call
 * is divided among its self cost and its own calls as their costs are over the whole run.
 *
 * What is exact: for each code the sum over all stacks that end in it is its self cost. For each
 * call that is in no cycle the sum over all stacks with it is its inclusive cost, as far as the
 * graph adds up (it does when valgrind wrote it). Hence divisions are in whole numbers, by rounding
 * running sums, from what is left of each cost.
 *
 * Functions that call each other in a cycle are one group: costs of calls inside say nothing, since
 * they count recursion more than once. What flows into the group is divided among all that flows
 * out of it (self costs, calls to the outside); each is shown on the shortest path through the
 * group, so that no stack has a function twice.
 *
 * A graph has up to exponentially many paths. Therefore a flow below 1/CALLGRIND_SHARE of the total
 * is not divided further: it follows one way, drawn by lot with the costs as weights, and branches
 * off only where that has been used up. Stacks deeper than CALLGRIND_MAX_DEPTH go on below a
 * marker at the root. When the steps are used up, what is left of self costs goes to the largest
 * stack of its code that there is, or to a stack of a marker and the function alone. */
#ifndef CRESSET_FORMAT_CALLGRIND_STACKS_H
#define CRESSET_FORMAT_CALLGRIND_STACKS_H

#include "format/callgrind_graph.h"
#include "profile/profile.h"

enum {
	CALLGRIND_SHARE = 1 << 13,
	CALLGRIND_MAX_DEPTH = 512,
	/* Costs looked at and frames handed over, all types together: seconds. */
	CALLGRIND_MAX_STEPS = 1 << 26,
};

/* Gives one sample per stack, type and thread; tid is the thread's number in the file. */
void callgrind_stacks_give(const struct callgrind_graph *g, struct sink *sink, uint32_t pid);

#endif
