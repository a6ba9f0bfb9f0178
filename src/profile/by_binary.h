/* profile/by_binary.h: a tree of binaries instead of functions: which file called which. Frames in one binary that follow each
 * other are one node. What is in no binary goes by its kind ("[jit]"); markers stay as they are. */
#ifndef CRESSET_PROFILE_BY_BINARY_H
#define CRESSET_PROFILE_BY_BINARY_H

#include "profile/tree.h"

/* A new tree, to be freed; t needs its totals and stays as it is. Spreads are left out. */
struct tree *tree_by_binary(const struct tree *t);

#endif
