/* agent/spool_state.h: inside of the spool: what spool.c, spool_send.c, spool_db.c share. */
#ifndef CRESSET_AGENT_SPOOL_STATE_H
#define CRESSET_AGENT_SPOOL_STATE_H

#include "agent/delta.h"
#include "agent/spool.h"
#include "store/db.h"

#include <pthread.h>

/* The row of `state`. */
struct spool_row {
	uint8_t agent[SPOOL_ID_BYTES];
	uint64_t next;  /* id */
	uint64_t shift; /* of ids against numbers */
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

/* The file is damaged: another one takes its place, and only the last damaged one stays. Nothing is on its way then. */
int spool_set_aside(struct spool *s, struct err *err);

/* --- spool_db.c --- */

/* What a transaction changes beside the file. */
struct spool_change {
	struct spool_row row;
	uint64_t waiting, waiting_bytes;
};
int spool_begin(struct spool *s, struct spool_change *before, struct err *err);
/* rc: of what was done so far, spool_begin included. All of it, or nothing. */
int spool_end(struct spool *s, const struct spool_change *before, int rc, struct err *err);

/* All that follows: 0 or -errno with words. In a transaction of the caller's, but for the first two. */
int spool_db_open(struct spool *s, struct err *err);
uint64_t spool_db_used(struct spool *s); /* bytes */

int spool_db_save(struct spool *s, struct err *err);
/* Another UUID, in the row. */
int spool_db_new_agent(struct spool *s, struct err *err);
int spool_db_put(struct spool *s, const struct spool_entry *e, struct err *err);
/* 1, or 0: there is none. */
int spool_db_get(struct spool *s, uint64_t id, struct spool_entry *out, struct err *err);
int spool_db_first(struct spool *s, struct spool_entry *out, struct err *err);
/* The oldest that waits, but for one. */
int spool_db_oldest(struct spool *s, uint64_t but, struct spool_head *out, struct err *err);
/* The last whole message of profiles. */
int spool_db_last_key(struct spool *s, struct spool_entry *out, struct err *err);
int spool_db_count(struct spool *s, struct err *err);
/* It waits no more; bytes that nothing refers to go. */
int spool_db_end(struct spool *s, uint64_t id, bool may_be_key, struct err *err);

#endif
