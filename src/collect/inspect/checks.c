/* What works on this machine, and what each missing piece costs. One row per check: a new check is
 * one function and one row. */
#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/parse.h"
#include "base/sandbox/sandbox.h"
#include "collect/collect.h"
#include "collect/host/host_metrics.h"
#include "collect/inspect/check_rows.h"
#include "collect/inspect/inspect.h"
#include "collect/kernel/kernel_features.h"
#include "collect/kernel/sampler.h"
#include "collect/kernel/side_band.h"
#include "profile/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

void check_say(struct check *c, enum check_state state, const char *fmt, ...)
{
	va_list ap;

	c->state = state;
	va_start(ap, fmt);
	vsnprintf(c->detail, sizeof c->detail, fmt, ap);
	va_end(ap);
}

void check_remedy(struct check *c, const char *text)
{
	snprintf(c->remedy, sizeof c->remedy, "%.299s", text);
}

static void check_kernel(struct check *c)
{
	struct utsname u;
	unsigned major = 0, minor = 0;

	uname(&u);
	sscanf(u.release, "%u.%u", &major, &minor);
	check_say(c, CHECK_OK, "Linux %.60s %.20s", u.release, u.machine);
	if (major > 5 || (major == 5 && minor >= 10))
		return;
	c->state = CHECK_MISSING;
	check_remedy(c, "kernel 5.10 or newer is needed");
}

static void check_btf(const struct check_input *in, struct check *c)
{
	const char *file = in->kernel->btf_file;
	struct err err = { 0 };

	if (refusal_check_btf(file, &err)) {
		check_say(c, CHECK_MISSING, "%.150s", err.text);
		check_remedy(c, err.hint);
		return;
	}
	check_say(c, CHECK_OK, "%.100s; types of modules are not needed",
		  file ? file : "/sys/kernel/btf/vmlinux");
}

static void check_pid_namespace(struct check *c)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) || (uint32_t)st.st_ino == 0xEFFFFFFC) {
		check_say(c, CHECK_OK, "the host's");
		return;
	}
	check_say(c, CHECK_MISSING,
		  "inside a pid namespace: process ids would not match the kernel's");
	check_remedy(c, "run in the host's pid namespace (docker run --pid=host, hostPID: true)");
}

static bool has_capability(int cap)
{
	struct buf b = { 0 };
	uint64_t eff = 0;

	if (!fs_read_at(AT_FDCWD, "/proc/self/status", 64 * 1024, &b, NULL)) {
		const char *at = strstr(buf_cstr(&b), "\nCapEff:\t");

		eff = at ? strtoull(at + 9, NULL, 16) : 0;
	}
	buf_done(&b);
	return eff >> cap & 1;
}

void collect_check_capabilities(struct check *c)
{
	static const struct {
		int number; /* linux/capability.h */
		const char *name;
	} wanted[] = { { 39, "CAP_BPF" },
		       { 38, "CAP_PERFMON" },
		       { 19, "CAP_SYS_PTRACE" },
		       { 40, "CAP_CHECKPOINT_RESTORE" } };
	char missing[120] = "";
	bool admin = has_capability(21), fatal = false;

	for (size_t i = 0; i < 4; i++) {
		if (has_capability(wanted[i].number) || (i != 2 && admin))
			continue;
		size_t len = strlen(missing);

		snprintf(missing + len, sizeof missing - len, " %s", wanted[i].name);
		fatal |= i < 2;
	}
	if (!*missing) {
		check_say(c, CHECK_OK, "BPF, performance events, other processes' files");
		return;
	}
	check_say(c, fatal ? CHECK_MISSING : CHECK_LIMITED, "missing:%s", missing);
	check_remedy(c, "run as root, or:  sudo setcap "
			"cap_bpf,cap_perfmon,cap_sys_ptrace,cap_checkpoint_restore=ep $(command -v "
			"cresset)");
}

static void check_sampling(const struct check_input *in, struct check *c)
{
	struct sink *sink;
	struct profile *p = profile_new();
	struct collect_opts opts = { .sampler.kernel = *in->kernel };
	struct collector *col = NULL;
	struct err err = { 0 };

	sink = profile_sink(p);
	if (collect_open(&opts, sink, &col, &err)) {
		check_say(c, CHECK_MISSING, "%.150s", err.text);
		check_remedy(c, err.hint);
	} else {
		check_say(c, CHECK_OK, "programs load and verify");
	}
	collect_free(col);
	profile_free(p);
}

/* If the NMI hits a program that sends through the same ring, it waits for a lock that its own CPU
 * holds. */
static void check_cycles(struct check *c)
{
	struct utsname u;

	uname(&u);
	const char *which = check_ring_freeze(u.release);
	check_say(c, CHECK_OK, "cycles, by NMI");
	if (!which)
		return;
	check_say(c, CHECK_LIMITED,
		  "cycles, by NMI; Linux %.40s %s: CPUs stop for up to 250 ms where an NMI and "
		  "another program share a BPF ring (cresset's share none, other profilers' may)",
		  u.release, which);
	check_remedy(c, "update to a later 6.17 or 6.18, or sample by --clock cpu-clock");
}

