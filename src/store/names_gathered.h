/* store/names_gathered.h: names that came and are not in names.db yet, in memory, in the order they came. One writer adds and clears; readers of this
 * process look into it, too: whoever changes it, and readers while they look, hold `lock`.
 *
 * Most of what comes is written before anybody asks for it: an index is made when somebody asks, of what came since. One place may so have
 * several lists; names_lines_less says which one holds. Who asks changes `index` and `best` alone: the writer may read the others without `lock`. */
#ifndef CRESSET_STORE_NAMES_GATHERED_H
#define CRESSET_STORE_NAMES_GATHERED_H

#include "base/hash.h"
#include "base/vec.h"
#include "store/names_chunk.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct gathered_entry {
	uint64_t offset;
	uint32_t mapping;
	struct line_run run; /* of names.lines */
};

struct names_gathered {
	pthread_mutex_t lock;
	struct strtab keys;    /* of mappings (names_db.h); a mapping is its key's number, from 1 */
	VEC(int32_t) days;     /* by mapping: the last one it was used on */
	struct strtab strings; /* some have no index: they may be there twice, as functions may */
	struct names names;    /* functions and lines */
	VEC(struct gathered_entry) entries;
	struct map index; /* (mapping, offset) → the first entry there, of those that `best` has */
	VEC(uint32_t) best;  /* by entry: of a place's first one, the one with the best list */
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

/* Adds a list, of one line at least: lines of functions that are in g->names. */
void names_gathered_put(struct names_gathered *g, uint32_t mapping, uint64_t offset,
			const struct line *lines, uint32_t n);
/* Copies all strings and functions of these tables behind those that are there, which is faster than to look which ones are known. Returns
 * what is to be added to a function's number. */
uint32_t names_gathered_append(struct names_gathered *g, const struct strtab *strings,
			       const struct names *names);
/* The best list of this place. False: there is none. */
bool names_gathered_find(struct names_gathered *g, uint32_t mapping, uint64_t offset,
			 struct names_lines *out);
struct names_lines names_gathered_lines(const struct names_gathered *g, uint32_t entry);

#endif
