/* Finds the processes, threads or cgroup of the target. */
#include "collect/kernel/target.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "bpf/event.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Parses "[a-z]" or "[!a-z]" at *p and lets position `bit` match its members. */
static bool compile_class(const char **p, struct glob_program *g, uint64_t bit)
{
	const char *s = *p + 1;
	bool negated = *s == '!' || *s == '^';
	bool member[256] = { 0 };

	s += negated;
	for (bool first = true; *s && (*s != ']' || first); first = false) {
		unsigned char lo = *s++, hi = lo;

		if (s[0] == '-' && s[1] && s[1] != ']') {
			hi = s[1];
			s += 2;
		}
		for (unsigned c = lo; c <= hi; c++)
			member[c] = true;
	}
	if (*s != ']')
		return false;
	for (unsigned c = 1; c < 256; c++)
		if (member[c] != negated)
			g->match[c] |= bit;
	*p = s + 1;
	return true;
}

int target_compile_glob(const char *pattern, struct glob_program *out, struct err *err)
{
	struct glob_program g = { 0 };
	unsigned pos = 0;

	for (const char *p = pattern; *p; pos++) {
		uint64_t bit = 1ull << (pos & 63);

		if (pos >= GLOB_MAX_POSITIONS)
			return err_set(err, EINVAL, "pattern '%s' is longer than %d characters",
				       pattern, GLOB_MAX_POSITIONS);
		if (*p == '*') {
			g.star |= bit;
			p += strspn(p, "*");
		} else if (*p == '?') {
			for (unsigned c = 1; c < 256; c++)
				g.match[c] |= bit;
			p++;
		} else if (*p == '[') {
			if (!compile_class(&p, &g, bit))
				return err_set(err, EINVAL, "pattern '%s': '[' without ']'",
					       pattern);
		} else {
			p += *p == '\\' && p[1];
			g.match[(unsigned char)*p++] |= bit;
		}
	}
	g.accept = 1ull << pos;
	*out = g;
	return 0;
}

bool target_glob_matches(const struct glob_program *g, const char *comm)
{
	uint64_t at = 1 | (g->star & 1) << 1;

	for (int i = 0; i < EVENT_COMM_LEN && comm[i]; i++) {
		at = ((at & g->match[(unsigned char)comm[i]]) << 1) | (at & g->star);
		at |= (at & g->star) << 1;
	}
	return at & g->accept;
}

/* Finds where cgroup v2 is mounted, in /proc/self/mounts. */
static bool cgroup2_mount(struct buf *path)
{
	struct buf mounts = { 0 };
	const char *line;
	size_t len;
	bool found = false;

	if (fs_read_at(AT_FDCWD, "/proc/self/mounts", 16 << 20, &mounts, NULL))
		return false;
	for (struct cur c = cur_of(mounts.data, mounts.len); !found && cur_line(&c, &line, &len);) {
		const char *dir = memchr(line, ' ', len);
		const char *type = dir ? memchr(dir + 1, ' ', line + len - dir - 1) : NULL;

		if (!type || line + len - type < 9 || memcmp(type, " cgroup2 ", 9))
			continue;
		buf_add(path, dir + 1, type - dir - 1);
		found = true;
	}
	buf_done(&mounts);
	return found;
}

static int check_cgroup_version(int fd, const char *path, struct err *err)
{
	struct statfs fs;

	if (fstatfs(fd, &fs))
		return err_set(err, errno, "cannot stat '%s': %s", path, strerror(errno));
	if (fs.f_type == CGROUP2_SUPER_MAGIC)
		return 0;
	bool v1 = fs.f_type == CGROUP_SUPER_MAGIC;
	err_set(err, v1 ? EOPNOTSUPP : ENOENT,
		v1 ? "'%s' is a cgroup v1 group" : "'%s' is not a cgroup", path);
	return err_hint(
		err,
		v1 ? "only cgroup v2 groups can be followed; give a path below the cgroup2 mount"
		   : "give the path of a cgroup v2 directory");
}

int target_open_cgroup(const char *path, struct err *err)
{
	struct buf full = { 0 };
	int fd, rc;

	if (path[0] != '/') {
		if (!cgroup2_mount(&full)) {
			err_set(err, EOPNOTSUPP, "cannot find cgroup '%s': no cgroup v2 is mounted",
				path);
			return err_hint(
				err,
				"mount -t cgroup2 none /sys/fs/cgroup, or give an absolute path");
		}
		buf_addc(&full, '/');
	}
	buf_adds(&full, path);
	fd = open(buf_cstr(&full), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rc = fd < 0 ? err_set(err, errno, "cannot open cgroup '%s': %s", full.data, strerror(errno))
		    : check_cgroup_version(fd, full.data, err);
	buf_done(&full);
	if (!rc)
		return fd;
	if (fd >= 0)
		close(fd);
	return rc;
}
