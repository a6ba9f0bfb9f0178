/* server/peer.h: finds the user of this machine at the other end of a connection.
 *
 * It queries the kernel (sock_diag(7)) for the socket that has our two ends the other way round.
 * That socket belongs to the user who made it: a program that hands on its connection hands on its
 * rights as well. The question has the exact pair of addresses and ports, so no other socket can
 * answer:
 *
 *     the client has closed it, or has ended    such sockets have no owner any more, and the kernel
 *                                               would say root: not known
 *     another machine, or network namespace     has no such socket here: not known
 *     a process answers, not the kernel         does not count
 *     our own end is no longer connected     another client may have those addresses by now: not
 *                                               known
 *
 * If the kernel has no sock_diag for TCP (the module cannot be loaded), its tables of connections
 * are read (peer_table_find), by the same rules.
 *
 * In a user namespace all users from outside of it look like nobody, so nobody is not known
 * there. */
#ifndef CRESSET_SERVER_PEER_H
#define CRESSET_SERVER_PEER_H

#include "base/cpu_budget.h"
#include "base/vec.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

struct err;

struct peers {
	pthread_mutex_t lock;
	int fd;             /* netlink; -1: the kernel cannot be queried, so the tables are read */
	int tables[2];      /* /proc/net/tcp and tcp6; -1: not there */
	uint32_t sequence;  /* of the last question; the first one is random */
	uint64_t reads;     /* of the tables */
	bool has_outsiders; /* users that this user namespace does not know */
};

/* Call it before the sandbox. On failure err is set, and no peer is known. */
int peers_open(struct peers *p, struct err *err);
void peers_close(struct peers *p); /* a second time does nothing */

/* Sets *out to the user at the other end of the TCP connection fd; -ENOENT: unknown. Any thread may
 * call. */
int peers_user(struct peers *p, int fd, uid_t *out);

/* Whether each lookup reads the tables: 1 us per connection of the machine. Then many are looked up
 * at one time, by peers_users: -1 for each that is unknown. */
bool peers_is_slow(const struct peers *p);
void peers_users(struct peers *p, const int *fds, size_t n, int64_t *users);

/* --- the kernel's tables of TCP connections, /proc/net/tcp and tcp6 (proc(5)), for kernels that
 * have no sock_diag(7) for TCP. A lookup reads a table up to the connection; it stops after
 * PEER_TABLE_MOST bytes. */

enum { PEER_TABLE_MOST = 32 << 20 };

/* One end of a connection, in the byte order of the kernel's memory. */
struct peer_end {
	int family; /* AF_INET, also where IPv6 carries it, or AF_INET6 */
	uint32_t address[4];
	uint16_t port; /* big-endian */
};

/* Sets *out to the user of one line. Returns false unless the line is the socket with the local end
 * `its` and the remote end `ours`, and a process has it open. */
bool peer_table_line(const char *line, const struct peer_end *its, const struct peer_end *ours,
		     uid_t *out);

/* A connection to be found. */
struct peer_ask {
	struct peer_end its, ours;
	bool is_found;
	uid_t uid; /* if it is found */
};

/* Reads the table fd from its start until all are found. Returns 0; -ENOENT if one is not in it,
 * -EFBIG, or the read error. */
int peer_table_find(int fd, struct peer_ask *asks, size_t n);

/* --- new connections whose users are looked up in the tables, if there is no sock_diag ---
 *
 * A table has a line for each connection of the machine, and any user can make it long. So one read
 * is for all connections that wait, and reads take at most 5 % of a CPU in the long run (half a
 * second of that can be saved up): of many connections, a new one waits for its turn, and then goes
 * to libmicrohttpd with its user. Connections that are known already wait for nothing. */

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
