/* Parses the passwd file, and reads it again after a change. */
#include "collect/proc/user_names.h"

#include "base/buf.h"
#include "base/fs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { PASSWD_MAX_BYTES = 4 << 20 };
#define LOOK_EVERY_NS 10000000000ull

void user_names_done(struct user_names *u)
{
	map_done(&u->by_uid);
	if (u->mtime_ns)
		strtab_done(&u->names);
	*u = (struct user_names){ 0 };
}

static bool parse_uid(const char *s, const char *end, uint32_t *uid)
{
	uint64_t v = 0;

	if (s == end)
		return false;
	for (; s < end; s++) {
		if (*s < '0' || *s > '9' || v > UINT32_MAX)
			return false;
		v = v * 10 + (*s - '0');
	}
	*uid = v;
	return v < UINT32_MAX;
}

static void add_line(struct user_names *u, const char *line, size_t len)
{
	const char *end = line + len, *name_end = memchr(line, ':', len);
	const char *uid = name_end ? memchr(name_end + 1, ':', end - name_end - 1) : NULL;
	const char *uid_end = uid ? memchr(uid + 1, ':', end - uid - 1) : NULL;
	uint32_t number;

	if (!uid_end || name_end == line || name_end - line >= USER_NAME_BYTES ||
	    memchr(line, '\0', name_end - line) || !parse_uid(uid + 1, uid_end, &number))
		return;
	if (u->by_uid.n < USER_NAMES_MAX && !map_get(&u->by_uid, number))
		map_put(&u->by_uid, number, strtab_putn(&u->names, line, name_end - line));
}

void user_names_add(struct user_names *u, const char *text, size_t len)
{
	struct cur c = cur_of(text, len);
	const char *line;
	size_t line_len;

	if (!u->mtime_ns) {
		strtab_init(&u->names);
		u->mtime_ns = -1;
	}
	while (cur_line(&c, &line, &line_len))
		add_line(u, line, line_len);
}

static void look(struct user_names *u, int root, uint64_t now_ns)
{
	struct buf b = { 0 };
	struct stat st;

	if (fstatat(root, "etc/passwd", &st, 0))
		return;
	int64_t mtime_ns = st.st_mtim.tv_sec * 1000000000ll + st.st_mtim.tv_nsec;
	if (u->mtime_ns == mtime_ns && u->size == (uint64_t)st.st_size)
		return;
	if (fs_read_at(root, "etc/passwd", PASSWD_MAX_BYTES, &b, NULL) == 0) {
		user_names_done(u);
		user_names_add(u, b.data, b.len);
		u->mtime_ns = mtime_ns ? mtime_ns : -1;
		u->size = st.st_size;
		u->looked_ns = now_ns;
	}
	buf_done(&b);
}

const char *user_name(struct user_names *u, int root, uint32_t uid, uint64_t now_ns,
		      char digits[16])
{
	if (!u->looked_ns || now_ns >= u->looked_ns + LOOK_EVERY_NS) {
		look(u, root, now_ns);
		u->looked_ns = now_ns;
	}
	const uint32_t *name = map_get(&u->by_uid, uid);
	if (name)
		return strtab_get(&u->names, *name);
	snprintf(digits, 16, "%" PRIu32, uid);
	return digits;
}
