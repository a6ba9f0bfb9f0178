/* server/server.h: profiles over HTTP: docs/api.md has the routes, server/routes.c their table.
 *
 *     server_start(&opts, &server, &err);   …until somebody wants the end…   server_stop(server);
 *
 * One thread takes connections, two of libmicrohttpd parse and send, a few work on queries (the connection is suspended meanwhile), one
 * cuts who is late. What a request may cost is limited before it costs anything: connections, requests of a sender, bytes of bodies,
 * queries at once, their time and memory. */
#ifndef CRESSET_SERVER_SERVER_H
#define CRESSET_SERVER_SERVER_H

#include "base/buf.h"
#include "base/err.h"
#include "profile/profile.h"

#include <stdint.h>
#include <sys/types.h>

struct sandbox;
struct store;
struct store_opts;

/* What a user of this machine may do with a server that has no tokens. */
enum server_right { SERVER_READS = 1, SERVER_ADDS = 2, SERVER_DELETES = 4 };
/* Root may do everything, and so may the user who has started the server. */
struct server_users {
	uid_t starter;
	const struct server_user {
		uid_t uid;
		unsigned rights; /* of enum server_right */
	} * others;
	size_t n_others;
};

enum server_log { SERVER_LOG_OFF, SERVER_LOG_JSON, SERVER_LOG_TEXT };
struct server_opts {
	const char *listen; /* ADDRESS:PORT; port 0: any that is free */
	/* What is served: one of file, a store that this process has open, and the store in the folder path. All stay the caller's; strings are
	 * added to file. An open store is added to by requests, too, and maintained by its owner. */
	const char *path;
	struct profile *file;
	struct store *store;
	/* Of path: opens it to write, maintains and closes it. While another process writes it, and when this is NULL, it is read only. */
	const struct store_opts *keep;
	/* Requests need one of the tokens of this file (server/tokens.h), and see what its tenant has. Needed for addresses other than loopback. NULL:
	 * the user whose connection it is decides (server/peer.h). */
	const char *tokens;
	/* Without tokens: whom this machine lets in; the caller's, as long as the server runs. NULL: root, and the user of this process. */
	const struct server_users *users;
	/* PEM files of TLS; NULL: none, which other addresses than loopback need is_insecure for. */
	const char *tls_cert, *tls_key;
	bool is_insecure;
	/* A folder whose files are the page, read anew each time; NULL: those in the program. */
	const char *ui_dir;
	/* Is entered before the first answer; the caller's. NULL: none. */
	struct sandbox *sandbox;
	/* Files whose names are not read any more, for reading them has ended this process; count NULL: it reads none. */
	struct server_unread {
		uint64_t (*count)(const void *ctx);
		const void *ctx;
	} unread;
	enum server_log log; /* of requests, on standard error */
	/* 0: the default */
	uint64_t memory_bytes;       /* 256 MiB; a quarter for bodies, the rest for queries */
	uint64_t query_ns;           /* 30 s */
	uint64_t header_ns, body_ns; /* 10 s; 30 s, and one more for each 64 KiB */
	uint64_t idle_ns;            /* 30 s between two requests */
	uint32_t connections;        /* 256 */
	uint32_t queries;            /* 2 at once */
	uint32_t per_s;              /* 200 requests of a sender, five times as many at once */
};

struct server;

/* Loads the libraries that a server needs, for good: before they are out of reach. server_start does it, too. -ENOSYS with words. */
int server_load(struct err *err);
int server_start(const struct server_opts *opts, struct server **out, struct err *err);
/* Reads tokens and certificates anew. On failure those before stay. */
int server_reload(struct server *s, struct err *err);
/* Ends within seconds: queries are stopped, connections closed. NULL is fine. */
void server_stop(struct server *s);

/* http://127.0.0.1:7070/ */
void server_url(const struct server *s, struct buf *b);
uint16_t server_port(const struct server *s);

#endif
