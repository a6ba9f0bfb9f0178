/* Counts by user. */
#include "collect/process/user_shares.h"

#include "collect/proc/proc_owner.h"

void user_shares_done(struct user_shares *s)
{
	map_done(&s->used);
}

uint32_t user_shares_owner(struct user_shares *s, uint32_t pid)
{
	uint32_t user;

	if (!pid || pid == s->last_pid)
		return pid ? s->last_user : 0;
	s->last_user = proc_owner(pid, &user) ? 0 : user;
	s->last_pid = pid;
	return s->last_user;
}

uint32_t user_shares_used(const struct user_shares *s, uint32_t user)
{
	const uint32_t *used = user ? map_get(&s->used, user) : NULL;

	return used ? *used : 0;
}

bool user_shares_may(const struct user_shares *s, uint32_t user, uint32_t most)
{
	return !user || user_shares_used(s, user) < most;
}

void user_shares_change(struct user_shares *s, uint32_t user, uint32_t before, uint32_t after)
{
	uint32_t now = user_shares_used(s, user) + after - before;

	if (!user || before == after)
		return;
	if (now)
		map_put(&s->used, user, now);
	else
		map_del(&s->used, user);
}
