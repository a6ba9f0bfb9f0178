/* collect/going_on.h: stacks of waits that go on. The kernel copies one when threads are asked the first time (EVENT_RAW); while its thread has not run
 * since, it is told again without (bpf/event.h: going_on). What the copy was walked to is found here by thread and wait.
 *
 * Contents are in the stack cache. Entries that nothing was told of for a generation of a minute or more, by the time of events, go: threads
 * are all asked at once, so their waits are over. */
#ifndef CRESSET_COLLECT_GOING_ON_H
#define CRESSET_COLLECT_GOING_ON_H

#include "base/hash.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct going_on_wait {
	uint64_t hash;     /* of the stack's contents */
	uint32_t tid, key; /* key: as event_wait's going_on */
	bool is_cut;       /* the walk did not come to an end: it is copied again */
};
struct going_on_generation {
	struct map by_tid;
	VEC(struct going_on_wait) all;
};
struct going_on { /* zeroed = empty */
	struct going_on_generation young, old;
	uint64_t young_ns; /* since when */
};

void going_on_done(struct going_on *g);

/* Replaces what is there of the thread. now_ns: the time of the event, which grows. */
void going_on_put(struct going_on *g, const struct going_on_wait *w, uint64_t now_ns);
/* NULL: it is not known, or was another wait. Good until the next call. */
const struct going_on_wait *going_on_get(struct going_on *g, uint32_t tid, uint32_t key,
					 uint64_t now_ns);

#endif
