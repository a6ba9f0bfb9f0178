/* server/connections.h: who is connected, and until when each has to have done what is expected of it.
 *
 * libmicrohttpd's own time-out is for inactivity: who sends a byte a second is never cut. Here every connection has one moment, the end of
 * what it is doing, and a thread that shuts down the socket of those that are late. Any thread may call.
 *
 * Nobody keeps others out by being connected: where there is no room for one more, a connection that waits for a request gives way, first
 * the one that has waited longest without having sent any. One address, a network of 64 bits in IPv6, has an eighth of the room; loopback, where a
 * proxy has all of its clients, and connections that have shown a token are not counted for that. */
#ifndef CRESSET_SERVER_CONNECTIONS_H
#define CRESSET_SERVER_CONNECTIONS_H

#include "base/err.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct connection {
	int fd;
	uint64_t deadline_ns;    /* monotonic; UINT64_MAX: none */
	uint64_t from;           /* connections_network */
	uint64_t waits_since_ns; /* for a request, or for its headers; 0: it has one */
	bool is_known;           /* a token was shown on it */
	bool was_asked;          /* it has had a request */
	bool is_cut;
	bool has_user; /* who is at the other end was looked up: of its parser alone, as user is */
	int64_t user;  /* -1: not known */
	void *request; /* that is being read or answered */
	struct connection *next, **link;
};

struct connections {
	pthread_mutex_t lock;
	pthread_cond_t changed, entered;
	pthread_t reaper;
	bool runs, ends;
	struct connection *first;
	uint32_t n;
	uint64_t added;       /* so far */
	_Atomic uint64_t cut; /* so far, as they were late or gave way */
};

int connections_start(struct connections *c, struct err *err);
/* All are gone. */
void connections_stop(struct connections *c);

/* The network that one address is limited with; 0: it is not. */
uint64_t connections_network(const struct sockaddr *from);
/* Whether one more from there may come, where most may be there at once. One that is there may be cut for that. */
bool connections_make_room(struct connections *c, uint64_t from, uint32_t most);

/* It waits for its first request. */
struct connection *connections_add(struct connections *c, int fd, uint64_t from,
				   uint64_t deadline_ns);
/* Waits until so many have been added so far: the library adds them on its own threads, and who lets them in has to know how many there are. Not
 * longer than that can take: it may have had no room for one. */
void connections_wait_added(struct connections *c, uint64_t n);
uint64_t connections_added(struct connections *c);
/* A request has come whole but for its body; with a token. Or it is over, and the next is waited for. */
void connections_asked(struct connections *c, struct connection *connection);
void connections_known(struct connections *c, struct connection *connection);
void connections_answered(struct connections *c, struct connection *connection);
/* Before its fd is closed. */
void connections_remove(struct connections *c, struct connection *connection);
void connections_set_deadline(struct connections *c, struct connection *connection,
			      uint64_t deadline_ns);
uint32_t connections_count(struct connections *c);

/* Whether the other side is still there to take an answer. */
bool connection_is_there(const struct connection *c);

#endif
