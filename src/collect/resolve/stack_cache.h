/* collect/resolve/stack_cache.h: stacks as the kernel sent them, and as resolved into the sink.
 *
 * Contents are retained in two generations. When the younger one is full it becomes the older one,
 * the older one is dropped, and the kernel must send contents again: samples taken before still
 * find theirs in the older one. */
#ifndef CRESSET_COLLECT_RESOLVE_STACK_CACHE_H
#define CRESSET_COLLECT_RESOLVE_STACK_CACHE_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "bpf/event.h"
#include "collect/kernel/wait_pace.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	/* limit: stacks to be resolved, both generations */
	STACK_CACHE_MAX_BYTES = 8 << 20,     /* of contents, both generations; or max_bytes */
	STACK_CACHE_MAX_RESOLVED = 32 << 10, /* then all are forgotten */
};

static inline size_t event_stack_bytes(const struct event_stack *st)
{
	return sizeof *st + (st->n_kernel + (size_t)st->n_user) * sizeof st->addr[0];
}

struct stack_contents {
	struct arena arena;
	struct map index;
	VEC(struct event_stack *) all;
};

/* A stack in the sink. */
struct resolved_stack {
	uint32_t stack;
	uint32_t leaf; /* frame; FRAME_NONE if the stack is empty */
	enum walk_end end;
};

struct stack_cache { /* zeroed = empty */
	struct stack_contents young, old;
	struct map resolved_index;
	VEC(struct resolved_stack) resolved;
	size_t max_bytes; /* 0: STACK_CACHE_MAX_BYTES */
};

void stack_cache_done(struct stack_cache *c);

static inline void stack_cache_limit(struct stack_cache *c, size_t max_bytes)
{
	c->max_bytes = max_bytes;
}

/* Stores a copy. Returns true when a generation was dropped. */
bool stack_cache_put(struct stack_cache *c, const struct event_stack *st);
/* Returns the contents for a hash; NULL if not there. Valid until the next put. */
const struct event_stack *stack_cache_get(const struct stack_cache *c, uint64_t hash);

/* Returns the resolved stack in an address space (collect/process/image.h). Valid until the next
 * keep. */
const struct resolved_stack *stack_cache_resolved(const struct stack_cache *c, uint64_t image_id,
						  uint64_t hash);
void stack_cache_keep(struct stack_cache *c, uint64_t image_id, uint64_t hash,
		      const struct resolved_stack *r);
/* Forgets resolved stacks; contents are retained. */
void stack_cache_forget(struct stack_cache *c);

/* --- open_waits.c ----------------------------------------------------------------------------- */

/* Stacks of pending waits. The kernel copies the stack at the first report of a wait (EVENT_RAW);
 * while its thread has not run since, further reports come without it (bpf/event.h: going_on). The
 * stack walked from the copy is found here by thread and wait.
 *
 * Contents are in the stack cache. Entries without a report for a generation of some minutes, by
 * the time of events, are dropped: threads are reported all at the same time, or in turns
 * (collect/kernel/off_cpu.h), so their waits are over. */

/* A wait is kept at least this long after its last report: until its thread is reported again. */
#define OPEN_WAITS_KEPT_NS WAIT_REPORTED_WITHIN_NS

struct open_wait {
	uint64_t hash;     /* of the stack's contents */
	uint32_t tid, key; /* key: as event_wait's going_on */
	bool is_cut;       /* the walk is truncated: copy it again */
};
struct open_wait_generation {
	struct map by_tid;
	VEC(struct open_wait) all;
};
struct open_waits { /* zeroed = empty */
	struct open_wait_generation young, old;
	uint64_t young_ns; /* start of the young generation */
};

void open_waits_done(struct open_waits *g);

/* Replaces the thread's entry. now_ns: the time of the event, which grows. */
void open_waits_put(struct open_waits *g, const struct open_wait *w, uint64_t now_ns);
/* Returns NULL if it is unknown, or was another wait. Valid until the next call. */
const struct open_wait *open_waits_get(struct open_waits *g, uint32_t tid, uint32_t key,
				       uint64_t now_ns);

#endif
