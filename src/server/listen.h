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

enum { LISTEN_WORDS = 64 };
/* "127.0.0.1:7070", "[::1]:7070" */
void listen_words(const union listen_addr *a, char words[LISTEN_WORDS]);

/* Makes a socket that listens there: connections wait in its queue until a listener, in this
 * process or in one that has a copy of the socket, accepts them. Returns it, never 0; or
 * -errno with err set, with the port's user if it is taken. */
int listen_socket(const union listen_addr *addr, struct err *err);
/* Sets *out to the address of a socket, with the real port. Returns 0 or -errno with err set. */
int listen_address(int fd, union listen_addr *out, struct err *err);

struct listener {
	union listen_addr addr; /* with the real port */
	int fd, wake_fd;
	pthread_t thread;
	bool runs;
	/* Takes over fd. */
	void (*take)(void *ctx, int fd, const struct sockaddr *from, socklen_t len);
	void *ctx;
};
/* A listener whose descriptors are -1 is closed. Takes over fd, a socket of listen_socket, on
 * failure too. */
int listener_open(struct listener *l, int fd, struct err *err);
/* Call it with take and ctx set. */
int listener_start(struct listener *l, struct err *err);
void listener_close(struct listener *l);

#endif
