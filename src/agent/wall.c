/* Maps CLOCK_MONOTONIC times to Unix time, and follows changes of the clock. */
#include "agent/outbox.h"

#include "profile/sum.h"

#define SET_NS  100000
#define JUMP_NS 1000000000

static bool is_apart(const struct wall *w, int64_t offset_ns, int64_t limit_ns)
{
	int64_t apart_ns = sum_sub(offset_ns, w->ahead_ns);

	return apart_ns > limit_ns || apart_ns < -limit_ns;
}

bool wall_jumps(const struct wall *w, int64_t offset_ns)
{
	return is_apart(w, offset_ns, JUMP_NS);
}

void wall_follow(struct wall *w, int64_t offset_ns)
{
	if (is_apart(w, offset_ns, SET_NS))
		w->ahead_ns = offset_ns;
}
