/* agent/wall.h: converts the samples' clock to Unix time, interval by interval.
 *
 * The two clocks run alike until somebody sets one or the machine is suspended, when the samples'
 * clock stands still. An interval keeps the offset that it began with, so there is no gap in the
 * store between one interval and the next. When the offset jumps, the interval ends: earlier samples
 * keep the old offset, later ones get the new one. */
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
