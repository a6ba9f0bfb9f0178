/* bench/server/client.h: a server in a process of its own, and connections that stay open. */
#ifndef CRESSET_BENCH_SERVER_CLIENT_H
#define CRESSET_BENCH_SERVER_CLIENT_H

#include "base/buf.h"

#include <stdint.h>
#include <sys/types.h>

struct served {
	pid_t pid;
	uint16_t port;
};
/* cresset serve --data DIR with these arguments behind; the last one is NULL. */
void served_start(struct served *s, const char *cresset, const char *dir, const char *const *more);
uint64_t served_cpu_ns(const struct served *s);
/* Peak of its resident memory. */
uint64_t served_peak_bytes(const struct served *s);
void served_stop(struct served *s);

struct client {
	uint16_t port;
	int fd; /* -1: not connected */
};
struct posted {
	uint8_t agent;           /* which UUID … */
	uint32_t host;           /* … of which agent */
	uint64_t sequence, base; /* base 0: whole */
	const char *encoding;
	const struct buf *body;
};
struct answered {
	unsigned status; /* 0: the connection broke, and nobody knows */
	bool has_retry_after;
};
struct answered client_post(struct client *c, const struct posted *p);
/* The answer's body is appended; the status. */
unsigned client_get(struct client *c, const char *path, struct buf *body);
void client_done(struct client *c);

#endif
