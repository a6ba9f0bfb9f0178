/* profile/copy.h: pieces of one profile in another, each with what it refers to, once.
 *
 * Ids of the new profile are asked for when something that is kept first refers to them: so nothing else gets in. */
#ifndef CRESSET_PROFILE_COPY_H
#define CRESSET_PROFILE_COPY_H

#include "profile/profile.h"

struct profile_copy {
	const struct profile *from;
	struct profile *to;
	/* By id in `from`: the id in `to` + 1, or 0. */
	uint32_t *string, *mapping, *function, *frame, *type, *set, *series;
	struct profile_copy_sizes {
		size_t string, mapping, function, frame, type, set, series;
	} n; /* entries of these */
};

/* What is added to `from` later, but for strings that only readers use, can be copied after profile_copy_grow. */
void profile_copy_init(struct profile_copy *c, const struct profile *from, struct profile *to);
void profile_copy_done(struct profile_copy *c);
/* Costs next to nothing when nothing was added. */
void profile_copy_grow(struct profile_copy *c);

/* All take an id of `from` and return the one of `to`. */
uint32_t profile_copy_string(struct profile_copy *c, uint32_t id);
uint32_t profile_copy_mapping(struct profile_copy *c, uint32_t id);
uint32_t profile_copy_function(struct profile_copy *c, uint32_t id);
uint32_t profile_copy_type(struct profile_copy *c, uint32_t id);
uint32_t profile_copy_labels(struct profile_copy *c, uint32_t set);
uint32_t profile_copy_series(struct profile_copy *c, uint32_t id);

/* Without its names; *is_new: it was not asked for before, and they are to be set. */
uint32_t profile_copy_frame(struct profile_copy *c, uint32_t frame, bool *is_new);
/* All names of a frame, for its id in `to`. */
void profile_copy_names(struct profile_copy *c, uint32_t frame, uint32_t to);
/* With its frames and their names. */
uint32_t profile_copy_stack(struct profile_copy *c, uint32_t stack);

#endif
