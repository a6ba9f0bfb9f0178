/* server/listen.h: the listening socket, and the thread that accepts its connections. */
#ifndef CRESSET_SERVER_LISTEN_H
#define CRESSET_SERVER_LISTEN_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct err;

union listen_addr {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* Parses 127.0.0.1:7070, [::1]:7070 or localhost:7070. Returns 0, or -EINVAL with err set. */
int listen_parse(const char *text, union listen_addr *out, struct err *err);
bool listen_is_loopback(const union listen_addr *a);
/* Whether a Host header names this machine's loopback. The name of another site that resolves to
 * 127.0.0.1 does not. */
bool listen_host_is_loopback(const char *host);

struct listener {
	union listen_addr addr; /* after binding, with the real port */
	int fd, wake_fd;
	pthread_t thread;
	bool runs;
	/* Takes over fd. */
	void (*take)(void *ctx, int fd, const struct sockaddr *from, socklen_t len);
	void *ctx;
};
/* A listener whose descriptors are -1 is closed. */
int listener_open(struct listener *l, const union listen_addr *addr, struct err *err);
/* Call it with take and ctx set. */
int listener_start(struct listener *l, struct err *err);
void listener_close(struct listener *l);

#endif
