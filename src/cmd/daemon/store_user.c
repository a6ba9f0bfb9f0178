/* Finds the user of the data, and changes the owner of files that belong to nobody. */
#include "cmd/daemon/users.h"

#include "base/err.h"
#include "base/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NOBODY = 65534, MAX_DEPTH = 8 };

/* --- which user ------------------------------------------------------------------------------- */

/* Marks the users of a process: real, effective, saved and file system. */
static void mark_users(const char *pid, bool taken[STORE_UIDS])
{
	char path[64], line[256];
	unsigned ids[4];

	snprintf(path, sizeof path, "/proc/%.20s/status", pid);
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof line, f)) {
		if (sscanf(line, "Uid: %u %u %u %u", ids, ids + 1, ids + 2, ids + 3) != 4)
			continue;
		for (int i = 0; i < 4; i++)
			if (ids[i] >= STORE_UID_FIRST && ids[i] < STORE_UID_FIRST + STORE_UIDS)
				taken[ids[i] - STORE_UID_FIRST] = true;
	}
	if (f)
		fclose(f);
}

int store_user_find(struct store_user *out, struct err *err)
{
	const struct passwd *user = getpwnam(STORE_USER);
	bool taken[STORE_UIDS] = { false };
	const struct dirent *e;

	if (user && user->pw_uid) {
		*out = (struct store_user){ user->pw_uid, user->pw_gid };
		return 0;
	}
	DIR *proc = opendir("/proc");
	while (proc && (e = readdir(proc)))
		if (*e->d_name >= '1' && *e->d_name <= '9')
			mark_users(e->d_name, taken);
	if (proc)
		closedir(proc);

	for (int i = 0; i < STORE_UIDS; i++) {
		id_t id = STORE_UID_FIRST + (id_t)i;

		if (taken[i] || getpwuid(id) || getgrgid(id))
			continue;
		*out = (struct store_user){ id, id };
		return 0;
	}
	err_set(err, ENOENT,
		"no user '" STORE_USER "' for the data, and users %d to %d "
		"are taken",
		STORE_UID_FIRST, STORE_UID_FIRST + STORE_UIDS - 1);
	return err_hint(err,
			"create one:  useradd --system --user-group --no-create-home " STORE_USER);
}

/* --- taking over from nobody ------------------------------------------------------------------ */

struct takeover {
	uid_t from;
	struct store_user to;
};

static int take_all(const struct takeover *t, int dir, int depth);

/* Takes only nobody's files: a link to the file of another user, or a file put there by another
 * user, stays as it is. */
static int take_one(const struct takeover *t, int dir, const char *name, int depth)
{
	struct stat st;
	int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC), rc = 0;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &st))
		rc = -errno;
	else if (S_ISDIR(st.st_mode))
		rc = take_all(t, fd, depth + 1);
	if (rc == 0 && st.st_uid == t->from && (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode)) &&
	    fchownat(fd, "", t->to.uid, t->to.gid, AT_EMPTY_PATH))
		rc = -errno;
	close(fd);
	return rc;
}

static int take_all(const struct takeover *t, int dir, int depth)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
	const struct dirent *e;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d)
		return -errno;
	while (depth < MAX_DEPTH && rc == 0 && (e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			rc = take_one(t, dir, e->d_name, depth);
	closedir(d);
	return rc;
}

/* The writer of a store or spool holds its lock. */
static int lock(int dir)
{
	int fd = openat(dir, "lock", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB)) {
		close(fd);
		return -EBUSY;
	}
	return fd;
}

/* Changes the directory last, so that an interrupted takeover can be continued. After that
 * processes of nobody cannot get in any more; files they have made in the meantime are taken as
 * well. */
static int take_directory(const struct takeover *t, int dir)
{
	int rc = take_all(t, dir, 0);

	if (rc == 0 && (fchmod(dir, 0700) || fchown(dir, t->to.uid, t->to.gid)))
		rc = -errno;
	return rc ? rc : take_all(t, dir, 0);
}

static int take_over(const char *dir, int fd, uid_t nobody, struct err *err)
{
	struct takeover t = { .from = nobody };
	char words[64];
	int rc = store_user_find(&t.to, err);

	if (rc)
		return rc;
	int locked = lock(fd);
	rc = locked == -EBUSY ? -EBUSY : take_directory(&t, fd);
	if (locked >= 0)
		close(locked);
	store_user_words(t.to.uid, words);
	if (rc == 0)
		log_info("%s: owner changed from nobody to %s, because other programs also run as "
			 "nobody",
			 dir, words);
	if (rc == 0)
		return 1;
	err_set(err, -rc,
		"%s: cannot change owner; still owned by nobody, as which other programs run: %s",
		dir, rc == -EBUSY ? "another process writes to it" : strerror(-rc));
	return err_hint(err, "once nothing uses it:  chown -R %u:%u %s", (unsigned)t.to.uid,
			(unsigned)t.to.gid, dir);
}

int store_user_take_over(const char *dir, struct err *err)
{
	const struct passwd *user = getpwnam("nobody");
	uid_t nobody = user ? user->pw_uid : NOBODY;
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
	struct stat st;

	if (fd < 0)
		return 0; /* the open reports what is wrong */
	if (geteuid() == 0 && fstat(fd, &st) == 0 && st.st_uid == nobody)
		rc = take_over(dir, fd, nobody, err);
	close(fd);
	return rc;
}
