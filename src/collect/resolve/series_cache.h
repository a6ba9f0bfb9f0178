/* collect/resolve/series_cache.h: the series of a sample: its type, period and labels: comm and
 * process, the labels of the process (collect/resolve/labels.h), and the ones that all series have
 * (host …).
 *
 * Labels are built once per series. At that point a hook may leave the series out (series_hook),
 * and rules change its labels or drop it (profile/relabel.h). */
#ifndef CRESSET_COLLECT_RESOLVE_SERIES_CACHE_H
#define CRESSET_COLLECT_RESOLVE_SERIES_CACHE_H

#include "base/hash.h"
#include "base/vec.h"
#include "bpf/gpu_event.h"
#include "collect/proc/series_hook.h"

#include <stdint.h>

enum {
	SERIES_CACHE_MAX = 32 << 10 /* then all are forgotten, and requested from the sink again */
};
#define SERIES_LEFT_OUT UINT32_MAX

struct series_key {
	char comm[EVENT_COMM_LEN];    /* of the thread; NUL-padded */
	char process[EVENT_COMM_LEN]; /* of the main thread; NUL-padded */
	uint32_t labels;              /* of the process */
	uint32_t type;
	int64_t period;
	/* of GPU work: index in the names of GPUs, plus 1; 0: no such label */
	uint32_t gpu;
	uint32_t stream; /* stream number plus 1; 0: no such label */
	/* Number of samples that its stack was estimated from (profile/change/estimate.h); 0:
	 * exact. */
	uint32_t samples;
	/* enum gpu_how: waiting for a GPU, or estimated memory; or HOW_WINDOWS */
	uint32_t how;
	uint32_t since_s; /* since when its heap is profiled, Unix time; 0: no such label */
	uint32_t age;     /* enum age, plus 1; 0: no such label */
};
/* Waits with a higher weight, because switches were recorded in windows
 * (collect/kernel/switch_windows.h). */
enum { HOW_WINDOWS = GPU_HOW_ESTIMATE + 1 };
struct series_cache_opts {
	const struct label_table *labels;
	const struct gpu_names *gpus;
	const char *period; /* of windows, in seconds; NULL: none */
	struct series_opts all;
};
struct series_cache {
	struct sink *sink;
	struct series_cache_opts opts;
	struct map index;
	VEC(struct series_key) keys;
	VEC(uint32_t) series;
};

/* Everything that opts point to stays the caller's. */
void series_cache_init(struct series_cache *c, struct sink *sink,
		       const struct series_cache_opts *opts);
void series_cache_done(struct series_cache *c);
/* From here on ids are another sink's, which has none of the series so far. */
void series_cache_set_sink(struct series_cache *c, struct sink *sink);
/* Padding in key must be zero. type_name: of key->type. Returns SERIES_LEFT_OUT if its samples are
 * not wanted. */
uint32_t series_cache_get(struct series_cache *c, const struct series_key *key,
			  const char *type_name);
/* Returns another hook's result for the labels of such a series; the series is not created. */
bool series_cache_ask(const struct series_cache *c, const struct series_key *key,
		      const char *type_name, const struct series_hook *hook);

#endif
