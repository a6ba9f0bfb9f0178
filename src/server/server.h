/* server/server.h: profiles over HTTP: docs/api.md has the routes, server/route/routes.c their
 * table.
 *
 *     server_start(&opts, &server, &err);   …until it is to stop… server_stop(server);
 *
 * One thread accepts connections, two of libmicrohttpd parse and send, a few work on queries (the
 * connection is suspended in the meantime), one cuts clients that are late. Limits apply before a
 * cost arises: connections, requests of a sender, bytes of bodies, concurrent queries, their time
 * and memory. */
#ifndef CRESSET_SERVER_SERVER_H
#define CRESSET_SERVER_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct buf;
struct err;
struct sandbox;
struct store;
struct store_opts;

/* What a user of this machine may do if the server has no tokens. */
enum server_right { SERVER_READS = 1, SERVER_ADDS = 2, SERVER_DELETES = 4 };
/* Root and the user who started the server may do everything. */
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
	const char *listen; /* ADDRESS:PORT; port 0: any free port */
	/* A socket that listens already, in place of that address; the server closes it. 0: none */
	int socket;
	/* What is served, exactly one of these: file, a store that this process has open, or the
	 * store in the directory path. All stay the caller's; strings are added to file. Requests
	 * may add to an open store; its owner maintains it. */
	const char *path;
	struct profile *file;
	struct store *store;
	/* For path: how to open it for writing; the server then maintains and closes it. It is
	 * read-only if this is NULL, and while another process writes it. */
	const struct store_opts *keep;
	/* Requests need one of the tokens in this file (server/tokens.h), and see the data of its
	 * tenant. Required for addresses other than loopback. NULL: the user who owns the
	 * connection decides (server/peer.h). */
	const char *tokens;
	/* Without tokens: the users of this machine who have access; the caller's while the server
	 * runs. NULL: root, and the user of this process. */
	const struct server_users *users;
	/* PEM files for TLS; NULL: no TLS, which needs is_insecure for addresses other than
	 * loopback. */
	const char *tls_cert, *tls_key;
	bool is_insecure;
	/* A directory with the page's files, read again each time; NULL: those in the program. */
	const char *ui_dir;
	/* Entered before the first response; the caller's. NULL: none. */
	struct sandbox *sandbox;
	/* Files whose names are no longer read, as reading them ended this process; count NULL: it
	 * reads none. */
	struct server_unread {
		uint64_t (*count)(const void *ctx);
		const void *ctx;
	} unread;
	/* Since when the collector that fills the store does not respond (CLOCK_MONOTONIC); 0: it
	 * does. since_ns NULL: none is known. */
	struct server_silent {
		uint64_t (*since_ns)(const void *ctx);
		const void *ctx;
	} silent;
	enum server_log log; /* of requests, to standard error */
	/* 0: default */
	uint64_t memory_bytes;       /* 256 MiB; a quarter for bodies, the rest for queries */
	uint64_t query_ns;           /* 30 s */
	uint64_t header_ns, body_ns; /* 10 s; 30 s, and one more for each 64 KiB */
	uint64_t idle_ns;            /* 30 s between requests */
	uint32_t connections;        /* 256 */
	uint32_t queries;            /* 2 at one time */
	uint32_t per_s;              /* 200 requests of a sender, bursts of five times as many */
};

struct server;

/* Loads the libraries that a server needs, permanently, while they are within reach. server_start
 * does so as well. Returns -ENOSYS with err set. */
int server_load(struct err *err);
/* Makes a socket that listens at opts->listen, for the servers of processes to be forked: while
 * the caller has it, no other process gets the port, and connections wait for the next server.
 * Returns it, or as server_start if the address is refused or taken, with err set. */
int server_listen(const struct server_opts *opts, struct err *err);
int server_start(const struct server_opts *opts, struct server **out, struct err *err);
/* Reads tokens and certificates again. On failure the previous ones stay in use. */
int server_reload(struct server *s, struct err *err);
/* Stops within seconds: cancels queries, closes connections. NULL is fine. */
void server_stop(struct server *s);

/* http://127.0.0.1:7070/ */
void server_url(const struct server *s, struct buf *b);
uint16_t server_port(const struct server *s);

#endif
