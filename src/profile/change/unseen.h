/* profile/change/unseen.h: parts of samples that a recording did not see.
 *
 * Callers above a stack that was cut ("[truncated: …]"), and functions without a name or a binary
 * ("[unknown]"). How much it is depends on the machine's load and on how early a process was
 * sampled, not on the program. */
#ifndef CRESSET_PROFILE_CHANGE_UNSEEN_H
#define CRESSET_PROFILE_CHANGE_UNSEEN_H

#include "profile/tree/tree.h"

struct unseen_part {
	int64_t value;
	struct tree_spread spread;
};
struct unseen {
	struct unseen_part self;  /* samples of unknown functions */
	struct unseen_part total; /* samples with unknown callers */
};

/* Whether this is not a function, but states that none is known. */
bool unseen_func(const struct tree *t, const struct tree_func *f);

/* t was built with_spread. */
struct unseen unseen_of(const struct tree *t);

#endif
