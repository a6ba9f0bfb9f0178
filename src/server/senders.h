/* server/senders.h: who sends what to a tenant, for /debug/ingest, and the last whole batch of each, which the next ones are packed
 * against (format/otlp_pack.h), with what its stacks are in the store.
 *
 * Whether a batch is new is not decided here but by the store, which keeps that for good; this ends with the server, and is bounded: the
 * sender that was not heard of for longest goes for a new one, and so do whole batches (on the disk, server/keys.h) and what is known of
 * stacks (in memory) when all together are too large. Any thread may call. */
#ifndef CRESSET_SERVER_SENDERS_H
#define CRESSET_SERVER_SENDERS_H

#include "base/buf.h"
#include "base/json.h"
#include "server/keys.h"
#include "server/known.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	SENDERS_MAX = 1024,
	SENDER_ID_BYTES = KEY_ID_BYTES,
	SENDER_NAME_MAX = 64,
	SENDER_KEY_MAX = 16 << 20, /* of one, packed */
	SENDER_STATUSES = 8,       /* different ones that are counted */
};

/* What came of one request. */
struct sender_news {
	const uint8_t *id;          /* [SENDER_ID_BYTES] */
	bool is_agent;              /* the id is its own, not made of its address */
	const char *address, *host; /* host: "" where it is not said */
	uint64_t sequence;          /* 0: none */
	unsigned status;
	const char *why; /* it was refused, or a part of it; NULL: all is well */
	bool duplicate;
	uint64_t bytes, samples, points, rejected; /* rejected: of samples and points */
	uint64_t frames, unnamed_frames;
	int64_t now_ns, newest_ns; /* Unix time; newest_ns: of what it sent, 0: nothing */
};

/* Requests that were refused, by status; what does not fit counts with the last. */
struct sender_refusals {
	struct {
		unsigned status;
		uint64_t n;
	} v[SENDER_STATUSES];
};

/* Of one, or of all there ever were. */
struct sender_counts {
	uint64_t batches, duplicates, bytes, samples, points, rejected, frames, unnamed_frames;
	struct sender_refusals refused;
};

struct sender {
	uint8_t id[SENDER_ID_BYTES];
	bool is_agent;
	char address[SENDER_NAME_MAX], host[SENDER_NAME_MAX];
	struct sender_counts counts;
	uint64_t first_sequence, last_sequence, numbered; /* numbered: new batches among these */
	char why[256]; /* the last time that something was refused */
	int64_t first_ns, last_ns, why_ns, behind_ns;
	/* The last whole batch, as zstd packed it; sequence 0: there is none. The file is trusted only as far as its hash. */
	uint64_t key_sequence, key_bytes, key_hash;
	struct known_stacks stacks; /* of its last message */
	uint64_t used;              /* senders.uses when it was heard of last */
};

struct senders {
	pthread_mutex_t lock;
	struct sender *v; /* [n] */
	uint32_t n;
	uint64_t uses;
	int keys;
	uint64_t key_bytes, max_key_bytes, stack_bytes, max_stack_bytes;
	struct sender_counts all;
};

/* keys: of keys_open, taken over; -1: no whole batches are kept. */
void senders_init(struct senders *s, int keys, uint64_t max_key_bytes, uint64_t max_stack_bytes);
void senders_done(struct senders *s);

void senders_note(struct senders *s, const struct sender_news *news);

/* This batch was whole, and is on the disk. One thread at a time: that which commits. */
void senders_keep_key(struct senders *s, const uint8_t *id, uint64_t sequence,
		      const struct buf *packed);
/* The number of the whole batch that is kept of a sender; 0: there is none. */
uint64_t senders_key_sequence(struct senders *s, const uint8_t *id);
/* Appends a copy. False: it is not there any more, or another one is. */
bool senders_key(struct senders *s, const uint8_t *id, uint64_t sequence, struct buf *packed);
/* Those of all: what was deleted is in them. */
void senders_drop_keys(struct senders *s);

/* What is known of its stacks: *k is taken over. */
void senders_keep_stacks(struct senders *s, const uint8_t *id, struct known_stacks *k);
/* A copy; empty where nothing is. */
void senders_stacks(struct senders *s, const uint8_t *id, struct known_stacks *out);

struct senders_stats {
	struct sender_counts counts;
	uint64_t senders, missing, key_bytes, stack_bytes; /* missing: of those that are listed */
};
void senders_get_stats(struct senders *s, struct senders_stats *out);

/* {"senders": [{…}]}, the one heard of last first. */
void senders_json(struct senders *s, struct json *j);

/* "0f8fad5b-d9cb-469f-a165-70867728950e", with or without hyphens. */
bool sender_id_parse(const char *text, uint8_t id[SENDER_ID_BYTES]);

#endif
