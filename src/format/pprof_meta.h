/* format/pprof_meta.h: what profile.proto has no field for, as comments "cresset: key=value", both
 * ways.
 *
 *     host kernel command clock cpus start_mono_ns own_cpu_ns own_peak_bytes
 *                               of profile_meta, where known
 *     lost_REASON               a loss that is not 0
 *     columnN.name .period_type .period_unit .period .snapshot
 *                               of the Nth sample type, where the reader would not come to the same
 *                               by the file's own fields
 *     columnN.derived=1         the reader can leave this column out */
#ifndef CRESSET_FORMAT_PPROF_META_H
#define CRESSET_FORMAT_PPROF_META_H

#include "base/buf.h"
#include "profile/profile.h"

#include <stdbool.h>

/* A sample type as the reader makes it up from the file. */
struct pprof_column {
	struct type type;
	uint32_t id; /* of the type in the sink */
	int64_t period;
	bool derived; /* the column before it times its period: gives no samples */
};

/* Takes a comment's text if it is one of ours; false when it is not (or says nothing we know). */
bool pprof_meta_take(struct sink *sink, const char *text, size_t len, struct pprof_column *columns,
		     size_t n_columns);

/* Calls add for each comment that tells the rest of p's meta. */
void pprof_meta_give(const struct profile *p, void (*add)(void *ctx, const struct buf *text),
		     void *ctx);

/* The same for a column: `guessed` is what the reader would make of it by itself. */
void pprof_meta_give_column(const struct profile *p, size_t index, const struct pprof_column *real,
			    const struct pprof_column *guessed,
			    void (*add)(void *ctx, const struct buf *text), void *ctx);

#endif
