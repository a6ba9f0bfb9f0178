/* server/upload.h: a request that brings a batch: its sender, its content, and the response once it
 * is on the disk.
 *
 *     upload_new(r)            the sender, and whether anything can be added here
 *     …fills in.batch.p, points, news, and reply…
 *     upload_commit(a)         the response follows later, from the thread that commits
 *
 * A sender identifies itself with X-Cresset-Agent, a UUID, and numbers batches with X-Cresset-Seq,
 * from 1: each number counts once. A request has both headers or neither. X-Cresset-Base is the
 * number of the whole batch that the body was compressed against. */
#ifndef CRESSET_SERVER_UPLOAD_H
#define CRESSET_SERVER_UPLOAD_H

#include "base/buf.h"
#include "server/ingest/ingest.h"
#include "server/ingest/senders.h"
#include "store/codec/metric_samples.h"

#include <stddef.h>

struct err;

struct upload {
	struct ingest_batch in; /* first: it is cast back on commit. in.batch.p is owned */
	struct request *r;
	struct sender_news news;
	uint8_t id[SENDER_ID_BYTES];
	char address[SENDER_NAME_MAX];
	struct metric_samples points;
	uint64_t rejected;               /* as the response counts: profiles, or points */
	uint64_t expired;                /* samples and points older than the store retains */
	struct buf why;                  /* why a part was rejected */
	bool may_be_key;                 /* later ones may be compressed against it */
	void (*reply)(struct upload *a); /* called when it is on the disk */
	/* Called if the known stacks of the sender have become stale: decodes the whole message,
	 * and commits again. */
	void (*again)(struct upload *a);
	struct sender_stacks_use known;
};

/* Allocated in r's arena. Returns NULL if the request was served. */
struct upload *upload_new(struct request *r);
/* Refuses the request with err. */
void upload_refuse(struct upload *a, unsigned status, const struct err *err);
/* Decompresses a body that is compressed against an earlier one. Returns false if it was
 * refused. */
bool upload_unpack(struct upload *a);
/* Returns an empty profile to fill. */
struct profile *upload_profile(struct upload *a);
void upload_commit(struct upload *a);

#endif
