/* format/perf_data/perf_data_reader.h: the state of reading one perf.data file, and how its records
 * change it. Used only by perf_data.c. */
#ifndef CRESSET_FORMAT_PERF_DATA_PERF_DATA_READER_H
#define CRESSET_FORMAT_PERF_DATA_PERF_DATA_READER_H

#include "base/hash.h"
#include "base/vec.h"
#include "format/perf_data/perf_data_event.h"
#include "format/perf_data/perf_data_frames.h"
#include "format/perf_data/perf_data_space.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- perf_data_queue.c ---
 *
 * Sorts records by time.
 *
 * perf writes the rings of the CPUs one after the other, so times go up and down within a round.
 * Between rounds (PERF_RECORD_FINISHED_ROUND) they cannot go back further than the newest time of
 * the round before the last, so everything older is complete. Records without a time come first. If
 * a file has no rounds, or very long ones, the oldest record is passed on once PD_MAX_QUEUED_BYTES
 * are queued. A record older than one already passed on is late: it is passed on next, and
 * counted. */

/* limit: records waiting to be sorted by time; later ones are counted as late */
enum { PD_MAX_QUEUED_BYTES = 256 << 20 };

struct pd_waiting {
	uint64_t time, nth;
	struct pd_record *record;
};
struct pd_queue {
	void (*give)(void *ctx, const void *record, size_t len);
	void *ctx;
	VEC(struct pd_waiting) heap; /* oldest first */
	size_t bytes;
	uint64_t nth, newest, limit, given, late;
};

/* give gets each record's bytes in order of time; equal times keep the order of the file. */
void pd_queue_init(struct pd_queue *q, void (*give)(void *, const void *, size_t), void *ctx);
void pd_queue_done(struct pd_queue *q);

void pd_queue_add(struct pd_queue *q, uint64_t time, const void *record, size_t len);
void pd_queue_round(struct pd_queue *q); /* marks the end of a round */
void pd_queue_flush(struct pd_queue *q); /* passes on everything */

/* --- the reader --- */

enum { PD_RECORD_HEADER = 8, PD_RECORD_MAX = UINT16_MAX };

struct pd_header {
	uint32_t type;
	uint16_t misc, size; /* size: of the whole record */
};
static inline struct pd_header pd_header_read(struct wire *w)
{
	struct pd_header h = { .type = wire_u32(w) };
	h.misc = wire_u16(w);
	h.size = wire_u16(w);
	return h;
}

struct pd_reader {
	struct sink *sink;
	bool big;
	struct pd_events events;
	struct pd_info info;
	struct pd_world world;
	struct pd_frames frames;
	struct pd_queue queue;
	/* Label sets by (comm, process). */
	uint32_t comm_key, process_key;
	struct map labels;
	/* For events counted in groups: the last count of each id. */
	VEC(uint64_t) counts;
	struct map count_of_id;
	VEC(struct sample) sums; /* of samples without a time, merged by all other fields */
	struct map sum_index;
	bool has_cpu_type;
	uint64_t samples, skipped, lost_records, lost_samples;
	uint64_t first_ns, last_ns;    /* of samples */
	uint64_t oldest_ns, newest_ns; /* of records */
};

void pd_reader_init(struct pd_reader *r, struct sink *sink, const struct format_here *here,
		    bool big);
void pd_reader_done(struct pd_reader *r);

/* Takes one whole record of the kernel (type < 64), in the order of the file. */
void pd_reader_record(struct pd_reader *r, const void *record, size_t len);
/* Flushes the queue and sets the metadata. */
void pd_reader_finish(struct pd_reader *r);

#endif
