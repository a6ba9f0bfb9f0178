/* collect/worker/left_alone.h: processes, users or devices that made a worker wait, and are not
 * read for some time. */
#ifndef CRESSET_COLLECT_WORKER_LEFT_ALONE_H
#define CRESSET_COLLECT_WORKER_LEFT_ALONE_H

#include "base/hash.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	/* limit: processes, users or devices left alone; beyond, all are removed */
	LEFT_ALONE_MAX = 4096,
};

struct left_alone { /* zeroed = empty */
	struct map until_s;
	uint32_t latest_s; /* of all entries */
};

/* Adds an entry, or renews it. Times are of CLOCK_MONOTONIC. */
void left_alone_add(struct left_alone *l, uint64_t key, uint64_t now_ns, uint64_t for_ns);
/* Returns whether the entry exists. Removes it after its time, but not while is_stuck: a
 * worker still waits. */
bool left_alone_has(struct left_alone *l, uint64_t key, uint64_t now_ns, bool is_stuck);
void left_alone_done(struct left_alone *l);

#endif
