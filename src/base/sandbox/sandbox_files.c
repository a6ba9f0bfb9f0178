/* Landlock: https://docs.kernel.org/userspace-api/landlock.html */
#include "base/err.h"
#include "base/mem.h"
#include "base/sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Constants of kernels that may be later than the headers. */
#define FS_TRUNCATE  (1ull << 14) /* version 3 */
#define FS_IOCTL_DEV (1ull << 15) /* 5 */
#define NET_BIND     (1ull << 0)  /* 4 */
#define NET_CONNECT  (1ull << 1)
#define SCOPE_UNIX   (1ull << 0) /* 6 */
#define SCOPE_SIGNAL (1ull << 1)
struct ruleset {
	uint64_t fs, net, scoped;
};

#define FS_READ     (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define FS_OF_FILES (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | FS_TRUNCATE)
#define FS_STORE \
	(FS_READ | FS_OF_FILES | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR | \
	 LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | \
	 LANDLOCK_ACCESS_FS_REFER)
/* A process that reads a database next to its writer maps and locks FILE-shm, and creates it if it
 * is first. */
#define FS_STORE_READER (FS_READ | FS_OF_FILES | LANDLOCK_ACCESS_FS_MAKE_REG)
/* Version 1: the first 13 bits. */
#define FS_VERSION_1    ((1ull << 13) - 1)

int sandbox_landlock(void)
{
	long version =
		syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	return version > 0 ? (int)version : 0;
}

static struct ruleset ruleset_of(const struct sandbox *s)
{
	struct ruleset r = { .fs = FS_VERSION_1 };

	r.fs |= s->landlock >= 2 ? LANDLOCK_ACCESS_FS_REFER : 0;
	r.fs |= s->landlock >= 3 ? FS_TRUNCATE : 0;
	r.fs |= s->landlock >= 5 ? FS_IOCTL_DEV : 0;
	if (s->landlock >= 4) /* a listener binds after this; sandbox_calls then forbids it */
		r.net = s->connects ? NET_BIND : NET_CONNECT;
	if (s->landlock >= 6)
		r.scoped = SCOPE_UNIX | SCOPE_SIGNAL;
	return r;
}

static int allow_fd(int ruleset, const struct ruleset *all, int fd, uint64_t access)
{
	struct landlock_path_beneath_attr rule = { .parent_fd = fd };
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	rule.allowed_access = access & all->fs & (S_ISDIR(st.st_mode) ? ~0ull : FS_OF_FILES);
	return syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0)
		       ? -errno
		       : 0;
}

