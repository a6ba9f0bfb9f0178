/* collect/stack_cache.h: stacks as the kernel sent them, and what they became in the sink.
 *
 * Contents are kept in two generations. When the younger one is full it becomes the older one, the
 * older one is dropped, and the kernel is to send contents anew: what is asked for until then, by
 * samples that were taken before, is still in the older one. */
#ifndef CRESSET_COLLECT_STACK_CACHE_H
#define CRESSET_COLLECT_STACK_CACHE_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "bpf/event.h"
#include "collect/symbolize.h"

#include <stdbool.h>
#include <stdint.h>

enum {
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
	uint32_t leaf; /* frame; FRAME_NONE of an empty stack */
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

/* Keeps a copy. True when a generation was dropped. */
bool stack_cache_put(struct stack_cache *c, const struct event_stack *st);
/* The contents of a hash; NULL when they are not there. Good until the next put. */
const struct event_stack *stack_cache_get(const struct stack_cache *c, uint64_t hash);

/* What a stack is in an address space (collect/image.h). The pointer is good until the next
 * keep. */
const struct resolved_stack *stack_cache_resolved(const struct stack_cache *c, uint64_t image_id,
						  uint64_t hash);
void stack_cache_keep(struct stack_cache *c, uint64_t image_id, uint64_t hash,
		      const struct resolved_stack *r);
/* What stacks became; their contents stay. */
void stack_cache_forget(struct stack_cache *c);

#endif
