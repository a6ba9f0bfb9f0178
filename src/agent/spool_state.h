/* agent/spool_state.h: internals of the spool, shared by spool.c, spool_send.c, spool_db.c. */
#ifndef CRESSET_AGENT_SPOOL_STATE_H
#define CRESSET_AGENT_SPOOL_STATE_H

#include "agent/spool_types.h"
#include "base/buf.h"
#include "format/otlp/otlp_pack.h"

#include <pthread.h>
#include <stdint.h>

struct err;

/* --- deltas: a batch is compressed against its key, the last whole one (format/otlp/otlp_pack.h).
 *
 * A batch is stored whole and becomes the next key when there is no key, when the key is an hour
 * old, or when the delta takes more than 40 % of the key's size. A delta is never a key. */

#define DELTA_KEY_AGE_NS 3600000000000ll

struct delta_key {
	uint64_t id;         /* chosen by the caller; 0: none */
	struct buf plain;    /* decompressed */
	size_t packed_bytes; /* its size compressed alone */
	int64_t made_ns;     /* Unix time */
};

void delta_key_done(struct delta_key *k);
/* Copies plain. */
void delta_key_set(struct delta_key *k, uint64_t id, struct otlp_bytes plain, size_t packed_bytes,
		   int64_t made_ns);

/* Appends the message, compressed against k if that is worth it. *base: k's id, or 0 if it is
 * whole. -E2BIG: it is too large. */
int delta_pack(const struct delta_key *k, struct otlp_bytes message, int64_t now_ns,
	       struct buf *out, uint64_t *base, struct err *err);

/* --- the spool --- */

/* The row of `state`. */
struct spool_row {
	uint8_t agent[SPOOL_ID_BYTES];
	uint64_t next;  /* id */
	uint64_t shift; /* id minus the number that a server sees */
	struct spool_source source;
	struct spool_counts counts;
	struct spool_peer peer;
};
struct spool {
	struct spool_opts opts;
	char *dir, *path;
	int lock_fd;
	pthread_mutex_t lock;
	struct db *db;
	struct spool_row row;
	struct delta_key key;
	bool wants_key;
	uint64_t in_flight; /* id; 0: none */
	uint64_t waiting, waiting_bytes;
};

/* An entry without its bytes. */
struct spool_head {
	uint64_t id, base, samples, bytes;
	enum spool_kind kind;
};

static inline struct otlp_bytes spool_bytes(const struct buf *b)
{
	return (struct otlp_bytes){ b->data, b->len };
}
static inline bool spool_may_be_key(enum spool_kind kind, uint64_t base)
{
	return kind == SPOOL_PROFILES && base == 0;
}

/* --- spool.c: with the lock held --- */

/* Sets a damaged file aside and starts another; only the last damaged file is retained. Nothing is
 * in flight afterwards. */
int spool_set_aside(struct spool *s, struct err *err);

/* --- spool_db.c --- */

/* The state in memory that a transaction changes. */
struct spool_change {
	struct spool_row row;
	uint64_t waiting, waiting_bytes;
};
int spool_begin(struct spool *s, struct spool_change *before, struct err *err);
/* Commits if rc is 0, else rolls back and restores *before. rc: result of the steps so far,
 * including spool_begin. */
int spool_end(struct spool *s, const struct spool_change *before, int rc, struct err *err);

/* The following return 0, or -errno with err set. All but the first two run in a transaction of the
 * caller. */
int spool_db_open(struct spool *s, struct err *err);
uint64_t spool_db_used(struct spool *s); /* bytes */

/* Sets a new UUID in the row. */
int spool_db_new_agent(struct spool *s, struct err *err);
int spool_db_put(struct spool *s, const struct spool_entry *e, struct err *err);
/* These return 1, or 0 if none exists. */
int spool_db_get(struct spool *s, uint64_t id, struct spool_entry *out, struct err *err);
int spool_db_first(struct spool *s, struct spool_entry *out, struct err *err);
/* The oldest pending entry other than `but`. */
int spool_db_oldest(struct spool *s, uint64_t but, struct spool_head *out, struct err *err);
/* The last whole message of profiles. */
int spool_db_last_key(struct spool *s, struct spool_entry *out, struct err *err);
int spool_db_count(struct spool *s, struct err *err);
/* Ends an entry; deletes bytes that nothing refers to any more. */
int spool_db_end(struct spool *s, uint64_t id, bool may_be_key, struct err *err);

#endif
