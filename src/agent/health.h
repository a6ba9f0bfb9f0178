/* agent/health.h: whether the collector still records, for all processes of `cresset up` and
 * `cresset agent`.
 *
 * The collector notes each turn of its main loop in memory shared with the supervisor. A collector
 * that stands still (in a call that does not return, or stopped), or that is not running, notes
 * nothing. From HEALTH_INTERVALS intervals on without a note it counts as silent. Times are
 * CLOCK_MONOTONIC: a suspended machine does not make it silent. */
#ifndef CRESSET_AGENT_HEALTH_H
#define CRESSET_AGENT_HEALTH_H

#include <stdatomic.h>
#include <stdint.h>

struct err;

enum { HEALTH_INTERVALS = 2 };
#define HEALTH_SHORTEST_NS 5000000000ull /* short intervals: a busy machine delays any process */

struct health {
	_Atomic uint64_t noted_ns;  /* the collector's last turn, or the supervisor's start */
	_Atomic uint64_t silent_ns; /* HEALTH_INTERVALS intervals */
};

/* Shared with all processes forked after this. */
int health_new(uint64_t interval_ns, uint64_t now_ns, struct health **out, struct err *err);
void health_free(struct health *h); /* NULL is fine, here and below: nothing is noted then */

void health_set_interval(struct health *h, uint64_t interval_ns);
void health_note(struct health *h, uint64_t now_ns);

/* Returns since when nothing was noted; 0: the collector is not silent. */
uint64_t health_silent_since_ns(const struct health *h, uint64_t now_ns);
/* Returns when it counts as silent, unless it notes something until then. */
uint64_t health_due_ns(const struct health *h);

/* Appends what a process waits for: "in uninterruptible sleep, in process_vm_rw_core". Nothing for
 * a process that is not there. */
struct buf;
void health_why(uint32_t pid, struct buf *out);

#endif
