/* Finds the users with access: SUDO_UID, and members of the group cresset. */
#include "cmd/daemon/users.h"

#include "base/log.h"
#include "base/parse.h"

#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_USERS = 65536 }; /* searched for their primary group */

static void add(struct users *u, uid_t uid, unsigned rights)
{
	for (size_t i = 0; i < u->all.n; i++) {
		if (u->all.v[i].uid != uid)
			continue;
		u->all.v[i].rights |= rights;
		return;
	}
	vec_push(&u->all, (struct server_user){ uid, rights });
}

/* --- sudo ------------------------------------------------------------------------------------- */

/* Root's environment is trusted, but not a name that belongs to another user by now. */
static void add_sudo(struct users *u)
{
	const char *number = getenv("SUDO_UID"), *name = getenv("SUDO_USER");
	uint64_t uid;

	if (getuid() != 0 || geteuid() != 0 || !number)
		return;
	if (parse_u64(number, &uid) || uid >= UINT32_MAX) {
		log_warn("ignoring SUDO_UID=%.40s: no such user", number);
		return;
	}
	const struct passwd *user = name ? getpwnam(name) : NULL;
	if (user && user->pw_uid != uid)
		log_warn("ignoring SUDO_UID=%s: SUDO_USER is %.50s", number, name);
	else if (uid)
		add(u, (uid_t)uid, SERVER_READS | SERVER_ADDS);
}

/* --- the group -------------------------------------------------------------------------------- */

static void add_member(struct users *u, const struct passwd *user)
{
	if (user && user->pw_uid && strcmp(user->pw_name, STORE_USER) != 0)
		add(u, user->pw_uid, SERVER_READS | SERVER_ADDS);
}

static void add_members(struct users *u)
{
	const struct group *group = getgrnam(USERS_GROUP);
	const struct passwd *user;

	if (!group)
		return;
	gid_t gid = group->gr_gid;
	for (char **name = group->gr_mem; *name; name++)
		add_member(u, getpwnam(*name));
	setpwent();
	for (int i = 0; i < MOST_USERS && (user = getpwent()); i++)
		if (user->pw_gid == gid)
			add_member(u, user);
	endpwent();
}

/* --- all -------------------------------------------------------------------------------------- */

static void add_store_users(struct users *u)
{
	const struct passwd *user = getpwnam(STORE_USER);

	if (user)
		add(u, user->pw_uid, SERVER_ADDS);
	for (uid_t i = 0; !user && i < STORE_UIDS; i++)
		add(u, STORE_UID_FIRST + i, SERVER_ADDS);
}

static int compare(const void *a, const void *b)
{
	const struct server_user *x = a, *y = b;

	return (x->uid > y->uid) - (x->uid < y->uid);
}

void users_find(struct users *u)
{
	*u = (struct users){ 0 };
	add_sudo(u);
	add_members(u);
	add_store_users(u);
	if (u->all.n)
		qsort(u->all.v, u->all.n, sizeof *u->all.v, compare);
	u->given = (struct server_users){ getuid(), u->all.v, u->all.n };
}

void users_done(struct users *u)
{
	vec_done(&u->all);
	u->given = (struct server_users){ 0 };
}

bool users_are_same(const struct users *a, const struct users *b)
{
	bool same = a->all.n == b->all.n && a->given.starter == b->given.starter;

	for (size_t i = 0; same && i < a->all.n; i++)
		same = a->all.v[i].uid == b->all.v[i].uid &&
		       a->all.v[i].rights == b->all.v[i].rights;
	return same;
}
