/* agent/sender.h: a thread that sends what is in a spool to a server: OTLP over HTTP, the oldest first, one at a time.
 *
 * A server that answers X-Cresset-Key is a cresset, and has that batch of ours to unpack others against: what is packed against it goes as it
 * lies in the spool, with X-Cresset-Base. Anybody else gets whole messages, zstd or, where that is not understood, gzip. Numbers
 * (X-Cresset-Agent, X-Cresset-Seq) go with all; who does not know them ignores them.
 *
 * verdict.h has what happens then. What goes wrong is said once, then every ten minutes; so is that it goes on. */
#ifndef CRESSET_AGENT_SENDER_H
#define CRESSET_AGENT_SENDER_H

#include "agent/spool.h"

#include <stdbool.h>
#include <stdint.h>

struct sender_opts {
	const char *url; /* the base; copied, as ca_file */
	const char *ca_file;
	bool holds; /* nothing is sent before sender_set_token */
	/* By the thread: a batch was taken, by a cresset or another server. May be NULL. */
	void (*peer)(void *ctx, bool is_cresset);
	void *ctx;
};

struct sender;
/* spool stays the caller's, and until sender_stop. -ENOSYS: no libcurl. */
int sender_start(struct spool *spool, const struct sender_opts *opts, struct sender **out,
		 struct err *err);
/* Something was added. */
void sender_wake(struct sender *s);
/* Copied; "": none. What waits is tried at once. */
void sender_set_token(struct sender *s, const char *token);
/* Goes on until nothing waits, something fails, or within_ns is over; then it ends. False: it could not be ended in time, and still uses the
 * spool: nothing is freed. */
bool sender_stop(struct sender *s, uint64_t within_ns);

#endif
