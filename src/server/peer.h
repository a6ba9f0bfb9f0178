/* server/peer.h: which user of this machine is at the other end of a connection.
 *
 * The kernel is asked (sock_diag(7)) for the socket that has our two ends the other way round. It belongs to the user who made it: a program that
 * hands its connection on hands its rights on, too. Asked is for the exact pair of addresses and ports, so no other socket can answer:
 *
 *     the client has closed it, or has ended    such sockets have no owner any more, and the kernel would say root: not known
 *     another machine, or network namespace     has no such socket here: not known
 *     our own end is not connected any more     another client may have those addresses by now: not known
 *
 * Where the kernel has no sock_diag for TCP (the module cannot be loaded) its tables of connections are read (server/peer_table.h), by the same rules.
 *
 * In a user namespace all users from outside of it look like nobody: nobody is not known there. */
#ifndef CRESSET_SERVER_PEER_H
#define CRESSET_SERVER_PEER_H

#include "base/err.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct peers {
	pthread_mutex_t lock;
	int fd;        /* netlink; -1: the kernel cannot be asked, the tables are read */
	int tables[2]; /* /proc/net/tcp and tcp6; -1: not there */
	uint32_t sequence;
	bool has_outsiders; /* whom this user namespace does not know */
};

/* Before the sandbox. On failure, with words, no peer is known. */
int peers_open(struct peers *p, struct err *err);
void peers_close(struct peers *p); /* a second time does nothing */

/* The user at the other end of the TCP connection fd. -ENOENT: not known. Any thread may ask. */
int peers_user(struct peers *p, int fd, uid_t *out);

#endif
