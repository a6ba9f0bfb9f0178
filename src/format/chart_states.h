/* format/chart_states.h: what threads did, kept apart: for pictures that colour a frame by it. */
#ifndef CRESSET_FORMAT_CHART_STATES_H
#define CRESSET_FORMAT_CHART_STATES_H

#include "profile/tree.h"

/* A new tree (tree_free) with the same stacks below one node per state (profile/state.h): on the CPU, off it, waiting for one. The
 * samples, those of t, go to their nodes there. Where no marker says the state, samples that cover time are waits. */
struct tree *tree_split_states(const struct profile *p, const struct tree *t,
			       struct tree_samples *samples);

#endif
