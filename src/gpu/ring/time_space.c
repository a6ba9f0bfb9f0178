/* Reads the clock offsets of a time namespace. */
#include "gpu/ring/time_space.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_MAX = 4096, SECONDS_MAX = 1 << 30 }; /* 34 years */

/* Parses a number after blanks and moves *at past it. */
static bool number(const char **at, int64_t *out)
{
	char *end;

	errno = 0;
	long long v = strtoll(*at, &end, 10);
	if (end == *at || errno)
		return false;
	*at = end;
	*out = v;
	return true;
}

bool time_space_parse(const char *text, size_t len, int64_t *ns)
{
	struct cur c = cur_of(text, len);
	const char *line;
	size_t n;

	while (cur_line(&c, &line, &n)) {
		static const char key[] = "monotonic ";
		char copy[128];
		int64_t s, rest;

		if (n >= sizeof copy || n < sizeof key || memcmp(line, key, sizeof key - 1))
			continue;
		memcpy(copy, line, n);
		copy[n] = '\0';
		const char *at = copy + sizeof key - 1;

		if (!number(&at, &s) || !number(&at, &rest) || *at || s < -SECONDS_MAX ||
		    s > SECONDS_MAX || rest < 0 || rest > 999999999)
			return false;
		*ns = s * 1000000000 + rest;
		return true;
	}
	return false;
}

static bool link_of(pid_t pid, const char *name, char *text, size_t size)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/ns/%s", pid, name);
	ssize_t n = readlink(path, text, size - 1);
	text[n < 0 ? 0 : n] = '\0';
	return n > 0;
}

/* The offsets are those of the namespace for children: it must be the process's own. */
static bool offset_of(pid_t pid, const char *own, int64_t *ns)
{
	char children[64], path[64];
	struct buf b = { 0 };

	snprintf(path, sizeof path, "/proc/%d/timens_offsets", pid);
	bool ok = link_of(pid, "time_for_children", children, sizeof children) &&
		  !strcmp(children, own) && !fs_read_at(AT_FDCWD, path, TEXT_MAX, &b, NULL) &&
		  time_space_parse(buf_cstr(&b), b.len, ns);

	buf_done(&b);
	return ok;
}

int time_space_ahead(pid_t pid, int64_t *ns, struct err *err)
{
	char theirs[64], ours[64];
	int64_t there, here;

	*ns = 0;
	/* If one cannot be read, the kernel has no time namespaces, or the process is gone or may
	 * not be inspected: then nothing else of it can be read either. */
	if (!link_of(getpid(), "time", ours, sizeof ours) ||
	    !link_of(pid, "time", theirs, sizeof theirs) || !strcmp(theirs, ours))
		return 0;
	if (!offset_of(pid, theirs, &there) || !offset_of(getpid(), ours, &here))
		return err_set(
			err, EXDEV,
			"process %d is in another time namespace: cannot read its clock offset",
			pid);
	*ns = there - here;
	return 0;
}

uint64_t ring_time(uint64_t ns, int64_t by_ns)
{
	uint64_t by = by_ns < 0 ? -(uint64_t)by_ns : (uint64_t)by_ns;

	if (!ns || (by_ns < 0 ? ns < by : ns > UINT64_MAX - by))
		return ns;
	return by_ns < 0 ? ns - by : ns + by;
}

void ring_shift(union ring_any *record, int64_t by_ns)
{
	switch (record->r.type) {
	case RING_KERNEL:
	case RING_COPY:
	case RING_SET:
	case RING_SYNC:
	case RING_GRAPH: /* all have them at the same offset */
		record->sync.start_ns = ring_time(record->sync.start_ns, by_ns);
		record->sync.end_ns = ring_time(record->sync.end_ns, by_ns);
		return;
	case RING_MEMORY:
		record->memory.time_ns = ring_time(record->memory.time_ns, by_ns);
		return;
	case RING_WINDOW:
		record->window.time_ns = ring_time(record->window.time_ns, by_ns);
		return;
	}
}
_Static_assert(offsetof(struct ring_kernel, start_ns) == offsetof(struct ring_sync, start_ns) &&
		       offsetof(struct ring_copy, start_ns) ==
			       offsetof(struct ring_sync, start_ns) &&
		       offsetof(struct ring_graph, start_ns) ==
			       offsetof(struct ring_sync, start_ns),
	       "start_ns, then end_ns");
