/* profile/tree_state.h: what threads were doing in the samples that end at each node of a tree. */
#ifndef CRESSET_PROFILE_TREE_STATE_H
#define CRESSET_PROFILE_TREE_STATE_H

#include "profile/state.h"
#include "profile/tree.h"

/* By node: enum thread_state of its self value, by the marker that is nearest to the leaf, else by the tree's type. To be freed. */
uint8_t *tree_states(const struct tree *t);

/* A node whose thread was at work there itself, but waited in what it called, gets a child "[on-CPU]" that has the work: in a picture the node
 * has the colour of neither. For trees of `wall` that are neither inverted nor differences. */
void tree_show_on_cpu(struct tree *t);

/* Whether the function is this marker. */
bool tree_func_is_marker(const struct tree *t, uint32_t func, const char *marker);

#endif
