#include "cmd/files/data_dir.h"

#include "base/err.h"
#include "base/parse.h"

#include <errno.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const data_dir_words[] = { "open", "foreign", NULL };

const char *store_user_words(uid_t uid, char words[64])
{
	const struct passwd *user = getpwuid(uid);

	if (user)
		snprintf(words, 64, "user %.50s", user->pw_name);
	else
		snprintf(words, 64, "user %u", (unsigned)uid);
	return words;
}

static bool is_known_owner(uid_t uid)
{
	const struct passwd *cresset = getpwnam(STORE_USER);
	const char *sudo = geteuid() == 0 ? getenv("SUDO_UID") : NULL;
	uint64_t caller = 0;

	return uid == geteuid() || (cresset && cresset->pw_uid == uid) ||
	       (uid >= STORE_UID_FIRST && uid < STORE_UID_FIRST + STORE_UIDS) ||
	       (sudo && parse_u64(sudo, &caller) == 0 && caller == uid);
}

static bool is_forced(const struct data_dir_rule *rule, int why)
{
	for (int i = 0; i < rule->forced.n; i++)
		if (rule->forced.v[i] == why)
			return true;
	return false;
}

static int refuse_foreign(const char *dir, uid_t owner, const struct data_dir_rule *rule,
			  struct err *err)
{
	char words[64];

	err_set(err, EACCES, "%s: belongs to %s, who could read the profiles of all users", dir,
		store_user_words(owner, words));
	return err_hint(err, "choose a new directory, or accept it:  --%s %s", rule->option,
			data_dir_words[DATA_DIR_FOREIGN]);
}

static int refuse_open(const char *dir, mode_t mode, const struct data_dir_rule *rule,
		       struct err *err)
{
	err_set(err, EACCES, "%s: is open to other users (mode %04o)", dir, mode & 07777);
	return err_hint(err, "close it:  chmod o= %s\nor accept it:  --%s %s", dir, rule->option,
			data_dir_words[DATA_DIR_OPEN]);
}

int data_dir_check(const char *dir, const struct data_dir_rule *rule, struct err *err)
{
	struct stat st;

	if (stat(dir, &st))
		return 0; /* whoever makes or opens it says what is wrong */
	if (!is_known_owner(st.st_uid) && !is_forced(rule, DATA_DIR_FOREIGN))
		return refuse_foreign(dir, st.st_uid, rule, err);
	if (st.st_mode & S_IRWXO && !is_forced(rule, DATA_DIR_OPEN))
		return refuse_open(dir, st.st_mode, rule, err);
	return 0;
}
