/* collect/collect_state.h: the inside of a collector, shared by its files. */
#ifndef CRESSET_COLLECT_COLLECT_STATE_H
#define CRESSET_COLLECT_COLLECT_STATE_H

#include "base/cpu_budget.h"
#include "collect/collect_opts.h"
#include "collect/gpu/collect_gpu.h"
#include "collect/heap/collect_heap.h"
#include "collect/kernel/missing.h"
#include "collect/kernel/program_news.h"
#include "collect/kernel/sampler.h"
#include "collect/resolve/brief.h"
#include "collect/resolve/order.h"
#include "collect/resolve/resolve.h"
#include "profile/sink.h"

struct err;

enum { COLLECT_PAUSE_MAX_NS = 2000000 }; /* longest time that a reader yields its CPU at one time */

struct collector {
	struct sink *sink;
	struct sampler *sampler;
	struct side_band *side;
	struct program_news *programs;
	struct resolver *resolver;
	struct helper *helper;
	struct proc_reader *reader;
	struct collect_gpu gpu;
	struct collect_heap heap;
	struct order order;
	struct brief brief;         /* of the records being read */
	uint64_t looked_ns;         /* time of the last reading */
	size_t n_told;              /* of the order's samples: the resolver has seen them */
	struct allowance side_time; /* CPU time left for the side band */
	uint64_t side_begun_ns;     /* CPU time of this thread, as the next two */
	uint64_t side_taken_ns;     /* spent reading it since … */
	uint64_t waits_since_ns;    /* … this */
	int epoll_fd;
	int64_t side_pause_ns;
	uint64_t started_ns, stopped_ns, next_read_ns, next_early_ns, next_cpus_ns;
	uint64_t next_resident_ns, resident_wait_ns; /* the next look at resident memory */
	uint64_t next_pause_ns;
	uint64_t look_ns, look_wait_ns; /* next look at what a new program maps; 0: none */
	uint64_t reported_ns; /* when thread times were last requested; 0: they were not */
	uint64_t cut_ns;      /* up to when the last cut reported pending waits */
	uint64_t samples, waits, first_sample_ns; /* waits: of the samples */
	uint64_t given[LOSS_REASONS];             /* losses already passed to the sink */
	struct sampler_stats last;                /* as of collect_stop */
	struct collect_opts opts; /* with defaults filled in, without what is missing */
	struct collect_missing missing[COLLECT_GROUPS];
};

/* --- collect_read.c: what the kernel sends ---------------------------------------------------- */

/* Reads what processes do. */
void collector_read_side(struct collector *c);

/* The same where a program has begun that is not known, with what it maps right after that (waits
 * at most timeout_ms, negative: no limit), and later, in looks at growing distances, what it maps
 * while it starts. */
void collector_read_programs(struct collector *c, int timeout_ms);
uint64_t collector_look_due_ns(const struct collector *c); /* UINT64_MAX: never */
void collector_look(struct collector *c);

/* A wakeup costs as much as the reading itself. Charges all CPU time since collector_begin_wait,
 * which is called before the wait, to the side band. */
void collector_begin_wait(struct collector *c);
void collector_charge_wake(struct collector *c);

/* Empties all rings, then hands out what is older than the moment before that (or everything, at
 * the end). */
int collector_read(struct collector *c, bool everything, struct err *err);

/* Empties all rings, some times a second, without handing anything out: before all processes are
 * known. ctx: the collector. */
void collector_read_early(void *ctx);

/* Makes the kernel send the times of all threads and the pending waits. */
int collector_report(struct collector *c, bool is_last, struct err *err);

/* Hands out what was reported as well, unless it is held for its tables. Otherwise the sink it goes
 * to would depend on how long the report took. */
int collector_take_report(struct collector *c, struct err *err);

/* Opens a window of switches that is due, or ends one with a report. */
int collector_turn_window(struct collector *c, struct err *err);
int collector_close_window(struct collector *c, struct err *err);

/* When too many samples of `wall` wait for the times of their threads: requests those, and hands
 * the samples out once the times have been taken. */
int collector_relieve(struct collector *c, struct err *err);

/* collect_resident.c: resident memory. Reads it when it is time, for a recording with an end; puts
 * it into the sink at a cut, when it is time; and at the end. */
void collector_look_at_resident(struct collector *c);
void collector_cut_resident(struct collector *c);
void collector_end_resident(struct collector *c);

/* collect_types.c: adds the types of the requested events to a sink; TYPE_NONE for all others. */
struct resolve_types collect_types(const struct sampler_opts *opts, struct sink *sink);

#endif
