/* Sums up cut stacks and samples without a function. */
#include "profile/change/unseen.h"

#include "base/mem.h"
#include "profile/frame.h"
#include "profile/identity.h"
#include "profile/sum.h"
#include "profile/tree/tree_match.h"

#include <stdlib.h>
#include <string.h>

enum { SEEN, CUT_STACK, NAMELESS };

static unsigned char how_unseen(const struct tree *t, const struct tree_func *f)
{
	static const char cut[] = "[truncated";
	const char *name = strtab_get(&t->strings, f->name);
	if (f->kind == FRAME_MARKER)
		return strncmp(name, cut, strlen(cut)) == 0 ? CUT_STACK : SEEN;
	if (*strtab_get(&t->strings, f->binary))
		return SEEN;
	bool is_unknown = identity_is_unknown(name, strlen(name)) || strcmp(name, NO_NAMES) == 0;
	return is_unknown ? NAMELESS : SEEN;
}

bool unseen_func(const struct tree *t, const struct tree_func *f)
{
	return how_unseen(t, f) != SEEN;
}

static void part_add(struct unseen_part *to, int64_t value, struct tree_spread spread)
{
	to->value = sum_add(to->value, value);
	tree_spread_add(&to->spread, spread);
}

struct unseen unseen_of(const struct tree *t)
{
	struct unseen u = { 0 };
	unsigned char *how = xcalloc(t->funcs.n + 1, sizeof *how);
	for (size_t i = 1; i < t->funcs.n; i++)
		how[i] = how_unseen(t, &t->funcs.v[i]);
	for (size_t i = 1; i < t->nodes.n; i++) {
		const struct tree_node *n = &t->nodes.v[i];
		if (how[n->func] != SEEN && n->self)
			part_add(&u.self, n->self, t->spreads.v[i].self);
		if (how[n->func] == CUT_STACK)
			part_add(&u.total, n->total, t->spreads.v[i].total);
	}
	free(how);
	return u;
}
