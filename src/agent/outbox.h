/* agent/outbox.h: the collector's side of the stream: batches waiting to be stored, and the
 * dictionary they refer to.
 *
 * Making a batch takes the samples out of the profile and retains them encoded until they are
 * acknowledged. Sending a batch writes the new entries of the dictionary; after the stream broke,
 * the whole dictionary is written again from the profile. So the outbox owns profiles, and retains
 * each until the last batch that refers to it is acknowledged. */
#ifndef CRESSET_AGENT_OUTBOX_H
#define CRESSET_AGENT_OUTBOX_H

#include "agent/wire.h"
#include "base/buf.h"
#include "base/stream.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct outbox_batch {
	struct wire_batch head; /* sequence 0: it was never sent */
	struct profile *profile;
	struct buf samples; /* encoded messages, including metrics */
	uint64_t n;
};
struct outbox {
	struct profile *profile, *sending; /* being filled; whose dictionary the other side has */
	struct chunk_writer *samples, *tables;
	struct buf metrics; /* for the next batch */
	struct stream stream;
	uint8_t sender[STORE_SENDER_BYTES];
	uint64_t generation, next_sequence, idle; /* idle: the last one after which all was named */
	uint64_t max_bytes, bytes;                /* of the batches */
	VEC(struct outbox_batch) batches;         /* the oldest first */
	bool on_its_way;                          /* the first batch is in flight */
	uint32_t answers;                         /* about files, since the last complete flush */
	uint64_t turn_ns;                         /* start of the current OUTBOX_TURN_NS, and … */
	uint32_t heard;                           /* … messages received in it */
	bool is_behind;                           /* there may be more messages */
};

enum { OUTBOX_MAX_OLD = 2 }; /* limit: profiles only waiting samples refer to */
/* Limits the rate of messages from the other side, which may have been compromised.
 * tests/live/hostile_store.sh measures the cost. */
enum { OUTBOX_HEARD = 64, OUTBOX_TURN_NS = 50000000 };

/* The outbox takes ownership of p. max_bytes: limit for waiting batches; beyond it the oldest are
 * dropped. */
void outbox_init(struct outbox *o, struct profile *p, uint64_t max_bytes);
void outbox_done(struct outbox *o);

/* Takes one message of OTLP metrics for the next batch. otlp is empty afterwards. */
void outbox_set_metrics(struct outbox *o, struct buf *otlp);
/* Makes a batch of the profile's samples and takes them out. Returns the number of older samples
 * dropped to make space. */
uint64_t outbox_add(struct outbox *o, const struct wire_batch *head);
static inline bool outbox_is_empty(const struct outbox *o)
{
	return o->batches.n == 0;
}
/* True if no batch is waiting and the other side needs no more files. */
bool outbox_is_idle(const struct outbox *o);
/* Drops all batches. Returns the number of samples in them. */
uint64_t outbox_drop(struct outbox *o);
/* Call after outbox_add: switches to p, an empty profile, which the outbox owns from here on.
 * Returns the number of samples dropped with the oldest batches. */
uint64_t outbox_set_profile(struct outbox *o, struct profile *p);

/* Starts a new stream to a store process, the same or another. */
void outbox_connect(struct outbox *o, int fd);
/* Sends the next batch and the requested files: file(ctx, mapping) returns a descriptor, which
 * stays the callee's, or -errno. Call it whenever the stream is ready, and after outbox_add.
 * now_ns: any monotonic clock. Returns 0, or -errno with the stream closed. */
int outbox_run(struct outbox *o, uint64_t now_ns, int (*file)(void *ctx, uint32_t mapping),
	       void *ctx);
/* True if the other side sent more than OUTBOX_HEARD messages in OUTBOX_TURN_NS. The stream stays
 * readable then, so do not poll it for input. */
static inline bool outbox_is_behind(const struct outbox *o)
{
	return o->is_behind;
}

/* --- wall.c: converts the samples' clock to Unix time, interval by interval.
 *
 * The two clocks advance together until Unix time is set or the machine is suspended, when the
 * samples' clock stands still. An interval keeps its first offset, so the store has no gap between
 * intervals. When the offset jumps, the interval ends: earlier samples keep the old offset, later
 * ones get the new one. */

struct wall {
	int64_t ahead_ns; /* Unix time minus the samples' clock, in the current interval */
};

/* Returns whether the interval should end now. offset_ns: the measured offset. */
bool wall_jumps(const struct wall *w, int64_t offset_ns);
/* Starts the next interval. Each measurement differs by some µs; only larger changes are taken
 * over. */
void wall_follow(struct wall *w, int64_t offset_ns);

#endif
