/* store/names_gathered.h: names that came and are not in names.db yet, in memory. One writer adds and clears; readers of this process look into it,
 * too: whoever changes it, and readers while they look, hold `lock`. */
#ifndef CRESSET_STORE_NAMES_GATHERED_H
#define CRESSET_STORE_NAMES_GATHERED_H

#include "base/hash.h"
#include "base/vec.h"
#include "store/names_chunk.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct gathered_entry {
	uint32_t mapping;
	uint64_t offset;
};

struct names_gathered {
	pthread_mutex_t lock;
	struct strtab keys; /* of mappings (names_db.h); a mapping is its key's number, from 1 */
	VEC(int32_t) days;  /* by mapping: the last one it was used on */
	struct strtab strings;
	struct names names; /* by entry */
	VEC(struct gathered_entry) entries;
	struct map index;    /* (mapping, offset) → entry */
	uint64_t generation; /* other than before when a name came; from 1 */
};
void names_gathered_init(struct names_gathered *g);
void names_gathered_done(struct names_gathered *g);
/* Nothing is in it; generations go on. */
void names_gathered_clear(struct names_gathered *g);
bool names_gathered_is_empty(const struct names_gathered *g);
uint64_t names_gathered_bytes(const struct names_gathered *g);

/* The mapping, used on this day; added when it is new. */
uint32_t names_gathered_use(struct names_gathered *g, const void *key, size_t len, int32_t day);
/* 0: it is not here. */
uint32_t names_gathered_mapping(const struct names_gathered *g, const void *key, size_t len);

/* The better list stays, of two that are as good this one. copy: into strings and names of these. */
void names_gathered_put(struct names_gathered *g, uint32_t mapping, uint64_t offset,
			const struct names_lines *lines, struct names_copy *copy);
/* False: there is none. */
bool names_gathered_find(const struct names_gathered *g, uint32_t mapping, uint64_t offset,
			 struct names_lines *out);
struct names_lines names_gathered_lines(const struct names_gathered *g, uint32_t entry);

#endif
