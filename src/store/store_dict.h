/* store/store_dict.h: what the store remembers of the profile that a sender keeps (store.h: struct store_dict). Only files of store/ include it.
 *
 * It is only ever a shorter way: without it everything is looked up again. What is remembered of a part ends with the part's dictionary. */
#ifndef CRESSET_STORE_STORE_DICT_H
#define CRESSET_STORE_STORE_DICT_H

#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

struct dict_map;
struct store;
struct store_dict;
struct store_part;

/* What p's frames and stacks are in the part, as far as it is known. */
struct dict_map *store_dict_map(struct store_dict *d, const struct store_part *sp,
				const struct profile *p);
/* The series of the catalog. */
uint32_t store_dict_series(struct store_dict *d, const struct profile *p, uint32_t series,
			   int64_t received_ns);
/* Whether all names of p were taken, and its mappings are used on this day. */
bool store_dict_has_names(const struct store_dict *d, const struct profile *p, int32_t day);
/* They were. */
void store_dict_took_names(struct store_dict *d, const struct profile *p, int32_t day);

uint64_t store_dicts_bytes(const struct store *s);
/* Numbers of series mean something else now. */
void store_dicts_forget_series(struct store *s);
/* Everything is forgotten. */
void store_dicts_drop(struct store *s);

#endif
