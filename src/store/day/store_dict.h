/* store/day/store_dict.h: the cache for a profile that a sender retains (store.h: struct
 * store_dict). Only files of store/ include it.
 *
 * Without it everything is looked up again. The cache for a part ends with the part's
 * dictionary. */
#ifndef CRESSET_STORE_DAY_STORE_DICT_H
#define CRESSET_STORE_DAY_STORE_DICT_H

#include "base/vec.h"
#include "profile/stack.h"

#include <stdbool.h>
#include <stdint.h>

struct dict_map;
struct profile;
struct store;
struct store_dict;
struct store_part;

/* Returns the known ids of p's frames and stacks in the part. */
struct dict_map *store_dict_map(struct store_dict *d, const struct store_part *sp,
				const struct profile *p);
/* Returns the catalog's series for a series of p. */
uint32_t store_dict_series(struct store_dict *d, const struct profile *p, uint32_t series,
			   int64_t received_ns);
/* Returns whether all names of p were taken and its mappings marked as used on this day. */
bool store_dict_has_names(const struct store_dict *d, const struct profile *p, int32_t day);
/* Notes that they were. */
void store_dict_took_names(struct store_dict *d, const struct profile *p, int32_t day);

uint64_t store_dicts_bytes(const struct store *s);
/* Forgets series: their numbers have changed. */
void store_dicts_forget_series(struct store *s);
/* Empties all caches. */
void store_dicts_drop(struct store *s);

/* --- dict_map.c ---
 *
 * Maps stacks of a batch to a dictionary, which gets only the requested stacks, and all of the
 * batch's frames. */

enum { DICT_MAP_NONE = UINT32_MAX };

struct dict_map {
	struct profile *dict;
	const struct profile *src;
	uint32_t *string, *mapping, *frame,
		*stack; /* dict's ids by src's; DICT_MAP_NONE: not requested yet */
	size_t strings, mappings, frames_room, stacks; /* their lengths */
	size_t frames_mapped, stacks_known;            /* of src so far */
	VEC(uint32_t) frames;                          /* of the pending stacks */
	struct stack_list lists[STACK_BATCH];
	uint32_t ids[STACK_BATCH], n_lists;
};
void dict_map_init(struct dict_map *m, struct profile *dict, const struct profile *src);
/* Takes in growth of src. Returns false if it has shrunk, so it is another profile. */
bool dict_map_follow(struct dict_map *m, const struct profile *src);
uint64_t dict_map_bytes(const struct dict_map *m);
void dict_map_done(struct dict_map *m);

/* Requests a stack; m->stack[id] is valid after dict_map_end. */
void dict_map_stack(struct dict_map *m, uint32_t id);
void dict_map_end(struct dict_map *m);

#endif
