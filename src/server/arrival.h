/* server/arrival.h: a request that brings a batch: who sent it, what is in it, and the answer once it is on the disk.
 *
 *     arrival_new(r, &err)      who, and whether anything can be added here
 *     …fills in.batch.p, points, news, and reply…
 *     arrival_commit(a)         the answer comes later, from the thread that commits
 *
 * Who sends says so with X-Cresset-Agent, a UUID, and numbers batches with X-Cresset-Seq, from 1: each number counts once. Both or neither.
 * X-Cresset-Base is the number of the whole batch that the body was packed against. */
#ifndef CRESSET_SERVER_ARRIVAL_H
#define CRESSET_SERVER_ARRIVAL_H

#include "server/ingest.h"
#include "server/known.h"
#include "server/request.h"
#include "server/senders.h"
#include "store/metric_samples.h"

struct arrival {
	struct ingest_batch in; /* first: it is what is committed. in.batch.p is owned */
	struct request *r;
	struct sender_news news;
	uint8_t id[SENDER_ID_BYTES];
	char address[SENDER_NAME_MAX];
	struct metric_samples points;
	uint64_t rejected; /* as the answer counts it: profiles, or points */
	uint64_t expired;  /* of samples and points: from before what the store keeps */
	struct buf why;    /* of a part that was rejected */
	bool may_be_key;   /* later ones may be packed against it */
	void (*reply)(struct arrival *a); /* it is on the disk */
	/* It used what was known of the sender's stacks, and that is not so any more: to be decoded as a whole, and committed. */
	void (*again)(struct arrival *a);
	struct known_use known;
};

/* NULL: it was answered. Lies in r's arena. */
struct arrival *arrival_new(struct request *r);
/* Refuses it, with err's words. */
void arrival_refuse(struct arrival *a, unsigned status, const struct err *err);
/* Unpacks a body that is packed against an earlier one. False: it was refused. */
bool arrival_unpack(struct arrival *a);
/* A profile to be filled. */
struct profile *arrival_profile(struct arrival *a);
void arrival_commit(struct arrival *a);

#endif
