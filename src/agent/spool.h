/* agent/spool.h: what is to be sent, on disk until a server has acknowledged it.
 *
 *     spool.db    entry(id, kind, base, made, samples, sum, packed, done)     one message each; done: it is kept only as others' key
 *                 state(agent, next, shift, source, source_sequence, …)       one row
 *     lock        of the process that uses it
 *
 * An entry and what the state says of it are one transaction, synced when spool_add returns: so no number is given twice, and a batch of the
 * collector gets in once, however often the collector gives it (`source`). The number that a server sees is id - shift, from 1 on, together
 * with the agent's UUID; entries that were dropped are a gap in them. spool_begin_anew makes a new UUID, and what is there begins at 1 again.
 *
 * Messages of profiles are packed against the last whole one (delta.h), which stays as long as an entry needs it. When there is no room the
 * oldest entries are dropped, but for the first while it is on its way, and counted.
 *
 * The file is no larger than max_bytes. One that is damaged is set aside (spool.db.damaged), and a new one begins, with another UUID.
 * Any thread may call. */
#ifndef CRESSET_AGENT_SPOOL_H
#define CRESSET_AGENT_SPOOL_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum spool_kind { SPOOL_PROFILES, SPOOL_METRICS, SPOOL_KINDS };
enum {
	SPOOL_ID_BYTES = 16,
	SPOOL_MIN_BYTES = 1 << 20,
	SPOOL_MAX_MESSAGE = 64 << 20, /* unpacked */
};
/* Where entries of a kind are sent to. */
extern const char *const spool_paths[SPOOL_KINDS];

struct spool_opts {
	const char *dir; /* is there */
	uint64_t max_bytes;
	const char *vfs; /* NULL: the default one */
};
struct spool_source { /* of a batch that may be given again */
	uint8_t id[SPOOL_ID_BYTES];
	uint64_t sequence; /* grows */
};
struct spool_message {
	enum spool_kind kind;
	const void *data; /* plain */
	size_t len;
	uint64_t samples;                  /* or points: what is lost when it is dropped */
	const struct spool_source *source; /* NULL: it is given once */
	int64_t now_ns;                    /* Unix time */
};
struct spool_entry {
	uint64_t id;   /* grows */
	uint64_t base; /* the id of the one that it is packed against; 0: it is whole */
	enum spool_kind kind;
	int64_t made_ns;
	uint64_t samples;
	struct buf packed;
};
/* Of all time. */
struct spool_counts {
	uint64_t added, added_samples;
	uint64_t sent, sent_samples;
	uint64_t dropped, dropped_samples; /* no room */
	uint64_t refused, refused_samples; /* a server would not have it, or it was damaged */
};
struct spool_status {
	uint64_t waiting, waiting_bytes;
	struct spool_counts counts;
};
/* Which batch the server has to pack others against. */
struct spool_peer {
	uint64_t url_hash;
	uint64_t key; /* id; 0: none */
};

struct spool;
/* *damaged (may be NULL): a damaged one was set aside. -EBUSY: another process uses it. */
int spool_open(const struct spool_opts *opts, struct spool **out, bool *damaged, struct err *err);
void spool_close(struct spool *s); /* NULL is fine */

/* It is synced when 0 is returned. *duplicate (may be NULL): it was there. -ENOSPC: the disk is full; -E2BIG: it does not fit into the spool,
 * and is counted as dropped. */
int spool_add(struct spool *s, const struct spool_message *m, bool *duplicate, struct err *err);
/* The next message of profiles is whole. */
void spool_want_key(struct spool *s);

/* The oldest one that waits: 1, or 0 when none does. It stays, and is not dropped for others until the next call of one of these. */
int spool_first(struct spool *s, struct spool_entry *out, struct err *err);
/* Its message, unpacked: appended to out. -EBADMSG: it is damaged, or what it was packed against is. */
int spool_unpack(struct spool *s, const struct spool_entry *e, struct buf *out, struct err *err);
/* The server has it. */
int spool_sent(struct spool *s, uint64_t id, const struct spool_peer *peer, struct err *err);
/* Nobody will have it. */
int spool_refuse(struct spool *s, uint64_t id, struct err *err);
/* Two messages in its place, which are the last now: its number is never used again. */
int spool_split(struct spool *s, const struct spool_entry *e, const struct spool_message halves[2],
		struct err *err);
/* Another UUID; the first that waits has number 1. */
int spool_begin_anew(struct spool *s, struct err *err);

void spool_agent(struct spool *s, uint8_t id[SPOOL_ID_BYTES]);
/* What a server sees of an id; 0 of one from before spool_begin_anew. */
uint64_t spool_number(struct spool *s, uint64_t id);
uint64_t spool_id_of_number(struct spool *s, uint64_t number);
struct spool_peer spool_peer(struct spool *s);
void spool_status(struct spool *s, struct spool_status *out);

#endif
