/* collect/process/user_shares.h: how much of a table the processes of each user take, so that one
 * user does not take the space of all others. Root may take all of it. */
#ifndef CRESSET_COLLECT_PROCESS_USER_SHARES_H
#define CRESSET_COLLECT_PROCESS_USER_SHARES_H

#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct user_shares {
	struct map used; /* user → number */
	uint32_t last_pid, last_user;
};

void user_shares_done(struct user_shares *s);

/* Returns the user of a process; 0 for root, and for a process that is gone. */
uint32_t user_shares_owner(struct user_shares *s, uint32_t pid);

/* Returns whether the user has less than most. */
bool user_shares_may(const struct user_shares *s, uint32_t user, uint32_t most);

/* Returns how many the user has; 0 for root. */
uint32_t user_shares_used(const struct user_shares *s, uint32_t user);

/* Returns whether one more fits into a table of max entries. n are taken, and used of them are the
 * user's: once half of them are taken, a user other than root has a quarter at most. */
static inline bool user_shares_fits(uint32_t user, uint32_t used, size_t n, size_t max)
{
	return n < max && (!user || n < max / 2 || used < max / 4);
}

/* Changes the number from before to after. Nothing is counted for root. */
void user_shares_change(struct user_shares *s, uint32_t user, uint32_t before, uint32_t after);

#endif
