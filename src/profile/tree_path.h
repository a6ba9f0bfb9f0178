/* profile/tree_path.h: the way from a tree's root to one of its nodes, as text that is short enough for an address: 12 hex digits for each
 * function on it, the root's not among them.
 *
 * They are the 64-bit FNV-1a hash (http://www.isthe.com/chongo/tech/comp/fnv/), its upper 16 bits xored into the lower 48, of these texts, each
 * with a NUL behind it, as UTF-8 (what is not, as U+FFFD): name, binary, file, the kind's name, "1" where it was inlined and "" else. So anyone
 * who sees a tree can say where in it he is; no server has to remember it. Two functions of one caller that share their digits are one here. */
#ifndef CRESSET_PROFILE_TREE_PATH_H
#define CRESSET_PROFILE_TREE_PATH_H

#include "profile/tree.h"

enum { TREE_PATH_DIGITS = 12 };

struct tree_path { /* zeroed = empty */
	VEC(uint64_t) funcs;
};
/* -EINVAL with words. */
int tree_path_parse(const char *text, struct tree_path *out, struct err *err);
void tree_path_done(struct tree_path *p);

uint64_t tree_func_number(const struct tree *t, uint32_t func);

/* How many steps of a path a node is behind: all of them at its end, and below it. */
enum { PATH_OFF = UINT32_MAX };
static inline bool tree_path_is_end(const struct tree_path *p, uint32_t step)
{
	return p && step == p->funcs.n;
}
/* Of a child with this function, when its parent is behind so many. */
uint32_t tree_path_step(const struct tree_path *p, uint32_t parent_step, const struct tree *t,
			uint32_t func);

#endif