/* Missing files need no rule. */
static int allow(int ruleset, const struct ruleset *all, const char *path, uint64_t access)
{
	int fd = open(path, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT || errno == EACCES || errno == ENOTDIR ? 0 : -errno;
	int rc = allow_fd(ruleset, all, fd, access);
	close(fd);
	return rc;
}

static int allow_directory_of(int ruleset, const struct ruleset *all, const char *path)
{
	char *directory = xstrdup(path), *slash = strrchr(directory, '/');
	int rc;

	if (slash)
		slash[slash == directory] = '\0';
	rc = allow(ruleset, all, slash ? directory : ".", FS_READ);
	free(directory);
	return rc;
}

/* If a certificate is a link, its successor will be in the directory of the target as well. */
static int allow_read(int ruleset, const struct ruleset *all, const char *path)
{
	char real[PATH_MAX];
	int rc = allow_directory_of(ruleset, all, path);

	return rc == 0 && realpath(path, real) ? allow_directory_of(ruleset, all, real) : rc;
}

/* Allows what the C library and SQLite read: time zones, the number of CPUs, this process. Also
 * separate debug files, and for connections the files for name lookups and certificates. */
static int allow_system(const struct sandbox *s, int ruleset, const struct ruleset *all)
{
	static const char *const always[] = { "/etc/localtime", "/usr/share/zoneinfo",
					      "/proc/self",     "/proc/sys/vm",
					      "/dev/urandom",   "/sys/devices/system/cpu",
					      "/usr/lib/debug", NULL };
	static const char *const to_connect[] = { "/etc", "/run/systemd/resolve",
						  "/usr/share/ca-certificates",
						  "/usr/local/share/ca-certificates", NULL };
	int rc = allow(ruleset, all, "/dev/null", FS_OF_FILES);

	for (int i = 0; rc == 0 && always[i]; i++)
		rc = allow(ruleset, all, always[i], FS_READ);
	for (int i = 0; rc == 0 && s->connects && to_connect[i]; i++)
		rc = allow(ruleset, all, to_connect[i], FS_READ);
	return rc;
}

static int add_rules(const struct sandbox *s, int ruleset, const struct ruleset *all)
{
	int rc = s->data_dir ? allow(ruleset, all, s->data_dir, FS_STORE) : 0;

	if (rc == 0 && s->store_dir)
		rc = allow(ruleset, all, s->store_dir, FS_STORE_READER);
	for (int i = 0; rc == 0 && i < SANDBOX_MAX_PATHS; i++)
		if (s->read[i])
			rc = allow_read(ruleset, all, s->read[i]);
	if (rc == 0 && s->read_dir)
		rc = allow(ruleset, all, s->read_dir, FS_READ);
	return rc ? rc : allow_system(s, ruleset, all);
}

static int restrict_files(const struct sandbox *s)
{
	/* Earlier kernels accept only a shorter struct. */
	size_t bytes = s->landlock >= 6 ? 24 : s->landlock >= 4 ? 16 : 8;
	struct ruleset all = ruleset_of(s);
	int ruleset = (int)syscall(SYS_landlock_create_ruleset, &all, bytes, 0);

	if (ruleset < 0)
		return -errno;
	int rc = add_rules(s, ruleset, &all);
	if (rc == 0 && syscall(SYS_landlock_restrict_self, ruleset, 0))
		rc = -errno;
	close(ruleset);
	return rc;
}

int sandbox_bound_capabilities(void)
{
	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) && errno != EPERM)
			return -errno;
	return 0;
}

/* Whether the process has no capabilities. Returns false if a seccomp filter denies the call; errno
 * is retained. */
static bool has_none(struct __user_cap_header_struct *head)
{
	struct __user_cap_data_struct has[_LINUX_CAPABILITY_U32S_3];
	int why = errno;
	bool none = syscall(SYS_capget, head, has) == 0;

	for (int i = 0; none && i < _LINUX_CAPABILITY_U32S_3; i++)
		none = !has[i].permitted && !has[i].effective && !has[i].inheritable;
	errno = why;
	return none;
}

/* Capabilities in the bounding set can only be gained by executing a file, which no_new_privs
 * prevents, so it is safe if they cannot be dropped from it. */
static int drop_capabilities(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };
	int rc = sandbox_bound_capabilities();

	if (rc)
		return rc;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) && errno != EINVAL)
		return -errno;
	if (syscall(SYS_capset, &head, none) && !has_none(&head))
		return -errno;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : 0;
}

/* Memory contains all tenants' profiles and tokens: hides it from core files and from other
 * processes of the user. */
static int hide_memory(void)
{
	const struct rlimit none = { 0, 0 };

	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) || setrlimit(RLIMIT_CORE, &none))
		return -errno;
	return 0;
}

int sandbox_files(struct sandbox *s, struct err *err)
{
	if (!s || s->has_files)
		return 0;
	s->landlock = sandbox_landlock();
	int rc = drop_capabilities();
	if (rc == 0)
		rc = hide_memory();
	if (rc == 0 && s->landlock)
		rc = restrict_files(s);
	if (rc)
		return err_set(err, -rc, "cannot give up privileges: %s", strerror(-rc));
	s->has_files = true;
	return 0;
}
