/* format/perf_data/perf_data_event.h: the events file, and the content of their
 * samples.
 *
 * The event's sample_type (struct perf_event_attr, perf_event_open(2)) determines the fields of a
 * sample and of the end of other records. New fields are added at the end of a sample, so unknown
 * bits are harmless. */
#ifndef CRESSET_FORMAT_PERF_DATA_PERF_DATA_EVENT_H
#define CRESSET_FORMAT_PERF_DATA_PERF_DATA_EVENT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* --- numbers of a file ---
 *
 * Numbers in a perf.data file, in the byte order of the machine that wrote it. */

struct wire {
	struct cur c;
	bool big; /* big endian */
};

static inline struct wire wire_of(const void *data, size_t len, bool big)
{
	return (struct wire){ cur_of(data, len), big };
}
static inline size_t wire_left(const struct wire *w)
{
	return cur_left(&w->c);
}
static inline uint16_t wire_u16(struct wire *w)
{
	uint16_t v = cur_u16(&w->c);
	return w->big ? __builtin_bswap16(v) : v;
}
static inline uint32_t wire_u32(struct wire *w)
{
	uint32_t v = cur_u32(&w->c);
	return w->big ? __builtin_bswap32(v) : v;
}
static inline uint64_t wire_u64(struct wire *w)
{
	uint64_t v = cur_u64(&w->c);
	return w->big ? __builtin_bswap64(v) : v;
}
/* Skips the next n 8-byte numbers. */
static inline void wire_skip_u64(struct wire *w, uint64_t n)
{
	if (n > wire_left(w) / 8)
		n = wire_left(w) / 8 + 1; /* beyond the end: bad */
	cur_take(&w->c, n * 8);
}
/* Reads the number of following items of at least 8 bytes each. If there is no space for that many,
 * returns the smallest number that makes skipping them bad. */
static inline uint64_t wire_count(struct wire *w)
{
	uint64_t n = wire_u64(w), most = wire_left(w) / 8;
	return n <= most ? n : most + 1;
}
/* Returns the next n bytes as a cursor; empty if they are missing. */
static inline struct wire wire_part(struct wire *w, size_t n)
{
	const void *p = cur_take(&w->c, n);
	return wire_of(p, p ? n : 0, w->big);
}
/* Returns text that ends in a NUL or with the data, and moves past the NUL. */
static inline const char *wire_text(struct wire *w, size_t *len)
{
	size_t left = wire_left(w);
	const char *s = cur_take(&w->c, 0);
	*len = left ? strnlen(s, left) : 0;
	cur_take(&w->c, *len < left ? *len + 1 : left);
	return s;
}

/* --- events and samples --- */

/* limit PD_MAX_EVENTS: events */
enum { PD_MAX_EVENTS = 4096, PD_MAX_EVENT_IDS = 1 << 20 };

enum pd_weight {
	PD_CLOCK,     /* cpu-clock, task-clock: a sample counts one, its period is nanoseconds */
	PD_OFF_CPU,   /* perf record --off-cpu: the period is nanoseconds of waiting */
	PD_OCCURRENCE /* the period is the number of occurrences since the previous sample */
};

struct pd_event {
	uint32_t type;
	uint64_t config;
	uint64_t sample_type, read_format, branch_type, user_regs;
	uint64_t period; /* of samples without their own; 0 = a rate, unknown */
	uint16_t max_stack;
	bool sample_id_all;
	char *name; /* from the file; NULL if it lacks one */
	/* Used by the reader. */
	enum pd_weight weight;
	uint32_t sink_type; /* UINT32_MAX until its first sample */
};

struct pd_events { /* zeroed = empty */
	VEC(struct pd_event) v;
	struct map by_id; /* id of the kernel → index */
	size_t ids;       /* number added, at most PD_MAX_EVENT_IDS */
	struct arena names;
};

void pd_events_done(struct pd_events *e);

/* Adds the event of a struct perf_event_attr. Returns false if it is invalid or there are too
 * many. */
bool pd_events_add(struct pd_events *e, struct wire attr);
/* Adds ids of the last event. */
void pd_events_add_ids(struct pd_events *e, struct wire ids);
/* Names the events of these ids. */
void pd_events_name(struct pd_events *e, struct wire ids, const char *name, size_t len);

/* Appends the event's name in the file, else perf's usual one, to b. */
void pd_event_name(const struct pd_event *e, struct buf *b);

enum pd_user_abi { PD_USER_NONE, PD_USER_32, PD_USER_64 }; /* PERF_SAMPLE_REGS_ABI_* */

struct pd_sample {
	const struct pd_event *event;
	uint64_t ip, time, period;
	uint32_t pid, tid, cpu;
	bool has_time;
	bool has_branch_stack;
	struct wire chain; /* 8-byte addresses, leaf first; empty without call chains */
	/* Registers and stack memory for unwinding the user stack (--call-graph dwarf). */
	enum pd_user_abi user_abi; /* PD_USER_NONE: nothing */
	struct wire user_regs;     /* 8-byte numbers, one for each bit of the event's user_regs */
	struct wire user_stack;
	bool user_stack_is_whole; /* no more of it was readable */
	/* With {a,b}:S, the counts of the group's events; see pd_sample_count. */
	struct wire counts;
};

/* Reads the payload of a PERF_RECORD_SAMPLE. Returns false if it is truncated or has no event. */
bool pd_sample_read(const struct pd_events *e, struct wire record, struct pd_sample *out);

/* Returns the next event of the group and its count so far. Returns false after the last, and for
 * samples of a single event. */
bool pd_sample_count(const struct pd_events *e, struct pd_sample *s, uint64_t *id, uint64_t *count,
		     const struct pd_event **event);

/* Reads the time at the end of the payload of any other kernel record. Returns false if there is
 * none. */
bool pd_record_time(const struct pd_events *e, struct wire record, uint64_t *time);

#endif
