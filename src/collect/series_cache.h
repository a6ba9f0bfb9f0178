/* collect/series_cache.h: the series of a sample: its type, period and the labels comm, process,
 * container_id and host. */
#ifndef CRESSET_COLLECT_SERIES_CACHE_H
#define CRESSET_COLLECT_SERIES_CACHE_H

#include "base/hash.h"
#include "base/vec.h"
#include "bpf/event.h"
#include "profile/sink.h"
#include "profile/strtab.h"

#include <stdint.h>

enum {
	SERIES_CACHE_MAX = 32 << 10
}; /* then all are forgotten, and asked for again from the sink */

struct series_key {
	char comm[EVENT_COMM_LEN];    /* of the thread; NUL-padded */
	char process[EVENT_COMM_LEN]; /* of the main thread; NUL-padded */
	uint32_t container;           /* string of the cache's texts, 0 = none */
	uint32_t type;
	int64_t period;
};
struct series_cache {
	struct sink *sink;
	const struct strtab *texts;           /* of containers; the caller's */
	const char *host_name;                /* NULL: there is no such label */
	uint32_t comm, process, container_id; /* strings: the label keys */
	uint32_t host, host_text;
	struct map index;
	VEC(struct series_key) keys;
	VEC(uint32_t) series;
};

/* host: NULL for no such label; as texts it stays the caller's. */
void series_cache_init(struct series_cache *c, struct sink *sink, const struct strtab *texts,
		       const char *host);
void series_cache_done(struct series_cache *c);
/* From here on ids are another sink's, which has none of those that were given. */
void series_cache_set_sink(struct series_cache *c, struct sink *sink);
/* key has no padding that is not zero. */
uint32_t series_cache_get(struct series_cache *c, const struct series_key *key);

#endif
