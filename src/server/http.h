/* server/http.h: between libmicrohttpd and the routes: admits requests, collects bodies, runs handlers, sends answers. */
#ifndef CRESSET_SERVER_HTTP_H
#define CRESSET_SERVER_HTTP_H

#include "server/server_state.h"

/* Starts libmicrohttpd's threads. No connection comes before http_take. */
struct request;
int http_start(struct server *s, struct err *err);
/* New connections get the certificates that are in the files now. */
int http_reload(struct server *s, struct err *err);
/* No request is being worked on. */
void http_stop(struct server *s);

/* A connection; fd is taken over. */
void http_take(void *server, int fd, const struct sockaddr *from, socklen_t len);
/* Works on a request, on a thread of server.workers. */
void http_work(void *request);
/* The answer is there. Called by http_work, or, for TAKES_BATCH, later by whoever has it: r is gone then. */
void request_ready(struct request *r);

#endif
