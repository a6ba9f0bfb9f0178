/* server/live.h: who wants to know when there is something new: server-sent events
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html).
 *
 *     event: totals
 *     data: {"from_ns":…,"step_ns":10000000000,"steps":6,"totals":[…],"total":…,"unit":"…"}
 *
 * A client is a connection that is suspended until it has something to send; one thread serves all of them. Each is told at most once a
 * second, and what it does not take in time is not kept for it: it is told the newest the next time, and cut when it takes nothing at all.
 * Any thread may call. */
#ifndef CRESSET_SERVER_LIVE_H
#define CRESSET_SERVER_LIVE_H

#include "server/request.h"

enum {
	LIVE_CLIENTS = 64,
	LIVE_OF_ADDRESS = 16, /* clients of one address, as for requests (server/rate.h) */
};

struct live_client;
struct live;
int live_start(struct server *s, struct err *err);
/* All clients come to their end; before the library is stopped. */
void live_end(struct live *l);
void live_free(struct live *l); /* NULL is fine */
uint32_t live_count(struct live *l);

/* r becomes a client: its answer is a stream. False: there are too many. */
bool live_add(struct live *l, struct request *r, const char *selector);
/* Its request is gone. */
void live_remove(struct live_client *c);
/* What MHD_create_response_from_callback wants. */
ssize_t live_read(void *client, uint64_t pos, char *to, size_t max);

#endif
