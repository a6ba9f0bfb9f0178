/* profile/tree/tree_path.h: the path from a tree's root to a node, as text short enough for a URL:
 * 12 hex digits for each function on it, without the root.
 *
 * The digits are the 64-bit FNV-1a hash (http://www.isthe.com/chongo/tech/comp/fnv/), its upper 16
 * bits XORed into the lower 48, of these strings, each followed by a NUL, as UTF-8 (invalid bytes
 * as U+FFFD): name, binary, file, the kind's name, "1" if inlined and "" otherwise. So a client
 * can name its position in a tree, and the server retains no state. Two callees of a function with
 * the same digits are not distinguished. */
#ifndef CRESSET_PROFILE_TREE_TREE_PATH_H
#define CRESSET_PROFILE_TREE_TREE_PATH_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct err;
struct tree;

enum { TREE_PATH_DIGITS = 12 };

struct tree_path { /* zeroed = empty */
	VEC(uint64_t) funcs;
};
/* Returns -EINVAL with err set. */
int tree_path_parse(const char *text, struct tree_path *out, struct err *err);
void tree_path_done(struct tree_path *p);

uint64_t tree_func_number(const struct tree *t, uint32_t func);

/* Number of steps of a path that lead to a node: all of them at its end and below it. */
enum { PATH_OFF = UINT32_MAX };
static inline bool tree_path_is_end(const struct tree_path *p, uint32_t step)
{
	return p && step == p->funcs.n;
}
/* Returns the step of a child with this function, given its parent's. */
uint32_t tree_path_step(const struct tree_path *p, uint32_t parent_step, const struct tree *t,
			uint32_t func);

#endif
