/* Parses /proc/PID/status, stat and the namespaces of a process. */
#include "attach/attach_status.h"

#include "base/buf.h"
#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TEXT_MAX_BYTES = 64 << 10, START_FIELD = 22, STATE_FIELD = 3, SYSCALL_FIELDS = 9 };

static int read_text(const char *path, struct buf *b)
{
	int rc = fs_read_at(AT_FDCWD, path, TEXT_MAX_BYTES, b, NULL);
	buf_cstr(b);
	return rc;
}

/* Returns the value after "KEY:" at the start of a line. */
static const char *value_of(const char *line, const char *key)
{
	size_t n = strlen(key);
	return strncmp(line, key, n) == 0 && line[n] == ':'
		       ? line + n + 1 + strspn(line + n + 1, " \t")
		       : NULL;
}

static void take_line(struct attach_status *s, const char *line)
{
	const char *v;

	if ((v = value_of(line, "State")))
		s->state = *v;
	else if ((v = value_of(line, "Tgid")))
		s->tgid = strtoul(v, NULL, 10);
	else if ((v = value_of(line, "PPid")))
		s->ppid = strtoul(v, NULL, 10);
	else if ((v = value_of(line, "TracerPid")))
		s->tracer = strtoul(v, NULL, 10);
	else if (value_of(line, "VmSize"))
		s->has_memory = true;
	else if ((v = value_of(line, "Seccomp")))
		s->seccomp = strtol(v, NULL, 10);
	else if ((v = value_of(line, "x86_Thread_features")))
		s->has_shadow_stack = strstr(v, "shstk");
	else if ((v = value_of(line, "SigPnd")) || (v = value_of(line, "ShdPnd")))
		s->pending |= strtoull(v, NULL, 16);
	else if ((v = value_of(line, "SigBlk")))
		s->blocked = strtoull(v, NULL, 16);
}

bool attach_status_parse(const char *text, size_t len, struct attach_status *out)
{
	struct attach_status got = { 0 };
	struct cur c = cur_of(text, len);
	const char *line;
	size_t n;

	while (cur_line(&c, &line, &n)) {
		char copy[128];
		n = n < sizeof copy - 1 ? n : sizeof copy - 1;
		memcpy(copy, line, n);
		copy[n] = '\0';
		take_line(&got, copy);
	}
	if (!got.state || !got.tgid)
		return false;
	*out = got;
	return true;
}

int attach_status_read(uint32_t pid, uint32_t tid, struct attach_status *out)
{
	char path[64];
	struct buf b = { 0 };

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/task/%" PRIu32 "/status", pid, tid);
	if (!tid)
		snprintf(path, sizeof path, "/proc/%" PRIu32 "/status", pid);
	int rc = read_text(path, &b);
	if (rc == 0 && !attach_status_parse(b.data, b.len, out))
		rc = -EBADMSG;
	buf_done(&b);
	return rc;
}

bool attach_has_ended(uint32_t pid, uint32_t tid)
{
	struct attach_status s;

	return attach_status_read(pid, tid, &s) < 0 || s.state == 'Z' || s.state == 'X' ||
	       !s.has_memory;
}

/* With cgroup 2 such a thread sleeps like any other; with cgroup 1 it is also in state D. Compilers
 * inline do_freezer_trap into its only caller. */
bool attach_is_frozen(uint32_t pid, uint32_t tid)
{
	static const char *const places[] = { "do_freezer_trap", "get_signal", "__refrigerator" };
	char path[64], where[64] = "";

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/task/%" PRIu32 "/wchan", pid,
		 tid ? tid : pid);
	fs_read_line(path, where, sizeof where);
	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		if (strcmp(where, places[i]) == 0)
			return true;
	return false;
}

/* "NR 0x… (six) SP PC", or "-1 SP PC". */
bool attach_syscall_parse(const char *text, struct attach_syscall *out)
{
	uint64_t v[SYSCALL_FIELDS] = { 0 };
	int n = 0;
	char *end;

	for (const char *p = text; n < SYSCALL_FIELDS; p = end, n++) {
		v[n] = n ? strtoull(p, &end, 16) : (uint64_t)strtol(p, &end, 10);
		if (end == p)
			break;
	}
	bool outside = n == 3 && (int64_t)v[0] == -1;
	if (!outside && (n != SYSCALL_FIELDS || (int64_t)v[0] < 0 || v[0] > INT32_MAX))
		return false;
	*out = (struct attach_syscall){ .nr = (int)v[0], .sp = v[n - 2], .pc = v[n - 1] };
	if (!outside)
		memcpy(out->args, v + 1, sizeof out->args);
	return true;
}

bool attach_syscall_read(uint32_t pid, uint32_t tid, struct attach_syscall *out)
{
	char path[64], line[256];

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/task/%" PRIu32 "/syscall", pid, tid);
	return fs_read_line(path, line, sizeof line) == 0 && attach_syscall_parse(line, out);
}

/* PID (NAME) STATE …; the name may contain blanks and parentheses. */
bool attach_start_parse(const char *text, size_t len, uint64_t *ticks)
{
	const char *end = text + len, *p = memrchr(text, ')', len);

	for (int field = STATE_FIELD - 1; p && field < START_FIELD; field++) {
		p = memchr(p, ' ', end - p);
		p = p ? p + 1 : NULL;
	}
	if (!p || p >= end || *p < '0' || *p > '9')
		return false;
	uint64_t v = 0;
	for (; p < end && *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
			return false;
	*ticks = v;
	return true;
}

uint64_t attach_start_of(uint32_t pid)
{
	char path[32];
	struct buf b = { 0 };
	uint64_t ticks = 0;

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/stat", pid);
	if (read_text(path, &b) || !attach_start_parse(b.data, b.len, &ticks))
		ticks = 0;
	else if (!ticks)
		ticks = 1; /* started at the very first tick */
	buf_done(&b);
	return ticks;
}

uint64_t attach_age_ns(uint32_t pid)
{
	uint64_t ticks = attach_start_of(pid);
	struct timespec now;

	if (!ticks)
		return UINT64_MAX;
	clock_gettime(CLOCK_BOOTTIME, &now);
	uint64_t now_ns = now.tv_sec * 1000000000ull + now.tv_nsec;
	uint64_t start_ns = ticks * (1000000000ull / sysconf(_SC_CLK_TCK));
	return now_ns > start_ns ? now_ns - start_ns : 0;
}

void attach_link(uint32_t pid, const char *name, char *text, size_t size)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/%s", pid, name);
	ssize_t n = readlink(path, text, size - 1);
	text[n < 0 ? 0 : n] = '\0';
}
