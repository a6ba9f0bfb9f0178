/* Parses /proc/PID/stat and status; reads the links /proc/PID/exe. */
#include "collect/proc/proc_stat.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/parse.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	PROC_FILE_MAX_BYTES = 64 * 1024,
	PF_KTHREAD = 0x00200000, /* include/linux/sched.h */
};

static int read_file(uint32_t pid, const char *name, struct buf *b)
{
	char path[40];

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/%s", pid, name);
	return fs_read_at(AT_FDCWD, path, PROC_FILE_MAX_BYTES, b, NULL);
}

/* Returns field n; the first after the name, the state, is number 3. */
static const char *field(const char *behind_name, int n)
{
	const char *p = behind_name;

	for (int i = 3; p && i < n; i++) {
		p = strchr(p, ' ');
		p = p ? p + 1 : NULL;
	}
	return p;
}

/* PID (NAME) STATE …; the name may contain blanks and parentheses. */
int proc_stat_parse(const char *text, size_t len, struct proc_stat *out)
{
	struct proc_stat got = { 0 };
	const char *open = memchr(text, '(', len), *close = memrchr(text, ')', len);

	if (!open || !close || close <= open || close + 2 >= text + len || close[1] != ' ')
		return -EBADMSG;
	size_t name_len = close - open - 1;
	if (name_len > sizeof got.name - 1)
		name_len = sizeof got.name - 1;
	memcpy(got.name, open + 1, name_len);

	char *rest = strndup(close + 2, text + len - (close + 2));
	const char *flags = field(rest, 9), *threads = field(rest, 20), *start = field(rest, 22);
	if (flags && threads) {
		got.state = rest[0];
		got.is_kernel_thread = strtoul(flags, NULL, 10) & PF_KTHREAD;
		got.threads = strtoul(threads, NULL, 10);
		got.start_ticks = start ? strtoull(start, NULL, 10) : 0;
		*out = got;
	}
	int rc = flags && threads ? 0 : -EBADMSG;
	free(rest);
	return rc;
}

static int64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

int64_t proc_start_wall_ns(uint32_t pid)
{
	struct proc_stat st;

	if (proc_stat_read(pid, &st) || !st.start_ticks)
		return 0;
	int64_t tick_ns = 1000000000ll / sysconf(_SC_CLK_TCK);
	return now_ns(CLOCK_REALTIME) - now_ns(CLOCK_BOOTTIME) + (int64_t)st.start_ticks * tick_ns;
}

int proc_stat_read(uint32_t pid, struct proc_stat *out)
{
	struct buf b = { 0 };
	int rc = read_file(pid, "stat", &b);

	if (!rc)
		rc = proc_stat_parse(b.data, b.len, out);
	buf_done(&b);
	return rc;
}

bool proc_is_alive(uint32_t pid)
{
	struct proc_stat st;

	if ((kill(pid, 0) && errno == ESRCH) || proc_stat_read(pid, &st))
		return false;
	return st.state != 'X' && (st.state != 'Z' || st.threads > 1);
}

/* "Uid:\tREAL\tEFFECTIVE\tSAVED\tFILE" */
int proc_uid_parse(const char *text, size_t len, uint32_t *uid)
{
	static const char key[] = "\nUid:\t";
	const char *end = text + len, *line = memmem(text, len, key, sizeof key - 1);
	const char *s =
		line ? memchr(line + sizeof key - 1, '\t', end - line - (sizeof key - 1)) : NULL;
	uint64_t v = 0;

	if (!s || ++s == end || *s < '0' || *s > '9')
		return -EBADMSG;
	for (; s < end && *s >= '0' && *s <= '9' && v <= UINT32_MAX; s++)
		v = v * 10 + (*s - '0');
	if (v > UINT32_MAX)
		return -EBADMSG;
	*uid = v;
	return 0;
}

