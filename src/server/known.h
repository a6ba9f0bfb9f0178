/* server/known.h: what the stacks of a sender's last message are in the store.
 *
 * A cresset sends the tables of before again, and what is new behind them (format/otlp.h, whole_tables). So of what it sent before nothing
 * has to be decoded, nor looked up: four bytes a stack are kept for it. It is only ever a shorter way: when the tables are others, or the
 * store's dictionary is, the message is decoded as a whole. */
#ifndef CRESSET_SERVER_KNOWN_H
#define CRESSET_SERVER_KNOWN_H

#include "format/otlp.h"
#include "store/store.h"

enum { KNOWN_MAX_STACKS = 1 << 18 }; /* of a sender; those of more are decoded */

/* Of a sender. Zeroed: nothing is known. */
struct known_stacks {
	struct otlp_seen_tables tables;
	struct store_known_stacks store; /* of which the ids are; its own id is NULL */
	uint32_t *id;                    /* by index in the message; UINT32_MAX: no sample had it */
	uint32_t n;
};
void known_stacks_done(struct known_stacks *k);
void known_stacks_copy(struct known_stacks *to, const struct known_stacks *from);
static inline uint64_t known_stacks_bytes(const struct known_stacks *k)
{
	return (uint64_t)k->n * sizeof *k->id;
}

/* Of a message that is being decoded and committed. */
struct known_use {
	struct known_stacks before; /* owned */
	struct otlp_known_stacks message;
	struct store_known_stacks rows;
};
void known_use_done(struct known_use *u);
/* Before the message is decoded; u->before is filled in. */
void known_use_begin(struct known_use *u, struct store *s);
/* After it; u->rows is what the store is given. */
void known_use_rows(struct known_use *u);
/* It is in the store: what the sender's next message may use. False: nothing. */
bool known_use_result(const struct known_use *u, struct known_stacks *out);

#endif
