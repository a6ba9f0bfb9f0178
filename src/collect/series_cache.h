/* collect/series_cache.h: the series of a sample: its type, period and labels: comm and process, those of the process (collect/labels.h), and
 * those that all series have (host …).
 *
 * Labels are put together once for each series. That is where somebody may leave the series out (series_hook), and rules change
 * them or drop it (profile/relabel.h). */
#ifndef CRESSET_COLLECT_SERIES_CACHE_H
#define CRESSET_COLLECT_SERIES_CACHE_H

#include "base/hash.h"
#include "base/vec.h"
#include "bpf/gpu_event.h"
#include "collect/gpu_names.h"
#include "collect/labels.h"
#include "collect/series_hook.h"
#include "profile/relabel.h"
#include "profile/sink.h"
#include "profile/strtab.h"

#include <stdint.h>

enum {
	SERIES_CACHE_MAX = 32 << 10 /* then all are forgotten, and asked for again from the sink */
};
#define SERIES_LEFT_OUT UINT32_MAX

struct series_key {
	char comm[EVENT_COMM_LEN];    /* of the thread; NUL-padded */
	char process[EVENT_COMM_LEN]; /* of the main thread; NUL-padded */
	uint32_t labels;              /* of the process */
	uint32_t type;
	int64_t period;
	uint32_t
		gpu; /* of what ran on one: its place in the names of GPUs, plus 1; 0: there is no such label */
	uint32_t stream; /* likewise, its number */
	/* Of which its stack was estimated (profile/estimate.h); 0: it was not. */
	uint32_t samples;
	uint32_t how; /* enum gpu_how: a thread waits for a GPU; its memory is estimated */
};
struct series_cache_opts {
	const struct label_table *labels;
	const struct gpu_names *gpus;
	const char *host;               /* NULL: there is no such label */
	const struct label_text *fixed; /* further labels of all series */
	size_t n_fixed;
	struct series_hook hook;
	const struct relabel *relabel; /* NULL: no rules */
};
struct series_cache {
	struct sink *sink;
	struct series_cache_opts opts;
	struct map index;
	VEC(struct series_key) keys;
	VEC(uint32_t) series;
};

/* All that opts point to stays the caller's. */
void series_cache_init(struct series_cache *c, struct sink *sink,
		       const struct series_cache_opts *opts);
void series_cache_done(struct series_cache *c);
/* From here on ids are another sink's, which has none of those that were given. */
void series_cache_set_sink(struct series_cache *c, struct sink *sink);
/* key has no padding that is not zero. type_name: of key->type. SERIES_LEFT_OUT: its samples are not wanted. */
uint32_t series_cache_get(struct series_cache *c, const struct series_key *key,
			  const char *type_name);
/* What another hook says to the labels of such a series; the series is not made. */
bool series_cache_ask(const struct series_cache *c, const struct series_key *key,
		      const char *type_name, const struct series_hook *hook);

#endif
