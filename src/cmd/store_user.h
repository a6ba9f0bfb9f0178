/* cmd/store_user.h: whom the data of root's commands belongs to: a user with nothing else, so that whoever else takes over a daemon, or a container
 * that runs as nobody, does not have the store, too.
 *
 * It is the user cresset, whom packaging makes (deploy/systemd/sysusers.conf, quickstart up). Where there is none, as in a container or on a system that
 * is only read, it is the first of STORE_UIDS numbers that nobody has: no name, no group, no process. systemd leaves these free, too
 * (https://systemd.io/UIDS-GIDS/), and they are inside of the 65536 that a container has. The owner of the folder is remembered by the folder. */
#ifndef CRESSET_CMD_STORE_USER_H
#define CRESSET_CMD_STORE_USER_H

#include "base/err.h"

#include <sys/types.h>

#define STORE_USER "cresset"
enum { STORE_UID_FIRST = 65520, STORE_UIDS = 13 };

struct store_user {
	uid_t uid;
	gid_t gid;
};

/* -ENOENT with words: there is none left. */
int store_user_find(struct store_user *out, struct err *err);

/* "user cresset", "user 65520". */
const char *store_user_words(uid_t uid, char words[64]);

/* A folder that an earlier version left to nobody, with all of nobody's files in it, becomes the user's, where no process uses it. For root. 1: it is
 * theirs now, which is said; 0: it was not nobody's; -errno with words: it is as it was, or a part of it is. */
int store_user_take_over(const char *dir, struct err *err);

#endif
