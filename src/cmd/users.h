/* cmd/users.h: which users of this machine a server without tokens lets in (server/access.h):
 *
 *     root, and who starts the server without being root     read, add, delete
 *     who has started it with sudo                           reads, adds
 *     members of the group cresset                           read, add
 *     the user cresset, and those in its place               add: agents of this machine send as they
 *
 * Members are those of the user database at that moment, not the groups that a process has: of a connection the kernel tells the user. */
#ifndef CRESSET_CMD_USERS_H
#define CRESSET_CMD_USERS_H

#include "base/vec.h"
#include "server/server.h"

#define USERS_GROUP "cresset"

struct users {
	VEC(struct server_user) all; /* each once, in the order of numbers */
	struct server_users given;   /* for server_opts.users */
};

/* Before the sandbox: it asks name services. */
void users_find(struct users *u);
void users_done(struct users *u);
bool users_are_same(const struct users *a, const struct users *b);

#endif
