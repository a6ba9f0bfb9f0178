/* profile/shown_funcs.h: which functions the frames of a profile show, worked out once and kept with it: every tree and filter of a day's
 * dictionary begins here, and handles numbers instead of text.
 *
 * A frame is resolved when it is asked for first. What names_set changes later is worked out anew. */
#ifndef CRESSET_PROFILE_SHOWN_FUNCS_H
#define CRESSET_PROFILE_SHOWN_FUNCS_H

#include "profile/stack_kids.h"
#include "profile/tree.h"

/* The functions of a frame, root-most first: n ids in shown_funcs.lists. */
struct shown_run {
	uint32_t first;
	uint16_t n;
	bool is_resolved;
	uint32_t changes; /* of the frame's names then */
};
struct shown_funcs {
	uint64_t changes;          /* of the profile's names, when frames were last compared */
	VEC(struct tree_func) all; /* strings of the profile; no two equal */
	VEC(uint32_t) lists;
	VEC(struct shown_run) frames;
	struct map index;
	struct map binaries;    /* mapping, or path → string */
	struct stack_kids kids; /* of its stacks, when somebody asked for them */
	uint32_t *lead;         /* likewise, by index in kids.kid: see shown_funcs_lead */
	uint32_t n_lead;
	/* By stack and by frame: all 0. For who numbers a part of them; taken away while in use. */
	uint32_t *stack_room, *frame_room;
	size_t n_stack_room, n_frame_room;
};

/* That of p, with room for all its frames; p's as long as it lives. p gets the strings that names are made of. */
struct shown_funcs *shown_funcs_of(struct profile *p);
void shown_funcs_free(struct shown_funcs *s); /* NULL is fine */
uint64_t shown_funcs_bytes(const struct shown_funcs *s);

void shown_funcs_resolve(struct shown_funcs *s, struct profile *p, uint32_t frame);
/* Valid until shown_funcs_of; the list until another frame is resolved. By address: who takes it apart waits for what it just wrote. */
static inline const struct shown_run *shown_funcs_get(struct shown_funcs *s, struct profile *p,
						      uint32_t frame)
{
	if (!s->frames.v[frame].is_resolved)
		shown_funcs_resolve(s, p, frame);
	return &s->frames.v[frame];
}

/* kids and lead as the table is now. */
void shown_funcs_kids(struct shown_funcs *s, const struct profile *p);
uint32_t shown_funcs_find_lead(struct shown_funcs *s, struct profile *p, uint32_t at);
/* The first function of what kids.kid[at] has of its own; TREE_NONE: it has nothing. */
static inline uint32_t shown_funcs_lead(struct shown_funcs *s, struct profile *p, uint32_t at)
{
	return s->lead[at] ? s->lead[at] - 1 : shown_funcs_find_lead(s, p, at);
}

/* An array of zeros, by stack or by frame of p; to be given back full of zeros. */
uint32_t *shown_funcs_take_stacks(struct shown_funcs *s, const struct profile *p);
uint32_t *shown_funcs_take_frames(struct shown_funcs *s, const struct profile *p);
void shown_funcs_give(struct shown_funcs *s, uint32_t *by_stack, uint32_t *by_frame);

#endif
