/* server/http.h: between libmicrohttpd and the routes: admits requests, collects bodies, runs
 * handlers, sends responses. */
#ifndef CRESSET_SERVER_HTTP_H
#define CRESSET_SERVER_HTTP_H

#include <stdbool.h>
#include <sys/socket.h>

struct buf;
struct err;
struct request;
struct server;

/* Starts libmicrohttpd's threads. There are no connections before http_take. */
int http_start(struct server *s, struct err *err);
/* Where looking up users takes long: they are looked up before a connection is taken. */
int http_start_peers(struct server *s, struct err *err);
/* Reads the certificate files again; new connections use them. */
int http_reload(struct server *s, struct err *err);
/* Call it when no request is being worked on. */
void http_stop(struct server *s);

/* Takes over a connection and its fd. */
void http_take(void *server, int fd, const struct sockaddr *from, socklen_t len);
/* Handles a request, on a thread of server.workers. */
void http_work(void *request);
/* Called when the response is complete: by http_work or, for TAKES_BATCH, later by the request's
 * owner. r must not be used afterwards. */
void request_ready(struct request *r);

/* --- whether a request is taken, by its request line and headers (admit.c) --- */

/* Sets r's route, parameters and body encoding. Returns 0 or the status of the refusal, which err
 * and, in r->reply, allow, retry_after_s and closes describe. */
unsigned admit(struct request *r, const char *method, const char *path, struct err *err);

/* --- answers compressed with gzip, for clients that take it (compress.c) --- */

/* Whether an Accept-Encoding header (RFC 9110, 12.5.3; NULL if absent) accepts gzip. */
bool gzip_is_accepted(const char *accept);

/* Compresses the response if it is text, long enough to be worth it, and the client accepts it. */
void reply_compress(struct request *r);

/* --- one line on standard error for each request that was completed (request_log.c) --- */

/* As server.opts.log reports. Lines are written immediately, so those of several threads do not
 * mix. Neither tokens nor parameters are in them. */
void request_log(const struct request *r);

/* Appends the client's IP address, or "". */
void request_address(const struct request *r, struct buf *b);

#endif
