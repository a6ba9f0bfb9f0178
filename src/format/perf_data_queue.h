/* format/perf_data_queue.h: records put back into the order of their time.
 *
 * perf writes one CPU's ring after the other: within a round times go up and down. Between two
 * rounds (PERF_RECORD_FINISHED_ROUND) they cannot go back further than the newest time of the round
 * before the last, so what is older than that is complete. Records without a time come first. Where a
 * file has no rounds, or very long ones, what is oldest is given out when PD_MAX_QUEUED_BYTES are
 * waiting; a record older than what was given out already is late: it is given out next, and
 * counted. */
#ifndef CRESSET_FORMAT_PERF_DATA_QUEUE_H
#define CRESSET_FORMAT_PERF_DATA_QUEUE_H

#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PD_MAX_QUEUED_BYTES = 256 << 20 };

struct pd_waiting {
	uint64_t time, nth;
	struct pd_record *record;
};
struct pd_queue {
	void (*give)(void *ctx, const void *record, size_t len);
	void *ctx;
	VEC(struct pd_waiting) heap; /* the oldest first */
	size_t bytes;
	uint64_t nth, newest, limit, given, late;
};

/* give gets each record's bytes in order of time, equal times in the order of the file. */
void pd_queue_init(struct pd_queue *q, void (*give)(void *, const void *, size_t), void *ctx);
void pd_queue_done(struct pd_queue *q);

void pd_queue_add(struct pd_queue *q, uint64_t time, const void *record, size_t len);
void pd_queue_round(struct pd_queue *q); /* a round is over */
void pd_queue_flush(struct pd_queue *q); /* the end: everything */

#endif