const char *check_ring_freeze(const char *release)
{
	unsigned major = 0, minor = 0;

	sscanf(release, "%u.%u", &major, &minor);
	if (major != 6 || minor < 15 || minor > 18)
		return NULL;
	return minor < 17 ? "has a bug" : "has a bug, unless it is of 2026";
}

static void check_clock(struct check *c)
{
	const char *clock;
	int fd = sampler_open_event(0, 99, CLOCK_AUTO, &clock);

	if (fd < 0) {
		check_say(c, CHECK_MISSING, "none: no performance event can be opened");
		check_remedy(c, "see performance events, above");
		return;
	}
	close(fd);
	if (!strcmp(clock, "cycles")) {
		check_cycles(c);
		return;
	}
	check_say(c, CHECK_LIMITED,
		  "cpu-clock: code that runs with interrupts off is attributed to where they are "
		  "enabled again");
	check_remedy(
		c,
		"no hardware counters here; in a virtual machine the host can pass a PMU through");
}

/* Loads and attaches the programs of these events, as a recording would. why: what the kernel
 * refuses of it; "": nothing. */
static int try_events(const struct kernel_opts *kernel, uint32_t events, char *why, size_t size,
		      struct err *err)
{
	struct sampler_opts opts = {
		.kernel = *kernel, .events = events, .target = TARGET_COMM, .comm = "-"
	};
	const struct collect_missing *missing;
	struct sampler *s = NULL;
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);

	sampler_opts_settle(&opts);
	why[0] = '\0';
	int rc = sampler_open(&opts, epoll_fd, 0, &s, err);
	if (!rc)
		rc = sampler_start(s, err);
	if (!rc && sampler_get_missing(s, &missing))
		snprintf(why, size, "%s", missing[0].why);
	sampler_close(s);
	if (epoll_fd >= 0)
		close(epoll_fd);
	return rc;
}

static void check_walker(const struct check_input *in, struct check *c)
{
	char why[200];
	struct err err = { 0 };

	if (try_events(in->kernel, COLLECT_CPU, why, sizeof why, &err)) {
		check_say(c, CHECK_MISSING, "%.150s", err.text);
		check_remedy(c, err.hint);
	} else if (why[0]) {
		check_say(
			c, CHECK_LIMITED,
			"frame pointers by the kernel's helper, up to kernel.perf_event_max_stack "
			"frames: %.50s",
			why);
		check_remedy(
			c, "stacks of code without frame pointers end in [truncated: kernel] here");
	} else {
		check_say(c, CHECK_OK, "unwind tables, else frame pointers; up to %d user frames",
			  WALK_MAX_USER);
	}
}

static void check_waits(const struct check_input *in, struct check *c)
{
	struct kernel_features kernel;
	struct err err = { 0 };
	char why[200];

	if (try_events(in->kernel, COLLECT_OFF_CPU, why, sizeof why, &err)) {
		check_say(c, CHECK_MISSING, "no off-cpu, sched-wait, wall and lock: %.190s",
			  err.text);
		check_remedy(c, err.hint);
		return;
	}
	kernel_features_find(in->kernel->btf_file, in->kernel->without, &kernel);
	bool exit = kernel.has & FEATURE_SCHED_EXIT, copies = kernel.has & FEATURE_COPY_FROM_TASK;
	check_say(c, exit && copies ? CHECK_OK : CHECK_LIMITED, "stacks taken at %s; times in %s%s",
		  exit ? "sched_exit_tp" : "sys_exit (some 20 ns on each system call)",
		  kernel.has & FEATURE_TASK_STORAGE ? "task storage" : "hash tables",
		  copies ? "" : "; kernel stacks only for pending waits");
	if (c->state == CHECK_LIMITED)
		check_remedy(c, exit ? "kernel 5.18 or newer" : "kernel 6.16 or newer costs less");
}

static void check_side_band(struct check *c)
{
	struct side_band *sb = NULL;
	struct err err = { 0 };
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);

	if (side_band_open(epoll_fd, 0, 8, &sb, &err)) {
		check_say(c, CHECK_MISSING, "%.150s", err.text);
		check_remedy(c, err.hint);
	} else {
		check_say(c, CHECK_OK, "new processes and mappings");
	}
	side_band_close(sb);
	close(epoll_fd);
}

