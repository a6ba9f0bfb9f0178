/* cmd/daemon/users.h: users of this machine with access to a server without tokens
 * (server/access.c):
 *
 *     root, and a starter of the server who is not root      read, add, delete
 *     the user who has started it with sudo                  reads, adds
 *     members of the group cresset                           read, add
 *     the user cresset, and those in its place               add: agents of this machine send as
 *                                                            them
 *
 * Membership is that of the user database at this moment, not the groups that a process has: for a
 * connection, the kernel reports only the user. */
#ifndef CRESSET_CMD_DAEMON_USERS_H
#define CRESSET_CMD_DAEMON_USERS_H

#include "base/buf.h"
#include "base/vec.h"
#include "cmd/files/data_dir.h"
#include "server/server.h"

#include <sys/types.h>

struct err;

#define USERS_GROUP "cresset"

struct users {
	VEC(struct server_user) all; /* each once, sorted by number */
	struct server_users given;   /* for server_opts.users */
};

/* Call it before the sandbox: it uses name services. */
void users_find(struct users *u);
void users_done(struct users *u);
bool users_are_same(const struct users *a, const struct users *b);

/* The same in another process, for one that must not wait: a name service queries other programs
 * and hosts, which may not respond. */
struct users_query { /* zeroed = none */
	pid_t pid;   /* 0: none */
	int fd;
	struct buf got;
};

enum { USERS_QUERY_S = 60 }; /* without a result until then, it ends */

/* Starts the process, in place of an earlier one. find: users_find. Returns 0 or -errno. */
int users_query_begin(struct users_query *q, void (*find)(struct users *u));
/* Returns a descriptor that is readable when users_query_take must be called, or -1. */
int users_query_fd(const struct users_query *q);
/* Returns 1 with the result, 0 if it is not complete, or -ETIME without a result. */
int users_query_take(struct users_query *q, struct users *out);
void users_query_end(struct users_query *q);

/* --- store_user.c: the owner of the data of root's commands. The user owns nothing else, so an
 * attacker who takes over another daemon, or a container that runs as nobody, does not get the
 * store, too.
 *
 * It is the user cresset, created by packaging (deploy/systemd/sysusers.conf, quickstart up).
 * Without it, as in a container or on a read-only system, it is the first of STORE_UIDS numbers
 * that is unused: no name, no group, no process. systemd leaves these free, too
 * (https://systemd.io/UIDS-GIDS/), and they are among the 65536 that a container has. Later runs
 * take the owner of the directory. */

struct store_user {
	uid_t uid;
	gid_t gid;
};

/* Returns -ENOENT with err set if none is left. */
int store_user_find(struct store_user *out, struct err *err);

/* Gives a directory that an earlier version left to nobody, and all of nobody's files in it, to the
 * user, if no process uses it. For root. Returns 1 if it was given away, which is logged; 0 if it
 * was not nobody's; -errno with err set: nothing, or only a part, has changed. */
int store_user_take_over(const char *dir, struct err *err);

#endif
