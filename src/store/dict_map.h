/* store/dict_map.h: what stacks of a batch are in a dictionary: only those that are asked for come into it, with all of the batch's frames. */
#ifndef CRESSET_STORE_DICT_MAP_H
#define CRESSET_STORE_DICT_MAP_H

#include "base/vec.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

enum { DICT_MAP_NONE = UINT32_MAX };

struct dict_map {
	struct profile *dict;
	const struct profile *src;
	uint32_t *string, *mapping, *frame,
		*stack; /* dict's by src's; DICT_MAP_NONE: not asked for yet */
	size_t strings, mappings, frames_room, stacks; /* how long those are */
	size_t frames_mapped, stacks_known;            /* of src, so far */
	VEC(uint32_t) frames;                          /* of the stacks at hand */
	struct stack_list lists[STACK_BATCH];
	uint32_t ids[STACK_BATCH], n_lists;
};
void dict_map_init(struct dict_map *m, struct profile *dict, const struct profile *src);
/* The same src has grown. False: it has not, but is another one that has less. */
bool dict_map_follow(struct dict_map *m, const struct profile *src);
uint64_t dict_map_bytes(const struct dict_map *m);
void dict_map_done(struct dict_map *m);

/* Asks for a stack: m->stack[id] is there after dict_map_end. */
void dict_map_stack(struct dict_map *m, uint32_t id);
void dict_map_end(struct dict_map *m);

#endif
