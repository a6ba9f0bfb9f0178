/* Finds the users with access: SUDO_UID, and members of the group cresset. */
#include "cmd/daemon/users.h"

#include "base/log.h"
#include "base/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
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

static void give(struct users *u)
{
	u->given = (struct server_users){ getuid(), u->all.v, u->all.n };
}

void users_find(struct users *u)
{
	*u = (struct users){ 0 };
	add_sudo(u);
	add_members(u);
	add_store_users(u);
	if (u->all.n)
		qsort(u->all.v, u->all.n, sizeof *u->all.v, compare);
	give(u);
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

/* --- in another process ----------------------------------------------------------------------- */

enum { USERS_FD = 3, USERS_PIECE = 4096 };

static bool write_all(const void *data, size_t len)
{
	ssize_t n = 0;

	for (const char *at = data; len; at += n, len -= n)
		if ((n = write(USERS_FD, at, len)) <= 0)
			return false;
	return true;
}

/* Has nothing of its parent but standard error, and ends with it, or with its time. */
_Noreturn static void be_query(int fd, pid_t parent, void (*find)(struct users *u))
{
	struct users u;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || (fd != USERS_FD && dup2(fd, USERS_FD) < 0))
		_exit(1);
	syscall(SYS_close_range, USERS_FD + 1, ~0u, 0);
	alarm(USERS_QUERY_S);
	find(&u);
	uint64_t n = u.all.n;
	_exit(!write_all(&n, sizeof n) || !write_all(u.all.v, n * sizeof *u.all.v));
}

int users_query_begin(struct users_query *q, void (*find)(struct users *u))
{
	pid_t parent = getpid();
	int ends[2];

	users_query_end(q);
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	pid_t pid = fork();
	if (pid == 0)
		be_query(ends[1], parent, find);
	int rc = pid < 0 ? -errno : fcntl(ends[0], F_SETFL, O_NONBLOCK) ? -errno : 0;
	close(ends[1]);
	q->pid = pid > 0 ? pid : 0;
	q->fd = ends[0];
	if (pid < 0)
		close(ends[0]);
	else if (rc)
		users_query_end(q);
	return rc;
}

int users_query_fd(const struct users_query *q)
{
	return q->pid ? q->fd : -1;
}

static bool read_result(const struct buf *got, struct users *out)
{
	uint64_t n;

	if (got->len < sizeof n)
		return false;
	memcpy(&n, got->data, sizeof n);
	if ((got->len - sizeof n) / sizeof *out->all.v != n)
		return false;
	*out = (struct users){ 0 };
	vec_append(&out->all, (const struct server_user *)(got->data + sizeof n), n);
	give(out);
	return true;
}

int users_query_take(struct users_query *q, struct users *out)
{
	char piece[USERS_PIECE];
	ssize_t n;

	while ((n = read(q->fd, piece, sizeof piece)) > 0)
		buf_add(&q->got, piece, n);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	bool is_whole = read_result(&q->got, out);
	users_query_end(q);
	return is_whole ? 1 : -ETIME;
}

/* One that the kernel does not end is left. */
void users_query_end(struct users_query *q)
{
	if (!q->pid)
		return;
	kill(q->pid, SIGKILL);
	for (int i = 0; i < 20 && waitpid(q->pid, NULL, WNOHANG) == 0; i++)
		usleep(1000);
	close(q->fd);
	buf_done(&q->got);
	*q = (struct users_query){ 0 };
}
