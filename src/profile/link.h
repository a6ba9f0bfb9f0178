/* profile/link.h: the span of a distributed trace in which a sample was taken (W3C Trace Context:
 * https://www.w3.org/TR/trace-context/).
 *
 * Links are interned: a sample has the id of one, or 0. Requests come and go, so links are never
 * labels of series, and a table takes at most LINK_MAX of them (some 60 MiB). Samples beyond that
 * have no link, and are counted (LOSS_LINKS_DROPPED). */
#ifndef CRESSET_PROFILE_LINK_H
#define CRESSET_PROFILE_LINK_H

#include "base/hash.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* limit LINK_MAX: trace spans of a profile, batch, SQL statement */
enum { LINK_MAX = 1 << 20, LINK_TRACE_BYTES = 16, LINK_SPAN_BYTES = 8 };

/* All zero: unknown. */
struct trace_link {
	uint8_t trace[LINK_TRACE_BYTES], span[LINK_SPAN_BYTES];
};
_Static_assert(sizeof(struct trace_link) == 24, "bytes without gaps");

struct link_table {                 /* zeroed = empty */
	VEC(struct trace_link) all; /* by id - 1 */
	struct map index;
};

/* Returns 0 for a link of zeros, or if the table is full. */
uint32_t link_intern(struct link_table *t, const struct trace_link *l);
void link_table_done(struct link_table *t);

bool link_is_none(const struct trace_link *l);

/* NULL for id 0. */
static inline const struct trace_link *link_get(const struct link_table *t, uint32_t id)
{
	return id ? &t->all.v[id - 1] : NULL;
}
static inline uint64_t link_table_bytes(const struct link_table *t)
{
	return vec_size_bytes(&t->all) + map_size_bytes(&t->index);
}

/* Convert ids to and from hexadecimal text: lower case, two digits per byte, then a NUL. link_parse
 * also accepts upper case; it returns false unless text is exactly the digits of n bytes. */
enum { LINK_TEXT_BYTES = 2 * LINK_TRACE_BYTES + 1 };
void link_text(const uint8_t *bytes, size_t n, char *out);
bool link_parse(const char *text, size_t len, uint8_t *bytes, size_t n);

#endif
