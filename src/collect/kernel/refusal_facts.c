/* Reads facts about the kernel and this process. */
#include "base/buf.h"
#include "base/fs.h"
#include "base/parse.h"
#include "collect/kernel/refusal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { SMALL_FILE_BYTES = 64 * 1024 };

static void read_status(struct refusal_facts *f)
{
	struct buf b = { 0 };

	if (!fs_read_at(AT_FDCWD, "/proc/self/status", SMALL_FILE_BYTES, &b, NULL)) {
		const char *effective = strstr(buf_cstr(&b), "\nCapEff:\t");
		const char *seccomp = strstr(buf_cstr(&b), "\nSeccomp:\t");

		f->capabilities = effective ? strtoull(effective + 9, NULL, 16) : 0;
		f->has_seccomp_filter = seccomp && seccomp[10] == '2';
	}
	buf_done(&b);
}

static bool is_in_user_namespace(void)
{
	enum { FIRST_USER_NS_INO = 0xEFFFFFFD }; /* PROC_USER_INIT_INO of include/linux/proc_ns.h */
	struct stat st;

	return !stat("/proc/self/ns/user", &st) && (uint32_t)st.st_ino != FIRST_USER_NS_INO;
}

/* Neither call has an effect: no such command, no address. */
static int bpf_error(void)
{
	enum { NO_COMMAND = 9999 };

	return syscall(SYS_bpf, NO_COMMAND, NULL, 0) < 0 ? errno : 0;
}

static int perf_error(void)
{
	return syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0) < 0 ? errno : 0;
}

/* "none [integrity] confidentiality": the one in brackets is in force. */
static enum refusal_lockdown read_lockdown(void)
{
	char line[128];

	fs_read_line("/sys/kernel/security/lockdown", line, sizeof line);
	if (strstr(line, "[confidentiality]"))
		return LOCKDOWN_CONFIDENTIALITY;
	return strstr(line, "[integrity]") ? LOCKDOWN_INTEGRITY : LOCKDOWN_NONE;
}

/* --- memory cgroups --------------------------------------------------------------------------- */

struct memory_files {
	const char *key;          /* marks its line in /proc/self/cgroup */
	const char *mount;        /* usual mount point */
	const char *limit, *used; /* files in the group's directory */
};
static const struct memory_files versions[] = {
	{ "0::", "/sys/fs/cgroup", "memory.max", "memory.current" },
	{ ":memory:", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes" },
};

/* Returns UINT64_MAX for "max", or if no such file exists. */
static uint64_t read_bytes(const char *mount, const char *group, int len, const char *name)
{
	enum { GROUP_PATH_BYTES = 4096 };
	char path[GROUP_PATH_BYTES], line[32];
	uint64_t bytes = UINT64_MAX;

	snprintf(path, sizeof path, "%s%.*s/%s", mount, len, group, name);
	if (fs_read_line(path, line, sizeof line) || parse_u64(line, &bytes))
		return UINT64_MAX;
	return bytes;
}

/* Finds the lowest limit among a group and its parents. cgroup v1 expresses "no limit" as almost
 * 2^63. */
static void look_at_groups(struct refusal_facts *f, const struct memory_files *v, const char *group,
			   int len)
{
	enum { NO_LIMIT_BITS = 60 };

	while (len > 0) {
		uint64_t limit = read_bytes(v->mount, group, len, v->limit);

		if (limit >> NO_LIMIT_BITS == 0 &&
		    (!f->memory_limit_bytes || limit < f->memory_limit_bytes)) {
			f->memory_limit_bytes = limit;
			f->memory_used_bytes = read_bytes(v->mount, group, len, v->used);
		}
		while (len > 0 && group[--len] != '/')
			;
	}
}

static void read_memory_limit(struct refusal_facts *f)
{
	struct buf b = { 0 };
	const char *line;
	size_t len;

	if (!fs_read_at(AT_FDCWD, "/proc/self/cgroup", SMALL_FILE_BYTES, &b, NULL)) {
		struct cur c = cur_of(b.data, b.len);

		while (cur_line(&c, &line, &len))
			for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
				const char *key =
					memmem(line, len, versions[i].key, strlen(versions[i].key));
				const char *group = key ? key + strlen(versions[i].key) : NULL;

				if (group && (i || key == line))
					look_at_groups(f, &versions[i], group,
						       (int)(line + len - group));
			}
	}
	buf_done(&b);
}

/* Returns 2, the default of Linux, if it cannot be read. */
static int perf_paranoid(void)
{
	char line[32];

	if (fs_read_line("/proc/sys/kernel/perf_event_paranoid", line, sizeof line))
		return 2;
	return (int)strtol(line, NULL, 10);
}

/* --- all of it -------------------------------------------------------------------------------- */

void refusal_read_facts(struct refusal_facts *out)
{
	struct rlimit memlock = { .rlim_cur = RLIM_INFINITY };
	struct utsname u;

	*out = (struct refusal_facts){ .in_user_namespace = is_in_user_namespace(),
				       .bpf_error = bpf_error(),
				       .perf_error = perf_error(),
				       .lockdown = read_lockdown(),
				       .perf_paranoid = perf_paranoid() };
	read_status(out);
	fs_read_line("/sys/kernel/security/lsm", out->security_modules,
		     sizeof out->security_modules);
	if (!uname(&u))
		sscanf(u.release, "%u.%u", &out->kernel_major, &out->kernel_minor);
	getrlimit(RLIMIT_MEMLOCK, &memlock);
	out->memlock_bytes = memlock.rlim_cur;
	read_memory_limit(out);
}
