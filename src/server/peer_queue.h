/* server/peer_queue.h: new connections whose users are looked up in the kernel's tables (peer.h),
 * if there is no sock_diag.
 *
 * A table has a line for each connection of the machine, and any user can make it long. So one read
 * is for all connections that wait, and reads take at most 5 % of a CPU in the long run (half a
 * second of that can be saved up): of many connections, a new one waits for its turn, and then goes
 * to libmicrohttpd with its user. Connections that are known already wait for nothing. */
#ifndef CRESSET_SERVER_PEER_QUEUE_H
#define CRESSET_SERVER_PEER_QUEUE_H

#include "base/cpu_budget.h"
#include "base/vec.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct err;
struct peers;

struct peer_waiting {
	int fd;
	socklen_t len;
	struct sockaddr_storage from;
};
/* Takes over the connection and its fd; user: -1: unknown. */
typedef void peer_found_fn(void *ctx, const struct peer_waiting *w, int64_t user);

enum { PEER_QUEUE_MOST = 1024 }; /* limit: connections whose user is not looked up yet */

struct peer_queue {
	struct peers *peers;
	peer_found_fn *found;
	void *ctx;
	/* The rest is set by peer_queue_start. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
	bool runs, ends;
	VEC(struct peer_waiting) waiting;
	struct cpu_budget budget; /* used by the thread only */
};

int peer_queue_start(struct peer_queue *q, struct err *err);
/* Closes connections that still wait. Harmless if it was not started. */
void peer_queue_stop(struct peer_queue *q);
/* Returns false if it is full: the fd stays the caller's. Any thread may call. */
bool peer_queue_put(struct peer_queue *q, int fd, const struct sockaddr *from, socklen_t len);

#endif
