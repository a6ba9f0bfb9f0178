/* store/names_seen.h: hashes that were met lately, in so many bytes: sets of one cache line each, in which the one that was met longest ago goes. */
#ifndef CRESSET_STORE_NAMES_SEEN_H
#define CRESSET_STORE_NAMES_SEEN_H

#include <stdbool.h>
#include <stdint.h>

struct names_seen {
	uint64_t *room, *slots; /* slots: room from where a cache line begins */
	uint64_t sets;          /* a power of two */
};
void names_seen_init(struct names_seen *s, uint64_t bytes); /* at least one set */
void names_seen_done(struct names_seen *s);
void names_seen_clear(struct names_seen *s);

/* Asks for the memory where it is looked up. */
void names_seen_prefetch(const struct names_seen *s, uint64_t hash);
/* Whether it was met, and still is known; then it is as if it was met now. */
bool names_seen_has(struct names_seen *s, uint64_t hash);
/* Now it is met. False: it was known. */
bool names_seen_put(struct names_seen *s, uint64_t hash);

uint64_t names_seen_bytes(const struct names_seen *s);

#endif
