/* profile/strtab.h: interned strings. Equal strings have equal ids; id 0 is the empty string.
 *
 * Strings are bytes: no encoding is checked here, outputs escape. They are at most STRTAB_MAX_LEN
 * long; longer ones are cut there. Text stays where it is until the table is done, so pointers to
 * it may be kept. */
#ifndef CRESSET_PROFILE_STRTAB_H
#define CRESSET_PROFILE_STRTAB_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"

#include <stddef.h>
#include <stdint.h>

enum { STRTAB_MAX_LEN = 64 * 1024 };

struct strtab_entry {
	const char *s; /* NUL-terminated; may have NULs inside */
	uint32_t len;
};
struct strtab {
	struct arena arena;
	struct map index;
	VEC(struct strtab_entry) all; /* by id */
};

void strtab_init(struct strtab *t);
void strtab_done(struct strtab *t);

/* The id of a copy of this string, added when new. NULL counts as "". */
uint32_t strtab_put(struct strtab *t, const char *s);
uint32_t strtab_putn(struct strtab *t, const char *s, size_t len);

/* The id of a string that is there already, UINT32_MAX when it is not. */
uint32_t strtab_find(const struct strtab *t, const char *s);
uint32_t strtab_findn(const struct strtab *t, const char *s, size_t len);

static inline const char *strtab_get(const struct strtab *t, uint32_t id)
{
	return t->all.v[id].s;
}
static inline uint32_t strtab_len(const struct strtab *t, uint32_t id)
{
	return t->all.v[id].len;
}

#endif
