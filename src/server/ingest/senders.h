/* server/ingest/senders.h: the senders of a tenant: uploads of each one, for /debug/ingest; its
 * last whole batch, which later ones are compressed against (format/otlp/otlp_pack.h); and the
 * store's ids of the stacks in it.
 *
 * The store, not this module, decides whether a batch is new, and remembers that permanently. The
 * data here end with the server and are bounded: the sender not heard of for longest makes space
 * for a new one, and loses its whole batch (on the disk) or its known stacks (in memory) when those
 * of all senders are too large. Any thread may call. */
#ifndef CRESSET_SERVER_INGEST_SENDERS_H
#define CRESSET_SERVER_INGEST_SENDERS_H

#include "format/otlp/otlp.h"
#include "store/codec/store.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct buf;
struct err;
struct json;

enum {
	/* limit: remembered senders */
	SENDERS_MAX = 1024,
	SENDER_ID_BYTES = 16,
	SENDER_NAME_MAX = 64,
	/* limit SENDER_KEY_MAX: a sender's kept batch, compressed */
	SENDER_KEY_MAX = 16 << 20,
	SENDER_STATUSES = 8, /* distinct statuses that are counted */
};

/* --- sender_stacks: the store's ids of the stacks in a sender's last message.
 *
 * A Cresset agent sends its earlier tables again, followed by the new entries (format/otlp/otlp.h,
 * whole_tables). So earlier entries are neither decoded nor looked up: the server keeps four bytes
 * a stack. This is only a shortcut: if the tables or the store's dictionary have changed, the whole
 * message is decoded. */

enum { SENDER_STACKS_MAX = 1 << 18 }; /* per sender; a message with more is decoded */

/* The known stacks of a sender. Zeroed: nothing is known. */
struct sender_stacks {
	struct otlp_seen_tables tables;
	struct store_known_stacks store; /* that the ids belong to; its own id is NULL */
	uint32_t *id;                    /* by index in the message; UINT32_MAX: no sample had it */
	uint32_t n;
};
void sender_stacks_done(struct sender_stacks *k);
void sender_stacks_copy(struct sender_stacks *to, const struct sender_stacks *from);
static inline uint64_t sender_stacks_bytes(const struct sender_stacks *k)
{
	return (uint64_t)k->n * sizeof *k->id;
}

/* For a message while it is decoded and committed. */
struct sender_stacks_use {
	struct sender_stacks before; /* owned */
	struct otlp_known_stacks message;
	struct store_known_stacks rows;
};
void sender_stacks_use_done(struct sender_stacks_use *u);
/* Call it before the message is decoded, with u->before filled in. */
void sender_stacks_use_begin(struct sender_stacks_use *u, struct store *s);
/* Call it after the message is decoded; u->rows is for the store. */
void sender_stacks_use_rows(struct sender_stacks_use *u);
/* Call it when the message is in the store. Sets *out to the stacks for the sender's next message;
 * returns false if none exists. */
bool sender_stacks_use_result(const struct sender_stacks_use *u, struct sender_stacks *out);

/* --- the senders --- */

/* The outcome of one request. */
struct sender_news {
	const uint8_t *id;          /* [SENDER_ID_BYTES] */
	bool is_agent;              /* the id is the agent's own, not made from its address */
	const char *address, *host; /* host: "" if unknown */
	uint64_t sequence;          /* 0: none */
	unsigned status;
	const char *why; /* all or a part was refused; NULL: nothing was */
	bool duplicate;
	uint64_t bytes, samples, points, rejected; /* rejected: of samples and points */
	uint64_t frames, unnamed_frames;
	int64_t now_ns, newest_ns; /* Unix time; newest_ns: of the newest data, 0: none */
};

/* Refused requests by status; statuses beyond the array count with the last. */
struct sender_refusals {
	struct {
		unsigned status;
		uint64_t n;
	} v[SENDER_STATUSES];
};

/* Of one sender, or of all since the start. */
struct sender_counts {
	uint64_t batches, duplicates, bytes, samples, points, rejected, frames, unnamed_frames;
	struct sender_refusals refused;
};

struct sender {
	uint8_t id[SENDER_ID_BYTES];
	bool is_agent;
	char address[SENDER_NAME_MAX], host[SENDER_NAME_MAX];
	struct sender_counts counts;
	uint64_t first_sequence, last_sequence, numbered; /* numbered: new batches with a number */
	char why[256];                                    /* reason of the last refusal */
	int64_t first_ns, last_ns, why_ns, behind_ns;
	/* The last whole batch, as zstd compressed it; sequence 0: none. The file is checked
	 * against the hash. */
	uint64_t key_sequence, key_bytes, key_hash;
	struct sender_stacks stacks; /* of its last message */
	uint64_t used;               /* senders.uses when it was last heard of */
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

/* Opens the directory keys/ in dir, the store's; creates it if needed. Returns a descriptor or
 * -errno. */
int keys_open(const char *dir, struct err *err);

/* keys: from keys_open, taken over; -1: no whole batches are retained. */
void senders_init(struct senders *s, int keys, uint64_t max_key_bytes, uint64_t max_stack_bytes);
void senders_done(struct senders *s);

void senders_note(struct senders *s, const struct sender_news *news);

/* Retains this batch, which is whole and on the disk, as the sender's key. One thread at a time
 * calls it: the committing one. */
void senders_keep_key(struct senders *s, const uint8_t *id, uint64_t sequence,
		      const struct buf *packed);
/* Returns the sequence number of the whole batch kept of a sender, or 0 if none exists. */
uint64_t senders_key_sequence(struct senders *s, const uint8_t *id);
/* Appends a copy of the whole batch. Returns false if it is gone or another one took its place. */
bool senders_key(struct senders *s, const uint8_t *id, uint64_t sequence, struct buf *packed);
/* Drops the whole batches of all senders: they contain data that was deleted. */
void senders_drop_keys(struct senders *s);

/* Retains the known stacks of a sender; takes over *k. */
void senders_keep_stacks(struct senders *s, const uint8_t *id, struct sender_stacks *k);
/* Sets *out to a copy, which is empty if nothing is known. */
void senders_stacks(struct senders *s, const uint8_t *id, struct sender_stacks *out);

struct senders_stats {
	struct sender_counts counts;
	uint64_t senders, missing, key_bytes, stack_bytes; /* missing: of the senders in the list */
};
void senders_get_stats(struct senders *s, struct senders_stats *out);

/* Writes {"senders": [{…}]}, the one last heard of first. */
void senders_json(struct senders *s, struct json *j);

/* "0f8fad5b-d9cb-469f-a165-70867728950e", with or without hyphens. */
bool sender_id_parse(const char *text, uint8_t id[SENDER_ID_BYTES]);

#endif
