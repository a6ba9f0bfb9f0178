#include "cmd/reach.h"

#include "base/privileges.h"
#include "cmd/store_user.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the child has met. */
struct obstacle {
	int error;      /* 0: none */
	size_t n_bytes; /* of the path, up to the folder that stopped it */
};

static struct obstacle walk(const char *path)
{
	char at[PATH_MAX];

	for (size_t n = 1; n <= strlen(path); n++) {
		bool is_whole = !path[n];
		if (!is_whole && path[n] != '/' && n > 1)
			continue;
		memcpy(at, path, n);
		at[n] = '\0';
		if (access(at, is_whole ? R_OK | W_OK | X_OK : X_OK))
			return (struct obstacle){ errno, n };
	}
	return (struct obstacle){ 0 };
}

static _Noreturn void be_user(const char *path, uid_t uid, gid_t gid, int out)
{
	struct obstacle o = { .error = -privileges_drop(uid, gid, NULL) };

	if (!o.error)
		o = walk(path);
	_exit(write(out, &o, sizeof o) == sizeof o ? 0 : 1);
}

/* -errno: it could not be tried. */
static int try_it(const char *path, uid_t uid, gid_t gid, struct obstacle *o)
{
	int ends[2], rc = 0;

	if (pipe(ends))
		return -errno;
	pid_t pid = fork();
	if (pid == 0)
		be_user(path, uid, gid, ends[1]);
	close(ends[1]);
	if (pid < 0 || read(ends[0], o, sizeof *o) != sizeof *o)
		rc = -EIO;
	close(ends[0]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return rc;
}

static int say(const struct obstacle *o, const char *path, uid_t uid, const char *process,
	       struct err *err)
{
	char words[64];
	int n = (int)o->n_bytes;

	store_user_words(uid, words);
	if (!n)
		return err_set(err, o->error, "the %s cannot become %s: %s", process, words,
			       strerror(o->error));
	err_set(err, o->error, "%s: %s, as whom the %s runs, cannot %s %.*s: %s", path, words,
		process, path[n] ? "enter" : "write to", n, path, strerror(o->error));
	if (o->error == EROFS)
		return err_hint(err, "choose a folder that can be written to");
	return err_hint(err,
			path[n] ? "let others enter it:  chmod o+x %.*s\nor choose another folder, "
				  "like /var/lib/cresset"
				: "it needs all rights there:  chmod u+rwx %.*s",
			n, path);
}

int reach_check(const char *dir, uid_t uid, gid_t gid, const char *process, struct err *err)
{
	struct obstacle o = { 0 };
	char path[PATH_MAX];

	if (geteuid() != 0 || !realpath(dir, path))
		return 0; /* who opens it says what is wrong */
	if (try_it(path, uid, gid, &o) || !o.error)
		return 0;
	return say(&o, path, uid, process, err);
}
