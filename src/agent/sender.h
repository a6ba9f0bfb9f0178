/* agent/sender.h: a thread that sends a spool's entries to a server: OTLP over HTTP, oldest first,
 * one at a time.
 *
 * A server that sends X-Cresset-Key is a Cresset server, and retains that batch to
 * decompress others against. Entries compressed against it are sent unchanged from the spool, with
 * X-Cresset-Base. Other servers get whole messages, in zstd or, if they do not accept it, gzip.
 * All requests have X-Cresset-Agent and X-Cresset-Seq; servers that do not know these ignore them.
 *
 * delivery_of (http_thread.h) decides what happens after a response. A failure is logged once, then
 * every ten minutes; so is the recovery. */
#ifndef CRESSET_AGENT_SENDER_H
#define CRESSET_AGENT_SENDER_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

struct err;
struct spool;

struct sender_opts {
	const char *url; /* the base; copied, as is ca_file */
	const char *ca_file;
	bool holds; /* nothing is sent before sender_set_token */
	/* Called by the thread after a batch was accepted, by a Cresset server or another. May be
	 * NULL. */
	void (*peer)(void *ctx, bool is_cresset);
	void *ctx;
};

struct sender;
/* spool stays the caller's, and must live until sender_stop. Returns -ENOSYS without libcurl. */
int sender_start(struct spool *spool, const struct sender_opts *opts, struct sender **out,
		 struct err *err);
/* Call after an entry was added to the spool. */
void sender_wake(struct sender *s);
/* token is copied; "": none. Pending entries are tried immediately. */
void sender_set_token(struct sender *s, const char *token);
/* Sends until the spool is empty, something fails, or within_ns is over; then ends the thread.
 * Returns false if the thread did not end in time: it still uses the spool, and nothing is
 * freed. */
bool sender_stop(struct sender *s, uint64_t within_ns);

/* --- halves: a message that is too large for a server is split in two, each with half of the
 * samples or points and the entries of the dictionary that they need. */

struct half {
	struct buf message;
	uint64_t samples; /* or points */
};

/* Splits a message of profiles. -E2BIG: it has fewer than two samples. */
int otlp_split(const void *data, size_t len, struct half out[2], struct err *err);

/* Splits a message of metrics. -E2BIG: it has fewer than two points. */
int otlp_split_metrics(const void *data, size_t len, struct half out[2], struct err *err);

#endif
