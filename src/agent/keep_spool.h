/* agent/keep_spool.h: writes received batches to a spool, as OTLP messages.
 *
 * Each message contains the whole current dictionary, with all names known by then, so it can be
 * decoded alone, and consecutive messages differ little. A server reads only the entries that a
 * message's samples refer to. So names found after their frames were sent go in a message without
 * samples, once a minute and at the end; a Cresset server takes all names of such a message. */
#ifndef CRESSET_AGENT_KEEP_SPOOL_H
#define CRESSET_AGENT_KEEP_SPOOL_H

#include "agent/batch_receiver.h"
#include "base/buf.h"
#include "base/hash.h"

/* Names of frames, kept from one dictionary to the next. Naming (name_queue.h) looks up an address
 * only once, but every message must contain the names of all its frames. So frames that were named
 * in an earlier dictionary get their names from here. If they exceed 4 MiB when a dictionary ends,
 * they are dropped, and looked up again. */
struct name_memory {           /* zeroed = empty */
	struct profile *known; /* NULL: empty */
	struct map frames;     /* hash of mapping and offset → frame in known */
};

struct keep_spool {
	struct spool *spool;                   /* the caller's, as are resource and added */
	const struct otlp_attribute *resource; /* attributes of this machine */
	size_t n_resource;
	struct name_queue *naming; /* the keeper's */
	void (*added)(void *ctx);  /* something was added to the spool */
	void *ctx;
	/* Of the current dictionary. */
	struct profile *dict; /* NULL: none */
	uint32_t seen_frames; /* already looked up in name_memory */
	uint32_t sent_frames;
	uint32_t sent_named;  /* number of these that were sent with a name */
	uint64_t late_due_ns; /* when late names are sent next */
	struct name_memory memory;
	struct buf message;
};

/* Returns a target for batch_receiver_init. k is the caller's, and must outlive the receiver. */
struct batch_target keep_in_spool(struct keep_spool *k);
void keep_spool_done(struct keep_spool *k);

#endif
