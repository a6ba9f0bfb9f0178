/* profile/tree/shown_funcs.h: caches with a profile which functions its frames show. Every tree and
 * filter of a day's dictionary starts here, and handles numbers instead of text.
 *
 * A frame is resolved when it is first needed, and again after names_set. */
#ifndef CRESSET_PROFILE_TREE_SHOWN_FUNCS_H
#define CRESSET_PROFILE_TREE_SHOWN_FUNCS_H

#include "base/hash.h"
#include "base/vec.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

/* The functions of a frame, root-most first: n ids in shown_funcs.lists. */
struct shown_run {
	uint32_t first;
	uint16_t n;
	bool is_resolved;
	uint32_t changes; /* changes of the frame's names at that time */
};
/* The children of each stack, sorted by the number of frames they share with it, then by id. So a
 * table can be walked from the root down, only where needed. */
struct stack_children {  /* zeroed = of an empty table */
	uint32_t n;      /* stacks */
	uint32_t *first; /* [n + 1]: the kids of id are kid[first[id]] … kid[first[id + 1] - 1] */
	uint32_t *kid;   /* [n] */
	uint16_t *shared; /* [n]: shared of kid[i], stored in parallel */
};

struct shown_funcs {
	struct profile_cache cache; /* must be first */
	uint64_t changes;           /* of the profile's names, at the last comparison */
	VEC(struct tree_func) all;  /* strings of the profile; no two equal */
	VEC(uint32_t) lists;
	VEC(struct shown_run) frames;
	struct map index;
	struct map binaries;        /* mapping, or path → string */
	struct stack_children kids; /* of its stacks, made when first needed */
	uint32_t *lead;             /* by index in kids.kid: see shown_funcs_first */
	uint32_t n_lead;
	/* By stack and by frame: all 0. For callers that number a part of them; NULL while
	 * borrowed. */
	uint32_t *stack_scratch, *frame_scratch;
	size_t n_stack_scratch, n_frame_scratch;
};

/* Returns p's cache, with space for all its frames; p owns it. Adds the strings of names to p. */
struct shown_funcs *shown_funcs_of(struct profile *p);

void shown_funcs_resolve(struct shown_funcs *s, struct profile *p, uint32_t frame);
/* The result is valid until shown_funcs_of; its list until another frame is resolved. Returns a
 * pointer, as reading members of a copy would stall on store forwarding. */
static inline const struct shown_run *shown_funcs_get(struct shown_funcs *s, struct profile *p,
						      uint32_t frame)
{
	if (!s->frames.v[frame].is_resolved)
		shown_funcs_resolve(s, p, frame);
	return &s->frames.v[frame];
}

/* Updates kids and lead to the current table. */
void shown_funcs_children(struct shown_funcs *s, const struct profile *p);
uint32_t shown_funcs_find_first(struct shown_funcs *s, struct profile *p, uint32_t at);
/* Returns the first function of the own frames of kids.kid[at]; TREE_NONE if it lacks one. */
static inline uint32_t shown_funcs_first(struct shown_funcs *s, struct profile *p, uint32_t at)
{
	return s->lead[at] ? s->lead[at] - 1 : shown_funcs_find_first(s, p, at);
}

/* Return an array of zeros, by stack or by frame of p; it must be returned full of zeros. */
uint32_t *shown_funcs_borrow_stacks(struct shown_funcs *s, const struct profile *p);
uint32_t *shown_funcs_borrow_frames(struct shown_funcs *s, const struct profile *p);
void shown_funcs_return(struct shown_funcs *s, uint32_t *by_stack, uint32_t *by_frame);

#endif
