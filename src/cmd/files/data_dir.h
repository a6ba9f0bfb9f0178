/* cmd/files/data_dir.h: whether a directory suits a store or a spool, which hold what all users of
 * the machine run: it is closed to others, and belongs to the caller, the caller of sudo, or a user
 * of stores. The commands that write one refuse any other, unless an option names the risk. */
#ifndef CRESSET_CMD_FILES_DATA_DIR_H
#define CRESSET_CMD_FILES_DATA_DIR_H

#include "cmd/cli/cmd.h"

#include <sys/types.h>

struct err;

/* The owner of the data of root's commands (cmd/daemon/users.h), or in its place the first of these
 * numbers that is unused. */
#define STORE_USER "cresset"
enum { STORE_UID_FIRST = 65520, STORE_UIDS = 13 };

/* "user cresset", "user 65520". */
const char *store_user_words(uid_t uid, char words[64]);

enum { DATA_DIR_OPEN, DATA_DIR_FOREIGN };
extern const char *const data_dir_words[]; /* in this order */

/* clang-format off */
/* A row of an option table, with a struct choice_list at this offset. */
#define DATA_DIR_FORCE(name, title, at) \
	{ NULL, name, "WHY,...", \
	  "accept a directory that is otherwise refused: open: other users may enter it; " \
	  "foreign: another user owns it and can read the profiles of all users", \
	  OPT_CHOICES, .group = title, .offset = at, .words = data_dir_words }
/* clang-format on */

struct data_dir_rule {
	struct choice_list forced; /* of data_dir_words */
	const char *option;        /* the name of the one that forces it, for messages */
};
/* Returns 0, also if there is none, or none that can be looked at; or -EACCES with err and a remedy
 * set. */
int data_dir_check(const char *dir, const struct data_dir_rule *rule, struct err *err);

#endif
