#include "store/names_seen.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { SET = 8, LINE_BYTES = 64 };
_Static_assert(SET * sizeof(uint64_t) == LINE_BYTES, "a set is a cache line");

void names_seen_init(struct names_seen *s, uint64_t bytes)
{
	*s = (struct names_seen){ .sets = 1 };
	while (s->sets * 2 * LINE_BYTES <= bytes)
		s->sets *= 2;
	s->room = xcalloc((s->sets + 1) * SET, sizeof *s->room);
	s->slots = s->room + (LINE_BYTES - (uintptr_t)s->room % LINE_BYTES) / sizeof *s->room;
}

void names_seen_done(struct names_seen *s)
{
	free(s->room);
	*s = (struct names_seen){ 0 };
}

void names_seen_clear(struct names_seen *s)
{
	memset(s->slots, 0, s->sets * LINE_BYTES);
}

static uint64_t *set_of(const struct names_seen *s, uint64_t hash)
{
	return s->slots + (hash & (s->sets - 1)) * SET;
}

void names_seen_prefetch(const struct names_seen *s, uint64_t hash)
{
	__builtin_prefetch(set_of(s, hash));
}

/* Where it is in its set; the last place when it is not. Slots that are 0 are free. */
static int place_of(const uint64_t *set, uint64_t hash)
{
	int at = 0;

	while (at < SET - 1 && set[at] != hash)
		at++;
	return at;
}

static void move_to_front(uint64_t *set, int at, uint64_t hash)
{
	memmove(set + 1, set, at * sizeof *set);
	set[0] = hash;
}

bool names_seen_has(struct names_seen *s, uint64_t hash)
{
	uint64_t *set = set_of(s, hash), key = hash ? hash : 1;
	int at = place_of(set, key);
	bool known = set[at] == key;

	if (known)
		move_to_front(set, at, key);
	return known;
}

bool names_seen_put(struct names_seen *s, uint64_t hash)
{
	uint64_t *set = set_of(s, hash), key = hash ? hash : 1;
	int at = place_of(set, key);
	bool is_new = set[at] != key;

	move_to_front(set, at, key);
	return is_new;
}

uint64_t names_seen_bytes(const struct names_seen *s)
{
	return (s->sets + 1) * LINE_BYTES;
}
