/* server/connections.h: who is connected, and until when each has to have done what is expected of it.
 *
 * libmicrohttpd's own time-out is for inactivity: who sends a byte a second is never cut. Here every connection has one moment, the end of
 * what it is doing, and a thread that shuts down the socket of those that are late. Any thread may call. */
#ifndef CRESSET_SERVER_CONNECTIONS_H
#define CRESSET_SERVER_CONNECTIONS_H

#include "base/err.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct connection {
	int fd;
	uint64_t deadline_ns; /* monotonic; UINT64_MAX: none */
	void *request;        /* that is being read or answered */
	struct connection *next, **link;
};

struct connections {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t reaper;
	bool runs, ends;
	struct connection *first;
	uint32_t n;
	_Atomic uint64_t cut; /* so far */
};

int connections_start(struct connections *c, struct err *err);
/* All are gone. */
void connections_stop(struct connections *c);

struct connection *connections_add(struct connections *c, int fd, uint64_t deadline_ns);
/* Before its fd is closed. */
void connections_remove(struct connections *c, struct connection *connection);
void connections_set_deadline(struct connections *c, struct connection *connection,
			      uint64_t deadline_ns);
uint32_t connections_count(struct connections *c);

/* Whether the other side is still there to take an answer. */
bool connection_is_there(const struct connection *c);

#endif
