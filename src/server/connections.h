/* server/connections.h: the open connections, and the deadline of each for its next step.
 *
 * libmicrohttpd's own timeout is for inactivity: a client that sends a byte a second is never
 * cut. Here each connection has one deadline, for its current step, and a thread shuts down the
 * sockets of the ones that are late. Any thread may call.
 *
 * A client cannot keep others out by holding connections: if there is no space for another, one
 * that waits for a request is cut, first the one that has waited longest without having sent any.
 * One address (in IPv6, a network of 64 bits) gets an eighth of the space. Loopback, where a proxy
 * has all of its clients, and connections that have presented a token do not count for that
 * share. */
#ifndef CRESSET_SERVER_CONNECTIONS_H
#define CRESSET_SERVER_CONNECTIONS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct err;

struct connection {
	int fd;
	uint64_t deadline_ns;    /* monotonic; UINT64_MAX: none */
	uint64_t from;           /* connections_network */
	uint64_t waits_since_ns; /* for a request or its headers; 0: it has one */
	bool is_known;           /* it has presented a token */
	bool was_asked;          /* it has sent a request */
	bool is_cut;
	bool has_user; /* user was looked up; both are used by its parser only */
	int64_t user;  /* -1: unknown */
	void *request; /* being read or handled */
	struct connection *next, **link;
};

struct connections {
	pthread_mutex_t lock;
	pthread_cond_t changed, entered;
	pthread_t reaper;
	bool runs, ends;
	struct connection *first;
	uint32_t n;
	bool is_expected; /* the next one to be added has this fd and user */
	int expected_fd;
	int64_t expected_user;
	uint64_t added;       /* since the start */
	_Atomic uint64_t cut; /* since the start: late, or to make space */
};

int connections_start(struct connections *c, struct err *err);
/* Call it when all connections are gone. */
void connections_stop(struct connections *c);

/* Returns the network by which an address is limited, or 0 if it is not limited. */
uint64_t connections_network(const struct sockaddr *from);
/* Whether another connection of network from may be added, with a limit of most connections. May
 * cut one to make space. */
bool connections_make_room(struct connections *c, uint64_t from, uint32_t most);

/* Adds a connection that waits for its first request. */
struct connection *connections_add(struct connections *c, int fd, uint64_t from,
				   uint64_t deadline_ns);
/* The connection with this fd, which is added next, has a user that is known already. */
void connections_expect(struct connections *c, int fd, int64_t user);
/* Waits until n connections have been added since the start: the library adds them on its own
 * threads, and the caller that accepts them must know the count. The wait has a limit, as the
 * library may have had no space for one. */
void connections_wait_added(struct connections *c, uint64_t n);
uint64_t connections_added(struct connections *c);
/* Called when the headers of a request have arrived, when it presented a token, and when it is over
 * and the next one is awaited. */
void connections_asked(struct connections *c, struct connection *connection);
void connections_known(struct connections *c, struct connection *connection);
void connections_answered(struct connections *c, struct connection *connection);
/* Call it before fd is closed. */
void connections_remove(struct connections *c, struct connection *connection);
void connections_set_deadline(struct connections *c, struct connection *connection,
			      uint64_t deadline_ns);
uint32_t connections_count(struct connections *c);

/* Whether the client is still connected. */
bool connection_is_there(const struct connection *c);

#endif