static void check_map_files(struct check *c)
{
	int fd = open("/proc/self/map_files", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	if (fd >= 0 && (has_capability(40) || has_capability(21))) {
		check_say(c, CHECK_OK, "deleted and replaced binaries can be read");
		return;
	}
	check_say(c, CHECK_LIMITED,
		  "mapped files are opened by path only: no symbols for deleted binaries");
	check_remedy(c, "give CAP_CHECKPOINT_RESTORE (or CAP_SYS_ADMIN)");
}

/* Without permission to see them every address reads as zero. */
static bool shows_addresses(const struct buf *kallsyms)
{
	struct cur c = cur_of(kallsyms->data, kallsyms->len);
	const char *line;
	size_t len;

	while (cur_line(&c, &line, &len))
		if (len > 16 && memcmp(line, "0000000000000000", 16))
			return true;
	return false;
}

static void check_kernel_symbols(struct check *c)
{
	struct buf b = { 0 };

	if (fs_read_at(AT_FDCWD, "/proc/kallsyms", 256 << 20, &b, NULL)) {
		check_say(c, CHECK_LIMITED,
			  "/proc/kallsyms cannot be read: kernel frames are addresses");
	} else if (shows_addresses(&b)) {
		check_say(c, CHECK_OK, "/proc/kallsyms");
	} else {
		check_say(c, CHECK_LIMITED,
			  "/proc/kallsyms shows no addresses (kernel.kptr_restrict)");
		check_remedy(c, "run as root, or give CAP_SYSLOG with kernel.kptr_restrict=1");
	}
	buf_done(&b);
}

static void check_cgroup(struct check *c)
{
	struct buf b = { 0 };
	bool v2 = !fs_read_at(AT_FDCWD, "/proc/self/mounts", 16 << 20, &b, NULL) &&
		  strstr(buf_cstr(&b), " cgroup2 ");

	buf_done(&b);
	check_say(c, v2 ? CHECK_OK : CHECK_LIMITED,
		  v2 ? "v2 is mounted" : "no cgroup v2 mount: --cgroup is not possible");
	if (!v2)
		check_remedy(c, "boot with systemd.unified_cgroup_hierarchy=1");
}

static void check_rate(struct check *c)
{
	char line[32];
	uint64_t max = 0;

	if (fs_read_line("/proc/sys/kernel/perf_event_max_sample_rate", line, sizeof line) ||
	    parse_u64(line, &max)) {
		check_say(c, CHECK_OK, "not limited");
		return;
	}
	check_say(c, max >= 10000 ? CHECK_OK : CHECK_LIMITED, "up to %llu Hz",
		  (unsigned long long)max);
	if (max < 10000)
		check_remedy(c, "sysctl kernel.perf_event_max_sample_rate=100000");
}

/* The sandbox of the store process and the server: base/sandbox/sandbox.h. */
static void check_sandbox(struct check *c)
{
	uint32_t action = SECCOMP_RET_KILL_PROCESS;
	int version = sandbox_landlock();

	if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action)) {
		check_say(c, CHECK_MISSING, "no seccomp filters: up and serve do not run");
		check_remedy(c, "boot a kernel with CONFIG_SECCOMP_FILTER=y");
		return;
	}
	check_say(c, CHECK_OK, "of up and serve: system calls, and files (Landlock %d)", version);
	if (version)
		return;
	check_say(c, CHECK_LIMITED,
		  "of up and serve: system calls, but no files: no Landlock here");
	check_remedy(c,
		     "boot a kernel from 5.13 on with landlock in the list of the parameter lsm=");
}

/* Each has either run or look. */
static const struct {
	const char *name;
	void (*run)(struct check *c);
	void (*look)(const struct check_input *in, struct check *c);
} checks[] = {
	{ "kernel", check_kernel, NULL },
	{ "kernel type information", NULL, check_btf },
	{ "pid namespace", check_pid_namespace, NULL },
	{ "capabilities", collect_check_capabilities, NULL },
	{ "kernel lockdown", NULL, check_lockdown },
	{ "security modules", NULL, check_security_modules },
	{ "seccomp", NULL, check_seccomp },
	{ "performance events", NULL, check_perf_events },
	{ "locked memory", NULL, check_locked_memory },
	{ "memory cgroup", NULL, check_memory_cgroup },
	{ "BPF programs", NULL, check_sampling },
	{ "sampling clock", check_clock, NULL },
	{ "sampling rate", check_rate, NULL },
	{ "user stacks", NULL, check_walker },
	{ "waits", NULL, check_waits },
	{ "process events", check_side_band, NULL },
	{ "mapped files", check_map_files, NULL },
	{ "kernel symbols", check_kernel_symbols, NULL },
	{ "cgroups", check_cgroup, NULL },
	{ "host metrics", host_metrics_check, NULL },
	{ "sandbox", check_sandbox, NULL },
};

size_t collect_checks(const struct kernel_opts *kernel, struct check *out, size_t max)
{
	struct check_input in = { .kernel = kernel };
	size_t n = sizeof checks / sizeof *checks;

	refusal_read_facts(&in.facts);
	n = n < max ? n : max;
	for (size_t i = 0; i < n; i++) {
		out[i] = (struct check){ .name = checks[i].name };
		if (checks[i].run)
			checks[i].run(&out[i]);
		else
			checks[i].look(&in, &out[i]);
	}
	return n;
}
