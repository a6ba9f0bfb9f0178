/* Parses the lines of /proc/PID/maps. */
#include "collect/proc/proc_maps.h"

#include "base/mem.h"
#include "symbol/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool take_char(char **p, char c)
{
	if (**p != c)
		return false;
	++*p;
	return true;
}

static bool take_u32(char **p, uint32_t *out)
{
	uint64_t v;

	if (!hex_take(p, &v) || v > UINT32_MAX)
		return false;
	*out = v;
	return true;
}

static bool take_decimal(char **p, uint64_t *out)
{
	uint64_t v = 0;
	char *s = *p;

	for (; *s >= '0' && *s <= '9'; s++)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*s - '0'), &v))
			return false;
	if (s == *p)
		return false;
	*p = s;
	*out = v;
	return true;
}

static bool take_permissions(char **p, bool *executable)
{
	static const char on[] = "rwxs";

	for (int i = 0; i < 4; i++)
		if ((*p)[i] != on[i] && (*p)[i] != (i == 3 ? 'p' : '-'))
			return false;
	*executable = (*p)[2] == 'x';
	*p += 4;
	return true;
}

/* The kernel escapes only newlines, so a name that contains the four characters \012 is decoded to
 * one with a newline. */
static void unescape(char *name)
{
	char *to = name;

	for (const char *from = name; *from; to++) {
		bool newline = *from == '\\' && strncmp(from, "\\012", 4) == 0;

		*to = newline ? '\n' : *from;
		from += newline ? 4 : 1;
	}
	*to = '\0';
}

bool proc_map_parse(char *line, struct proc_map *m)
{
	struct proc_map got;
	char *p = line;

	if (!hex_take(&p, &got.start) || !take_char(&p, '-') || !hex_take(&p, &got.end) ||
	    !take_char(&p, ' ') || !take_permissions(&p, &got.executable) || !take_char(&p, ' ') ||
	    !hex_take(&p, &got.pgoff) || !take_char(&p, ' ') || !take_u32(&p, &got.maj) ||
	    !take_char(&p, ':') || !take_u32(&p, &got.min) || !take_char(&p, ' ') ||
	    !take_decimal(&p, &got.ino) || got.end <= got.start)
		return false;
	if (*p && *p != ' ')
		return false;
	p += strspn(p, " ");
	unescape(p);
	got.name = p;
	*m = got;
	return true;
}

int proc_maps_read_fd(int fd, proc_map_fn *fn, void *ctx)
{
	struct lines *lines = xcalloc(1, sizeof *lines);
	struct proc_map m;
	char *line;
	size_t len;
	int rc = 1;

	lines->fd = fd;
	for (int n = 0; n < PROC_MAPS_MAX_LINES; n++) {
		rc = lines_next(lines, &line, &len, NULL);
		if (rc <= 0 || (proc_map_parse(line, &m) && !fn(ctx, &m)))
			break;
	}
	free(lines);
	return rc < 0 ? rc : 0;
}

int proc_maps_read(uint32_t pid, proc_map_fn *fn, void *ctx)
{
	char path[32];

	snprintf(path, sizeof path, "/proc/%u/maps", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int rc = proc_maps_read_fd(fd, fn, ctx);
	close(fd);
	return rc;
}
