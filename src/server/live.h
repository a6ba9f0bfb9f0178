/* server/live.h: clients that are notified of new data, by server-sent events
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html).
 *
 *     event: totals
 *     data: {"from_ns":…,"step_ns":10000000000,"steps":6,"totals":[…],"total":…,"unit":"…"}
 *
 * A client is a connection that is suspended until it has something to send; one thread serves all
 * of them. Each gets at most one event a second. Events are not queued for a slow client: it gets
 * the newest one next time, and is cut if it takes nothing at all. Any thread may call. */
#ifndef CRESSET_SERVER_LIVE_H
#define CRESSET_SERVER_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

struct err;
struct request;
struct server;

enum {
	LIVE_CLIENTS = 64,
	LIVE_OF_ADDRESS = 16, /* clients of one address, as for requests (server/limits.h) */
};

struct live_client;
struct live;
int live_start(struct server *s, struct err *err);
/* Ends all clients. Call it before the library is stopped. */
void live_end(struct live *l);
void live_free(struct live *l); /* NULL is fine */
uint32_t live_count(struct live *l);

/* Makes r a client, with a stream as its response. Returns false if there are too many. */
bool live_add(struct live *l, struct request *r, const char *selector);
/* Call it when the client's request ends. */
void live_remove(struct live_client *c);
/* A callback for MHD_create_response_from_callback. */
ssize_t live_read(void *client, uint64_t pos, char *to, size_t max);

#endif
