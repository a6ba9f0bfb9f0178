/* profile/copy.h: copies parts of one profile to another, each once, with everything it refers to.
 *
 * An entry is added to the new profile when something copied first refers to it, so nothing else
 * is copied. */
#ifndef CRESSET_PROFILE_COPY_H
#define CRESSET_PROFILE_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile_copy {
	const struct profile *from;
	struct profile *to;
	/* By id in `from`: the id in `to` + 1, or 0. */
	uint32_t *string, *mapping, *function, *frame, *type, *set, *series;
	struct profile_copy_sizes {
		size_t string, mapping, function, frame, type, set, series;
	} n; /* lengths of these arrays */
};

/* Entries added to `from` later, except strings that only readers use, can be copied after
 * profile_copy_grow. */
void profile_copy_init(struct profile_copy *c, const struct profile *from, struct profile *to);
void profile_copy_done(struct profile_copy *c);
/* Cheap when nothing was added. */
void profile_copy_grow(struct profile_copy *c);

/* All take an id of `from` and return the one of `to`. */
uint32_t profile_copy_string(struct profile_copy *c, uint32_t id);
uint32_t profile_copy_mapping(struct profile_copy *c, uint32_t id);
uint32_t profile_copy_function(struct profile_copy *c, uint32_t id);
uint32_t profile_copy_type(struct profile_copy *c, uint32_t id);
uint32_t profile_copy_labels(struct profile_copy *c, uint32_t set);
uint32_t profile_copy_series(struct profile_copy *c, uint32_t id);

/* Copies a frame without its names. *is_new: it was not copied before, so its names must be set. */
uint32_t profile_copy_frame(struct profile_copy *c, uint32_t frame, bool *is_new);
/* Copies all names of a frame. to: its id in `to`. */
void profile_copy_names(struct profile_copy *c, uint32_t frame, uint32_t to);
/* Copies a stack with its frames and their names. */
uint32_t profile_copy_stack(struct profile_copy *c, uint32_t stack);

#endif
