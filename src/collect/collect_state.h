/* collect/collect_state.h: what a collector is made of, for the files of it. */
#ifndef CRESSET_COLLECT_COLLECT_STATE_H
#define CRESSET_COLLECT_COLLECT_STATE_H

#include "base/allowance.h"
#include "collect/collect.h"
#include "collect/collect_gpu.h"
#include "collect/helper.h"
#include "collect/order.h"
#include "collect/resolve.h"
#include "collect/sampler.h"
#include "collect/side_band.h"

enum {
	COLLECT_PAUSE_MAX_NS = 2000000
}; /* the longest time that a reader gives its CPU up for, at once */

struct collector {
	struct sink *sink;
	struct sampler *sampler;
	struct side_band *side;
	struct resolver *resolver;
	struct helper *helper;
	struct collect_gpu gpu;
	struct order order;
	struct allowance side_time; /* for the side band */
	uint64_t side_begun_ns;     /* in CPU time of this thread */
	int epoll_fd;
	int64_t side_pause_ns;
	uint64_t started_ns, next_read_ns, next_cpus_ns, next_pause_ns;
	uint64_t reported_ns; /* when the times of threads were asked for; 0: they were not */
	uint64_t cut_ns;      /* until when the last cut asked for waits that go on */
	uint64_t samples, waits, first_sample_ns; /* waits: of the samples */
	uint64_t given[LOSS_REASONS];             /* losses that were told to the sink */
	struct sampler_stats last;                /* as of collect_stop */
	struct collect_opts opts;                 /* for types; without what is missing */
	struct collect_missing missing[COLLECT_GROUPS];
};

/* --- collect_read.c: what the kernel sends -------------------------------------------------------------------- */

/* Mappings, and what comes right behind them; waits for no longer than timeout_ms (below 0: for as long as it likes). */
void collector_read_burst(struct collector *c, int timeout_ms);

/* Empties all rings, then takes what is older than the moment before that (or everything, at the end). */
int collector_read(struct collector *c, bool everything, struct err *err);

/* Has the kernel send the times of all threads and the waits that go on. */
int collector_report(struct collector *c, struct err *err);

/* What was reported is handed out, too, unless it is held for its tables: else the sink it goes to would depend on how long the report took. */
int collector_take_report(struct collector *c, struct err *err);

/* When too many samples of `wall` wait for the times of their threads: asks for those, and hands out once they have been taken. */
int collector_relieve(struct collector *c, struct err *err);

#endif
