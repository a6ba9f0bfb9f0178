/* server/access.h: what a request may do: by its token, where there are tokens; else by the user of this machine whose connection it is. Who that is
 * is looked up once for a connection, with its first request. */
#ifndef CRESSET_SERVER_ACCESS_H
#define CRESSET_SERVER_ACCESS_H

#include "server/request.h"
#include "server/tokens.h"

struct access {
	pthread_mutex_t lock;
	struct tokens tokens;
};

/* Reads server.opts.tokens, and opens what its tenants have. On failure all is as it was. */
int access_load(struct server *s, struct err *err);

/* How many tenants a file of tokens names, the one without a name among them. */
int access_count_tenants(const char *path, uint32_t *out, struct err *err);

/* The user whose connection it is; -1: there are tokens, or it is not known. */
int64_t access_user(struct request *r);

/* Sets r->tenant. 0, or the status that r is refused with. authorization: the header; NULL: none. */
unsigned access_check(struct request *r, const char *authorization, struct err *err);

#endif
