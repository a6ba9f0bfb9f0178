/* profile/strtab.h: interned strings. Equal strings have equal ids; id 0 is the empty string.
 *
 * Strings are bytes: no encoding is checked here, output code escapes them. Strings longer than
 * STRTAB_MAX_LEN are truncated. Pointers to strings stay valid until strtab_done. */
#ifndef CRESSET_PROFILE_STRTAB_H
#define CRESSET_PROFILE_STRTAB_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"

#include <stddef.h>
#include <stdint.h>

enum { STRTAB_MAX_LEN = 64 * 1024 }; /* limit: bytes of a string; more are cut */

struct strtab_entry {
	const char *s; /* NUL-terminated; may contain NULs */
	uint32_t len;
};
struct strtab {
	struct arena arena;
	struct id_index index;
	VEC(struct strtab_entry) all; /* by id */
};

void strtab_init(struct strtab *t);
void strtab_done(struct strtab *t);

/* Return the id of a copy of this string, added when new. NULL counts as "". */
uint32_t strtab_put(struct strtab *t, const char *s);
uint32_t strtab_putn(struct strtab *t, const char *s, size_t len);

/* Return the id of an existing string, or UINT32_MAX. */
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
