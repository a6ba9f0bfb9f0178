/* format/pprof/pprof_meta.h: reads and writes metadata that has no field in profile.proto, as
 * comments "cresset: key=value":
 *
 *     host kernel command clock cpus start_mono_ns own_cpu_ns own_peak_bytes
 *                               of profile_meta, if known
 *     lost_REASON               a loss other than 0
 *     columnN.name .period_type .period_unit .period .snapshot
 *                               of the Nth sample type, if they differ from what the reader would
 *                               conclude from the file's own fields
 *     columnN.derived=1         the reader can skip this column */
#ifndef CRESSET_FORMAT_PPROF_PPROF_META_H
#define CRESSET_FORMAT_PPROF_PPROF_META_H

#include "profile/series.h"

#include <stdbool.h>

struct buf;
struct profile;
struct sink;

/* A sample type as the reader derives it from the file. */
struct pprof_column {
	struct type type;
	uint32_t id; /* of the type in the sink */
	int64_t period;
	bool derived;    /* the previous column times its period: gives no samples */
	int64_t unit_ns; /* of the values, in the file; 0: no time */
};

/* Takes a comment's text if it is one of ours. Returns false if it is not, or has an unknown
 * key. */
bool pprof_meta_take(struct sink *sink, const char *text, size_t len, struct pprof_column *columns,
		     size_t n_columns);

/* Calls add for each comment needed for p's metadata. */
void pprof_meta_give(const struct profile *p, void (*add)(void *ctx, const struct buf *text),
		     void *ctx);

/* Same for a column: `guessed` is what the reader would derive on its own. */
void pprof_meta_give_column(const struct profile *p, size_t index, const struct pprof_column *real,
			    const struct pprof_column *guessed,
			    void (*add)(void *ctx, const struct buf *text), void *ctx);

#endif
