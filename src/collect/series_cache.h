/* collect/series_cache.h: the series of a sample: its type, period and the labels comm, process and
 * container_id. */
#ifndef CRESSET_COLLECT_SERIES_CACHE_H
#define CRESSET_COLLECT_SERIES_CACHE_H

#include "base/hash.h"
#include "base/vec.h"
#include "bpf/event.h"
#include "profile/sink.h"

#include <stdint.h>

enum {
	SERIES_CACHE_MAX = 32 << 10
}; /* then all are forgotten, and asked for again from the sink */

struct series_key {
	char comm[EVENT_COMM_LEN];    /* of the thread; NUL-padded */
	char process[EVENT_COMM_LEN]; /* of the main thread; NUL-padded */
	uint32_t container;           /* string of the sink, 0 = none */
	uint32_t type;
	int64_t period;
};
struct series_cache {
	struct sink *sink;
	uint32_t comm, process, container_id; /* strings: the label keys */
	struct map index;
	VEC(struct series_key) keys;
	VEC(uint32_t) series;
};

void series_cache_init(struct series_cache *c, struct sink *sink);
void series_cache_done(struct series_cache *c);
/* key has no padding that is not zero. */
uint32_t series_cache_get(struct series_cache *c, const struct series_key *key);

#endif
