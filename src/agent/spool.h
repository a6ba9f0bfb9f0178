/* agent/spool.h: messages to be sent, on disk until a server has acknowledged them.
 *
 *     spool.db    entry(id, kind, base, made, samples, sum, packed, done)
 *                     one message each; done: kept only as the key of others
 *                 state(agent, next, shift, source, source_sequence, …)
 *                     one row
 *     lock        held by the process that uses it
 *
 * An entry and the change of the state are one transaction, synced when spool_add returns. So no
 * number is used twice, and a batch of the collector is added only once, however often it is
 * passed (`source`). A server sees the agent's UUID and the number id - shift, from 1 on; dropped
 * entries leave a gap. spool_start_over makes a new UUID and numbers the present entries from 1
 * again.
 *
 * Messages of profiles are compressed against the last whole one, the key (delta_pack), which
 * stays while an entry needs it. When the spool is full, the oldest entries are dropped and
 * counted, except the first while it is being sent.
 *
 * The file is no larger than max_bytes. A damaged file is set aside (spool.db.damaged) and a new
 * one started, with another UUID. Any thread may call. */
#ifndef CRESSET_AGENT_SPOOL_H
#define CRESSET_AGENT_SPOOL_H

#include "agent/spool_types.h"

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct err;
struct spool;

/* The URL path for each kind of entry. */
extern const char *const spool_paths[SPOOL_KINDS];

/* **damaged (may be NULL): a damaged file was set aside. -EBUSY: another process uses the spool. */
int spool_open(const struct spool_opts *opts, struct spool **out, bool *damaged, struct err *err);
void spool_close(struct spool *s); /* NULL is fine */

/* Adds a message; it is synced when 0 is returned. *duplicate (may be NULL): it was already there.
 * -ENOSPC: the disk is full; -E2BIG: it does not fit into the spool, and is counted as dropped. */
int spool_add(struct spool *s, const struct spool_message *m, bool *duplicate, struct err *err);
/* Makes the next message of profiles whole. */
void spool_want_key(struct spool *s);

/* Reads the oldest pending entry. Returns 1, or 0 if none exists. The entry stays, and is not
 * dropped for others until the next call of one of these functions. */
int spool_first(struct spool *s, struct spool_entry *out, struct err *err);
/* Appends its message, decompressed. -EBADMSG: it or its key is damaged. */
int spool_unpack(struct spool *s, const struct spool_entry *e, struct buf *out, struct err *err);
/* Removes an entry that the server has. */
int spool_sent(struct spool *s, uint64_t id, const struct spool_peer *peer, struct err *err);
/* Removes an entry that no server will take. */
int spool_refuse(struct spool *s, uint64_t id, struct err *err);
/* Replaces an entry by two messages, which are appended at the end; its number is not used
 * again. */
int spool_split(struct spool *s, const struct spool_entry *e, const struct spool_message halves[2],
		struct err *err);
/* Makes a new UUID; the first pending entry gets number 1. */
int spool_start_over(struct spool *s, struct err *err);

void spool_agent(struct spool *s, uint8_t id[SPOOL_ID_BYTES]);
/* Converts between an id and the number that a server sees; 0 for one from before
 * spool_start_over. */
uint64_t spool_number(struct spool *s, uint64_t id);
uint64_t spool_id_of_number(struct spool *s, uint64_t number);
struct spool_peer spool_peer(struct spool *s);
void spool_status(struct spool *s, struct spool_status *out);

#endif
