/* format/perf_data_reader.h: the state of reading one perf.data file, and what its records do to
 * it. Only perf_data.c uses it. */
#ifndef CRESSET_FORMAT_PERF_DATA_READER_H
#define CRESSET_FORMAT_PERF_DATA_READER_H

#include "format/perf_data_frames.h"
#include "format/perf_data_queue.h"

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
	/* Of events that are counted in groups: the last count of each id. */
	VEC(uint64_t) counts;
	struct map count_of_id;
	VEC(struct sample) sums; /* of samples without a time: one per distinct everything else */
	struct map sum_index;
	bool has_cpu_type;
	uint64_t samples, skipped, lost_records, lost_samples;
	uint64_t first_ns, last_ns;
};

void pd_reader_init(struct pd_reader *r, struct sink *sink, const struct format_here *here,
		    bool big);
void pd_reader_done(struct pd_reader *r);

/* One whole record of the kernel (type < 64), in the order of the file. */
void pd_reader_record(struct pd_reader *r, const void *record, size_t len);
/* Everything that still waits, and what is known about the whole. */
void pd_reader_finish(struct pd_reader *r);

#endif
