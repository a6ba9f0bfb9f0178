/* collect/resolve/locks.h: locks that threads wait for (bpf/futex.h): whether the word next to a
 * lock is its owner, and the lock's name. */
#ifndef CRESSET_COLLECT_RESOLVE_LOCKS_H
#define CRESSET_COLLECT_RESOLVE_LOCKS_H

#include "base/hash.h"

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct object_table;
struct process;
struct wait_info;

/* limit: owners of locks that are remembered, for LOCK_OWNERS_KEPT_NS; then all are forgotten */
enum { LOCK_OWNERS_MAX = 4096 };
#define LOCK_OWNERS_KEPT_NS 1000000000ull

struct locks {             /* zeroed = empty */
	struct map owners; /* process and thread → 1 if it has that thread */
	uint64_t since_ns; /* of owners */
	double rest;       /* of counts: the fractions so far */
};

void locks_done(struct locks *l);

/* Returns whether the owner is a thread of the process pid, or of any if the lock is shared between
 * processes. Looks in /proc; if the process has ended by then, the words at the lock decide. */
bool locks_has_owner(struct locks *l, uint32_t pid, const struct wait_info *w, uint64_t now_ns);

/* Returns how many waits one counts for: weight, in whole numbers that add up. */
int64_t locks_count(struct locks *l, double weight);

/* Appends "[lock: app+0x4040]", or "[lock]" for one in no file. */
void lock_name(struct buf *b, struct object_table *objects, const struct process *p,
	       const struct wait_info *w);

#endif
