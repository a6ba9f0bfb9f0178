/* Shared memory in which the collector counts its turns; other processes read it to detect a
 * stalled collector. */
#include "agent/health.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

int health_new(uint64_t interval_ns, uint64_t now_ns, struct health **out, struct err *err)
{
	void *p =
		mmap(NULL, sizeof **out, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return err_set(err, errno, "no shared memory: %s", strerror(errno));
	*out = p;
	health_set_interval(*out, interval_ns);
	health_note(*out, now_ns);
	return 0;
}

void health_free(struct health *h)
{
	if (h)
		munmap(h, sizeof *h);
}

void health_set_interval(struct health *h, uint64_t interval_ns)
{
	uint64_t silent_ns = HEALTH_INTERVALS * interval_ns;

	if (h)
		h->silent_ns = silent_ns > HEALTH_SHORTEST_NS ? silent_ns : HEALTH_SHORTEST_NS;
}

void health_note(struct health *h, uint64_t now_ns)
{
	if (h)
		h->noted_ns = now_ns;
}

uint64_t health_due_ns(const struct health *h)
{
	return h ? h->noted_ns + h->silent_ns : UINT64_MAX;
}

uint64_t health_silent_since_ns(const struct health *h, uint64_t now_ns)
{
	return h && now_ns >= health_due_ns(h) ? h->noted_ns : 0;
}

/* --- why -------------------------------------------------------------------------------------- */

enum { FILE_MAX = 4096 };

static int read_file(uint32_t pid, const char *name, struct buf *out)
{
	char path[48];

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/%s", pid, name);
	return fs_read_at(AT_FDCWD, path, FILE_MAX, out, NULL);
}

/* The state follows the name, which may contain anything (proc_pid_stat(5)). */
static const char *state_of(uint32_t pid)
{
	static const struct {
		char letter;
		const char *words;
	} states[] = { { 'D', "in uninterruptible sleep" },
		       { 'S', "sleeping" },
		       { 'R', "running" },
		       { 'T', "stopped" },
		       { 't', "stopped by a tracer" } };
	struct buf b = { 0 };
	char letter = 0;

	if (read_file(pid, "stat", &b) == 0) {
		const char *end = strrchr(buf_cstr(&b), ')');

		letter = end && end[1] == ' ' ? end[2] : 0;
	}
	buf_done(&b);
	for (size_t i = 0; i < sizeof states / sizeof *states; i++)
		if (states[i].letter == letter)
			return states[i].words;
	return NULL;
}

void health_why(uint32_t pid, struct buf *out)
{
	const char *state = state_of(pid);
	struct buf at = { 0 };

	if (!state)
		return;
	buf_adds(out, state);
	if (read_file(pid, "wchan", &at) == 0 && at.len && strcmp(buf_cstr(&at), "0") != 0)
		buf_addf(out, ", in %.*s", (int)strcspn(buf_cstr(&at), "\n"), buf_cstr(&at));
	buf_done(&at);
}
