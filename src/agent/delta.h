/* agent/delta.h: what a batch is packed against: the last whole one (format/otlp_pack.h).
 *
 * A batch becomes whole, and the next key, when there is none, when the key is an hour old, or when the delta is more than 40 % of what the
 * key took. A delta is never a key. */
#ifndef CRESSET_AGENT_DELTA_H
#define CRESSET_AGENT_DELTA_H

#include "format/otlp_pack.h"

#include <stdint.h>

#define DELTA_KEY_AGE_NS 3600000000000ll

struct delta_key {
	uint64_t id;         /* the caller's name for it; 0: there is none */
	struct buf plain;    /* unpacked */
	size_t packed_bytes; /* when it was packed alone */
	int64_t made_ns;     /* Unix time */
};

void delta_key_done(struct delta_key *k);
/* plain is copied. */
void delta_key_set(struct delta_key *k, uint64_t id, struct otlp_bytes plain, size_t packed_bytes,
		   int64_t made_ns);

/* Appends the message, against k where that is worth it. *base: k's id, or 0 when it is whole. -E2BIG: it is too large. */
int delta_pack(const struct delta_key *k, struct otlp_bytes message, int64_t now_ns,
	       struct buf *out, uint64_t *base, struct err *err);

#endif
