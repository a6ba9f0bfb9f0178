#include "collect/container.h"

#include "base/buf.h"
#include "base/fs.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { CGROUP_FILE_MAX_BYTES = 64 * 1024 };

static size_t hex_run(const char *s, size_t len)
{
	size_t n = 0;

	while (n < len && ((s[n] >= '0' && s[n] <= '9') || (s[n] >= 'a' && s[n] <= 'f')))
		n++;
	return n;
}

/* One part of a path: [PREFIX-]ID[.scope]. The prefix ends in '-' or ':', so that no longer number
 * is cut. */
static const char *id_in_part(const char *part, size_t len)
{
	static const char scope[] = ".scope", monitor[] = "conmon-";
	size_t prefix;

	if (len > sizeof scope - 1 &&
	    memcmp(part + len - (sizeof scope - 1), scope, sizeof scope - 1) == 0)
		len -= sizeof scope - 1;
	if (len < CONTAINER_ID_LEN)
		return NULL;
	prefix = len - CONTAINER_ID_LEN;
	if (hex_run(part + prefix, CONTAINER_ID_LEN) != CONTAINER_ID_LEN)
		return NULL;
	if (prefix && part[prefix - 1] != '-' && part[prefix - 1] != ':')
		return NULL;
	if (memmem(part, prefix, monitor, sizeof monitor - 1))
		return NULL;
	return part + prefix;
}

static const char *id_in_path(const char *path, size_t len)
{
	const char *end = path + len, *found = NULL;

	while (path < end) {
		const char *slash = memchr(path, '/', end - path);
		size_t part = (slash ? slash : end) - path;
		const char *id = id_in_part(path, part);

		found = id ? id : found;
		path += part + 1;
	}
	return found;
}

bool container_id_parse(const char *text, size_t len, char id[CONTAINER_ID_LEN + 1])
{
	struct cur c = cur_of(text, len);
	const char *line;
	size_t line_len;

	while (cur_line(&c, &line, &line_len)) {
		const char *found = id_in_path(line, line_len);

		if (!found)
			continue;
		memcpy(id, found, CONTAINER_ID_LEN);
		id[CONTAINER_ID_LEN] = '\0';
		return true;
	}
	return false;
}

/* Where there are v1 hierarchies, too, the line of v2 ("0::") is the last one. */
int container_id_of(uint32_t pid, char id[CONTAINER_ID_LEN + 1], bool *unified)
{
	struct buf b = { 0 };
	char path[40];

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/cgroup", pid);
	int rc = fs_read_at(AT_FDCWD, path, CGROUP_FILE_MAX_BYTES, &b, NULL);
	if (!rc) {
		*unified = b.len >= 3 && memcmp(b.data, "0::", 3) == 0;
		if (!container_id_parse(b.data, b.len, id))
			id[0] = '\0';
	}
	buf_done(&b);
	return rc;
}
