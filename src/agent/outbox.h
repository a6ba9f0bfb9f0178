/* agent/outbox.h: the collector's side of the stream: batches that wait to be stored, and the dictionary that they refer to.
 *
 * Samples are taken out of the profile when a batch is made, and kept as bytes until they are acknowledged. What is new in the dictionary is
 * written when a batch is sent; after the stream broke all of it is written again, from the profile. So profiles are the outbox's, and stay
 * until the last batch that refers to them is acknowledged. */
#ifndef CRESSET_AGENT_OUTBOX_H
#define CRESSET_AGENT_OUTBOX_H

#include "agent/wire.h"
#include "base/stream.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

struct outbox_batch {
	struct wire_batch head; /* sequence 0: it was never sent */
	struct profile *profile;
	struct buf samples; /* messages: its metrics, too */
	uint64_t n;
};
struct outbox {
	struct profile *profile, *sending; /* that is filled; whose dictionary the other side has */
	struct chunk_writer *samples, *tables;
	struct buf metrics; /* of the batch that is made next */
	struct stream stream;
	uint8_t sender[STORE_SENDER_BYTES];
	uint64_t generation, next_sequence, idle; /* idle: everything is named after this one */
	uint64_t max_bytes, bytes;                /* of the batches */
	VEC(struct outbox_batch) batches;         /* the oldest first */
	bool on_its_way;                          /* the first one */
	uint32_t answers;                         /* about files, since all was written last */
	uint64_t turn_ns;                         /* when the other side had its turn, and … */
	uint32_t heard;                           /* … messages of it since */
	bool is_behind;                           /* there may be more of them */
};

enum { OUTBOX_MAX_OLD = 2 }; /* profiles that only batches refer to */
/* Of the other side: one that was taken over may ask for ever. What that costs: tests/live/hostile_store.sh. */
enum { OUTBOX_HEARD = 64, OUTBOX_TURN_NS = 50000000 };

/* p is the outbox's from here on. max_bytes: of batches that wait; the oldest go when there are more. */
void outbox_init(struct outbox *o, struct profile *p, uint64_t max_bytes);
void outbox_done(struct outbox *o);

/* One message of OTLP metrics, for the batch that is made next. Empty afterwards. */
void outbox_set_metrics(struct outbox *o, struct buf *otlp);
/* Makes a batch of the profile's samples and takes them out. Returns how many older samples were dropped instead. */
uint64_t outbox_add(struct outbox *o, const struct wire_batch *head);
static inline bool outbox_is_empty(const struct outbox *o)
{
	return o->batches.n == 0;
}
/* Nothing waits, and nothing more will be asked about what was sent. */
bool outbox_is_idle(const struct outbox *o);
/* Drops all batches. Returns how many samples that were. */
uint64_t outbox_drop(struct outbox *o);
/* After outbox_add: batches are made of another profile, an empty one, which is the outbox's from here on. Returns how many samples of the
 * oldest ones had to be dropped. */
uint64_t outbox_set_profile(struct outbox *o, struct profile *p);

/* A new stream to a store process, or to the same one. */
void outbox_connect(struct outbox *o, int fd);
/* Sends what is next, and hands over what was asked for: file(ctx, mapping) is a descriptor that stays the callee's, or -errno. Call it
 * whenever the stream is ready, and after outbox_add; now_ns: any clock that goes on. 0, or -errno: the stream is closed now. */
int outbox_run(struct outbox *o, uint64_t now_ns, int (*file)(void *ctx, uint32_t mapping),
	       void *ctx);
/* The other side said more than it is heard for now (OUTBOX_HEARD in OUTBOX_TURN_NS): the stream stays readable, and is no reason to wake. */
static inline bool outbox_is_behind(const struct outbox *o)
{
	return o->is_behind;
}

#endif
