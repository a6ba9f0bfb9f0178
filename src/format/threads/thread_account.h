/* format/threads/thread_account.h: the time of each thread by state, summed up from a profile.
 *
 *     recording  |--------------------------------------------|
 *     life            |------------------------------|              alive = life ÷ recording
 *     accounted       |on-CPU|off-CPU|sched-wait|stop| coverage = accounted ÷ life, busy = on-CPU ÷
 *                     recording
 *
 * Life and sums are measured (profile/thread.h) if the profile has them. Otherwise they are
 * estimated from samples: of the type `wall` if there is one, else of `cpu`, `off-cpu` and
 * `sched-wait`. A life then lasts only from the first sample to the last. Times that none of these
 * types cover are unknown. */
#ifndef CRESSET_FORMAT_THREADS_THREAD_ACCOUNT_H
#define CRESSET_FORMAT_THREADS_THREAD_ACCOUNT_H

#include "base/vec.h"
#include "profile/state.h"

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct profile;

enum { THREAD_WAITS_SHOWN = 3 };

/* Blocked time by the marker's text: "futex/lock", or "off-CPU below 1ms". */
struct thread_reason {
	uint32_t name; /* string; 0: in no sample */
	int64_t ns;
};
/* All waits with one stack. */
struct thread_wait {
	uint32_t stack;
	int64_t ns;
	uint64_t n;
};
struct thread_account {
	uint32_t pid, tid; /* SAMPLE_NO_ID */
	uint32_t name;     /* string; 0: unknown */
	bool is_exact;
	int64_t life_ns;
	int64_t ns[THREAD_STATES];                    /* by state */
	int64_t stopped_ns;                           /* by a signal or a tracer; not in ns */
	VEC(struct thread_reason) reasons;            /* largest first */
	struct thread_wait waits[THREAD_WAITS_SHOWN]; /* the largest of them */
	uint32_t n_waits;
	size_t first_row, n_rows; /* in thread_accounts.rows */
};
struct thread_accounts {
	VEC(struct thread_account)
	all;            /* by pid; within a process the main thread first, then by tid */
	uint32_t *rows; /* of p->samples, in their order */
	int64_t recording_ns;
	bool is_known[THREAD_STATES]; /* measured, or covered by a type of the profile */
};

/* Only adds interned strings to p. out must be zeroed or done. */
void thread_accounts_make(struct profile *p, struct thread_accounts *out);
void thread_accounts_done(struct thread_accounts *a);

/* Sums up the threads of the process whose first thread is all.v[first], without reasons and waits.
 * Returns their number. */
size_t thread_accounts_sum(const struct thread_accounts *a, size_t first,
			   struct thread_account *out);

static inline int64_t thread_account_total(const struct thread_account *t)
{
	return t->ns[STATE_ON_CPU] + t->ns[STATE_OFF_CPU] + t->ns[STATE_SCHED_WAIT] +
	       t->ns[STATE_GPU_WAIT] + t->stopped_ns;
}

/* --- thread_text.c ---
 *
 * Accounts of threads as UTF-8 text for text files. Untrusted names are escaped. */

/* Returns the thread's name for texts and file names: "main", its name, or "thread". */
const char *thread_role(const struct profile *p, const struct thread_account *t);

/* Appends one thread to b. */
void thread_text(struct profile *p, const struct thread_accounts *a, const struct thread_account *t,
		 struct buf *b);

/* Appends every process with a table of its threads, then each thread. Threads not shown (by index
 * in a->all; NULL: all are shown) are only counted and summed. */
void thread_text_summary(struct profile *p, const struct thread_accounts *a, const bool *shown,
			 struct buf *b);

#endif
