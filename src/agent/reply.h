/* agent/reply.h: what a server answered to a batch, and the words in it (protobuf of OTLP). It is not trusted. */
#ifndef CRESSET_AGENT_REPLY_H
#define CRESSET_AGENT_REPLY_H

#include "base/buf.h"

#include <stdint.h>

struct reply {
	long status;                 /* 0: there was no answer */
	uint64_t retry_after_s, key; /* key: X-Cresset-Key */
	struct buf body;
};

/* Why it was not taken, appended: the message of google.rpc.Status, cut. */
void reply_words(const struct reply *reply, struct buf *out);
/* What was left out of a batch that was taken, and why, appended. */
uint64_t reply_rejected(const struct reply *reply, struct buf *out);

#endif
