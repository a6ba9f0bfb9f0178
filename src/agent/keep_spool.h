/* agent/keep_spool.h: batches that a keeper takes become OTLP messages in a spool.
 *
 * A message has the whole dictionary at hand, with all names known by then: whoever gets one message alone understands it, and messages
 * that follow each other differ by little. Of a message with samples a server looks at what these refer to. So names that were found when their
 * frames were sent already go, once a minute and at the end, in a message without samples, of which a cresset takes all names. */
#ifndef CRESSET_AGENT_KEEP_SPOOL_H
#define CRESSET_AGENT_KEEP_SPOOL_H

#include "agent/keeper.h"
#include "agent/name_memory.h"
#include "agent/spool.h"
#include "format/otlp.h"

struct keep_spool {
	struct spool *spool;                   /* the caller's, as what follows */
	const struct otlp_attribute *resource; /* what is known of this machine */
	size_t n_resource;
	struct naming *naming;    /* the keeper's */
	void (*added)(void *ctx); /* something was added to the spool */
	void *ctx;
	/* Of the dictionary at hand. */
	struct profile *dict; /* NULL: there is none */
	uint32_t seen_frames; /* that name_memory was asked for */
	uint32_t sent_frames;
	uint32_t sent_named;  /* of these, that had a name in what was sent */
	uint64_t late_due_ns; /* when late ones are sent next */
	struct name_memory memory;
	struct buf message;
};

/* What a keeper is to do with batches; k is the caller's, and stays as long as the keeper. */
struct keeper_target keep_in_spool(struct keep_spool *k);
void keep_spool_done(struct keep_spool *k);

#endif
