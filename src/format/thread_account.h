/* format/thread_account.h: where the time of each thread went, added up from a profile.
 *
 *     recording  |--------------------------------------------|
 *     life            |------------------------------|              alive = life ÷ recording
 *     accounted       |on-CPU|off-CPU|sched-wait|stop|              coverage = accounted ÷ life, busy = on-CPU ÷ recording
 *
 * Life and the sums are those that were measured (profile/thread.h) where the profile has them. Elsewhere they are an estimate from
 * samples: of the type `wall` when there is one, else of `cpu`, `off-cpu` and `sched-wait`; a life is then no longer than from the first sample
 * to the last. What none of these types tells is not known. */
#ifndef CRESSET_FORMAT_THREAD_ACCOUNT_H
#define CRESSET_FORMAT_THREAD_ACCOUNT_H

#include "profile/profile.h"
#include "profile/state.h"

#include <stdbool.h>

enum { THREAD_WAITS_SHOWN = 3 };

/* Blocked time by what the marker says: "futex/lock", or "off-CPU below 1ms". */
struct thread_reason {
	uint32_t name; /* string; 0: no sample says */
	int64_t ns;
};
/* All waits of one stack. */
struct thread_wait {
	uint32_t stack;
	int64_t ns;
	uint64_t n;
};
struct thread_account {
	uint32_t pid, tid; /* SAMPLE_NO_ID */
	uint32_t name;     /* string; 0 unknown */
	bool is_exact;
	int64_t life_ns;
	int64_t ns[THREAD_STATES];                    /* by state */
	int64_t stopped_ns;                           /* by a signal or a tracer; in none of them */
	VEC(struct thread_reason) reasons;            /* largest first */
	struct thread_wait waits[THREAD_WAITS_SHOWN]; /* the heaviest of them */
	uint32_t n_waits;
	size_t first_row, n_rows; /* in thread_accounts.rows */
};
struct thread_accounts {
	VEC(struct thread_account)
	all;            /* by pid; of a process the main thread first, then by tid */
	uint32_t *rows; /* of p->samples, in their order */
	int64_t recording_ns;
	bool is_known[THREAD_STATES]; /* measured, or of a type that the profile has */
};

/* p is changed only by interned strings. out must be zeroed or done. */
void thread_accounts_make(struct profile *p, struct thread_accounts *out);
void thread_accounts_done(struct thread_accounts *a);

/* The process whose first thread is all.v[first]: all its threads together, without reasons and waits. Returns their number. */
size_t thread_accounts_sum(const struct thread_accounts *a, size_t first,
			   struct thread_account *out);

static inline int64_t thread_account_total(const struct thread_account *t)
{
	return t->ns[STATE_ON_CPU] + t->ns[STATE_OFF_CPU] + t->ns[STATE_SCHED_WAIT] +
	       t->ns[STATE_GPU_WAIT] + t->stopped_ns;
}

#endif