int proc_uid(uint32_t pid, uint32_t *uid)
{
	struct buf b = { 0 };
	int rc = read_file(pid, "status", &b);

	if (!rc)
		rc = proc_uid_parse(b.data, b.len, uid);
	buf_done(&b);
	return rc;
}

uint32_t proc_ns_pid(uint32_t pid)
{
	struct buf b = { 0 };
	uint32_t ns_pid = 0;

	if (!read_file(pid, "status", &b)) {
		char *line = strstr(buf_cstr(&b), "\nNSpid:\t");
		char *end = line ? strchr(line + 1, '\n') : NULL;

		ns_pid = pid; /* the result if the kernel has no pid namespaces */
		if (end) {
			*end = '\0';
			ns_pid = strtoul(strrchr(line, '\t') + 1, NULL, 10);
		}
	}
	buf_done(&b);
	return ns_pid;
}

/* Threads have other numbers here than in their namespace: reads it from each. */
static enum proc_thread find_inside(const char *dir, uint32_t ns_tid)
{
	DIR *tasks = opendir(dir);
	uint64_t tid;
	enum proc_thread found = tasks ? PROC_THREAD_NONE : PROC_THREAD_UNKNOWN;

	if (!tasks)
		return found;
	for (int n = 0; n < PROC_MAX_THREADS && found == PROC_THREAD_NONE; n++) {
		struct dirent *e = readdir(tasks);

		if (!e)
			break;
		if (!parse_u64(e->d_name, &tid) && tid <= UINT32_MAX &&
		    proc_ns_pid((uint32_t)tid) == ns_tid)
			found = PROC_THREAD_FOUND;
	}
	closedir(tasks);
	return found;
}

enum proc_thread proc_find_thread(uint32_t pid, uint32_t ns_tid)
{
	char path[64];
	uint32_t ns_pid = proc_ns_pid(pid);

	if (!ns_pid)
		return PROC_THREAD_UNKNOWN;
	if (ns_tid == ns_pid)
		return PROC_THREAD_FOUND;
	snprintf(path, sizeof path, "/proc/%" PRIu32 "/task", pid);
	if (ns_pid != pid)
		return find_inside(path, ns_tid);
	snprintf(path, sizeof path, "/proc/%" PRIu32 "/task/%" PRIu32, pid, ns_tid);
	return access(path, F_OK) == 0 ? PROC_THREAD_FOUND : PROC_THREAD_NONE;
}

int proc_rss_anon(uint32_t pid, uint64_t *bytes)
{
	const uint64_t page_bytes = sysconf(_SC_PAGESIZE);
	uint64_t size, all, shared;
	struct buf b = { 0 };
	int rc = read_file(pid, "statm", &b);

	if (!rc &&
	    sscanf(buf_cstr(&b), "%" SCNu64 " %" SCNu64 " %" SCNu64, &size, &all, &shared) != 3)
		rc = -EPROTO;
	if (!rc && !size)
		rc = -ESRCH;
	if (!rc)
		*bytes = (all > shared ? all - shared : 0) * page_bytes;
	buf_done(&b);
	return rc;
}

/* --- all programs ---------------------------------------------------------------------------- */

static bool read_program(uint32_t pid, char *path, size_t size)
{
	char link[40];

	snprintf(link, sizeof link, "/proc/%" PRIu32 "/exe", pid);
	ssize_t len = readlink(link, path, size - 1);
	path[len > 0 ? len : 0] = '\0';
	return len > 0;
}

void proc_programs(void (*fn)(void *ctx, uint32_t pid, const char *path), void *ctx)
{
	DIR *dir = opendir("/proc");
	char path[4096];
	uint64_t pid;

	if (!dir)
		return;
	for (struct dirent *e; (e = readdir(dir));)
		if (!parse_u64(e->d_name, &pid) && pid <= INT32_MAX &&
		    read_program((uint32_t)pid, path, sizeof path))
			fn(ctx, (uint32_t)pid, path);
	closedir(dir);
}
