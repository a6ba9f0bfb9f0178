/* format/perf_data_event.h: the events of a perf.data file, and what is in a sample of each.
 *
 * Which fields a sample has, and a record of another kind behind its own, is in the event's
 * sample_type (struct perf_event_attr, perf_event_open(2)). New fields go to the end of a sample, so
 * bits that are not known here are harmless. */
#ifndef CRESSET_FORMAT_PERF_DATA_EVENT_H
#define CRESSET_FORMAT_PERF_DATA_EVENT_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "format/perf_data_wire.h"

#include <stdbool.h>
#include <stdint.h>

enum { PD_MAX_EVENTS = 4096, PD_MAX_EVENT_IDS = 1 << 20 };

enum pd_weight {
	PD_CLOCK,     /* cpu-clock, task-clock: a sample is one, its period nanoseconds */
	PD_OFF_CPU,   /* perf record --off-cpu: the period is nanoseconds of waiting */
	PD_OCCURRENCE /* the period is how often it happened since the sample before */
};

struct pd_event {
	uint32_t type;
	uint64_t config;
	uint64_t sample_type, read_format, branch_type, user_regs;
	uint64_t period; /* of samples that do not say theirs; 0 = at a rate, not known */
	uint16_t max_stack;
	bool sample_id_all;
	char *name; /* as the file calls it, NULL where it does not */
	/* The reader's. */
	enum pd_weight weight;
	uint32_t sink_type; /* UINT32_MAX until its first sample */
};

struct pd_events { /* zeroed = empty */
	VEC(struct pd_event) v;
	struct map by_id; /* id of the kernel → index */
	size_t ids;       /* added, of PD_MAX_EVENT_IDS */
	struct arena names;
};

void pd_events_done(struct pd_events *e);

/* Adds the event of a struct perf_event_attr. False when it is no such thing or there are too
 * many. */
bool pd_events_add(struct pd_events *e, struct wire attr);
/* The ids that follow belong to the event added last. */
void pd_events_add_ids(struct pd_events *e, struct wire ids);
/* Names the events of these ids. */
void pd_events_name(struct pd_events *e, struct wire ids, const char *name, size_t len);

/* What people call an event: the file's name for it, else the usual one of perf, put into b. */
void pd_event_name(const struct pd_event *e, struct buf *b);

enum pd_user_abi { PD_USER_NONE, PD_USER_32, PD_USER_64 }; /* PERF_SAMPLE_REGS_ABI_* */

struct pd_sample {
	const struct pd_event *event;
	uint64_t ip, time, period;
	uint32_t pid, tid, cpu;
	bool has_time;
	bool has_branch_stack;
	struct wire chain; /* 8-byte addresses, leaf first; empty without call chains */
	/* What was kept to unwind the user's stack by (--call-graph dwarf). */
	enum pd_user_abi user_abi; /* PD_USER_NONE: nothing */
	struct wire user_regs;     /* 8-byte numbers, one for each bit of the event's user_regs */
	struct wire user_stack;
	bool user_stack_is_whole; /* there was no more that could be read */
	/* With {a,b}:S, the counts of the group's events: for pd_sample_count. */
	struct wire counts;
};

/* The payload of a PERF_RECORD_SAMPLE. False when it is cut or of no event. */
bool pd_sample_read(const struct pd_events *e, struct wire record, struct pd_sample *out);

/* The next event of the group and its count so far. False behind the last, and for samples that are
 * only of their own event. */
bool pd_sample_count(const struct pd_events *e, struct pd_sample *s, uint64_t *id, uint64_t *count,
		     const struct pd_event **event);

/* The time at the end of the payload of any other record of the kernel; false when there is none. */
bool pd_record_time(const struct pd_events *e, struct wire record, uint64_t *time);

#endif
