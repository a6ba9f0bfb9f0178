/* agent/name_asks.h: frames without a name that somebody looks at. Who names (naming.h) says which frames wait; who answers a query says which
 * of these it is about to show, and may wait a moment for them.
 *
 * All functions but new and free may be called by any thread. */
#ifndef CRESSET_AGENT_NAME_ASKS_H
#define CRESSET_AGENT_NAME_ASKS_H

#include "base/err.h"
#include "base/vec.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct name_asks;

int name_asks_new(struct name_asks **out, struct err *err);
void name_asks_free(struct name_asks *a); /* NULL is fine */

/* --- who names --- */

/* Readable when somebody asks. */
int name_asks_fd(const struct name_asks *a);
struct name_keys {
	VEC(uint64_t) v;
};
/* Appends the mappings (naming_key) that were asked for since the last time. */
void name_asks_take(struct name_asks *a, struct name_keys *out);
/* frame: hash of its mapping and offset (naming_frame_key). */
void name_asks_add(struct name_asks *a, uint64_t frame);
/* They have names where they are looked for, or get none. */
void name_asks_settle(struct name_asks *a, const uint64_t *frames, size_t n);
/* No frame waits any more. */
void name_asks_settle_all(struct name_asks *a);

/* --- who asks --- */

bool name_asks_has(struct name_asks *a);
/* Those of dict's frames that wait go before all others. Returns when none of them waits, or after max_ns. True: there were some. */
bool name_asks_for(struct name_asks *a, const struct profile *dict, const uint32_t *frames,
		   size_t n, uint64_t max_ns);

#endif
