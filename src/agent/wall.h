/* agent/wall.h: Unix time of what carries the samples' clock, interval by interval.
 *
 * Both clocks run alike until somebody sets one, or the machine is suspended: the samples' clock stands still then. So an interval keeps the
 * offset that it began with, and intervals that follow each other do so in the store as well: what goes on over the edge has no hole there. An
 * interval in which the offset jumps ends there: what came before keeps its time, what comes later has the new one. */
#ifndef CRESSET_AGENT_WALL_H
#define CRESSET_AGENT_WALL_H

#include <stdbool.h>
#include <stdint.h>

struct wall {
	int64_t ahead_ns; /* of Unix time, before the samples' clock, in the interval under way */
};

/* Whether the interval is to end now. offset_ns: how far Unix time is ahead, as measured. */
bool wall_jumps(const struct wall *w, int64_t offset_ns);
/* The next interval begins. What is measured differs by some µs each time: only more than that is taken. */
void wall_follow(struct wall *w, int64_t offset_ns);

#endif
