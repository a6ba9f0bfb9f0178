/* The checks before an attach, and the words of each refusal. */
#include "attach/attach_refuse.h"

#include "attach/attach_status.h"
#include "attach/attach_thread.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "symbol/elf/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/kcmp.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define YOUNG_NS 2000000000ull
enum { DISK_LOOKS = 100, DISK_PAUSE_US = 5000 };

const char *const gpu_attach_refusal_words[GPU_ATTACH_REFUSALS] = {
	[GPU_ATTACH_NOT_REFUSED] = "none",
	[GPU_ATTACH_GONE] = "gone",
	[GPU_ATTACH_IS_THREAD] = "thread",
	[GPU_ATTACH_KERNEL_THREAD] = "kernel-thread",
	[GPU_ATTACH_ZOMBIE] = "zombie",
	[GPU_ATTACH_STOPPED] = "stopped",
	[GPU_ATTACH_UNINTERRUPTIBLE] = "uninterruptible",
	[GPU_ATTACH_TRACED] = "traced",
	[GPU_ATTACH_YOUNG] = "young",
	[GPU_ATTACH_SHARED_MEMORY] = "shared-memory",
	[GPU_ATTACH_32BIT] = "32-bit",
	[GPU_ATTACH_STATIC] = "static",
	[GPU_ATTACH_NO_LIBRARY] = "no-library",
	[GPU_ATTACH_LIBC] = "libc",
	[GPU_ATTACH_SECCOMP] = "seccomp",
	[GPU_ATTACH_USER_NAMESPACE] = "user-namespace",
	[GPU_ATTACH_PTRACE_SCOPE] = "ptrace-scope",
	[GPU_ATTACH_PERMISSION] = "permission",
	[GPU_ATTACH_LSM] = "security-module",
	[GPU_ATTACH_NO_THREAD] = "no-thread",
	[GPU_ATTACH_NO_EXEC_MEMORY] = "no-exec-memory",
	[GPU_ATTACH_FROZEN] = "frozen",
	[GPU_ATTACH_CHANGED] = "changed",
	[GPU_ATTACH_SHADOW_STACK] = "shadow-stack",
	[GPU_ATTACH_BUSY] = "busy",
};

/* The text after "process PID "; %s: the detail. */
static const char *const texts[GPU_ATTACH_REFUSALS] = {
	[GPU_ATTACH_GONE] = "does not exist%s",
	[GPU_ATTACH_IS_THREAD] = "is a thread of process %s",
	[GPU_ATTACH_KERNEL_THREAD] = "is a thread of the kernel%s",
	[GPU_ATTACH_ZOMBIE] = "has ended, and waits for its parent%s",
	[GPU_ATTACH_STOPPED] = "is stopped%s",
	[GPU_ATTACH_UNINTERRUPTIBLE] =
		"waits in the kernel and cannot be interrupted (vfork, or a disk)%s",
	[GPU_ATTACH_TRACED] = "is already traced by %s",
	[GPU_ATTACH_YOUNG] = "is too young: it may be about to run another program%s",
	[GPU_ATTACH_SHARED_MEMORY] =
		"shares its memory with its parent: it is about to run another program%s",
	[GPU_ATTACH_32BIT] = "is not a 64-bit program for this machine%s",
	[GPU_ATTACH_STATIC] = "is linked statically: it has no loader%s",
	[GPU_ATTACH_NO_LIBRARY] = "has not loaded %s",
	[GPU_ATTACH_LIBC] = "has an unsupported C library%s",
	[GPU_ATTACH_SECCOMP] = "filters its system calls (seccomp): it might be killed by ours%s",
	[GPU_ATTACH_USER_NAMESPACE] = "is in another user namespace%s",
	[GPU_ATTACH_PTRACE_SCOPE] = "cannot be traced: kernel.yama.ptrace_scope is 3%s",
	[GPU_ATTACH_PERMISSION] = "may not be traced by this user%s",
	[GPU_ATTACH_LSM] = "may not be traced, by a security module: %s",
	[GPU_ATTACH_NO_THREAD] = "has no thread that can be stopped safely: %s",
	[GPU_ATTACH_NO_EXEC_MEMORY] = "cannot run code from memory nor from /tmp: %s",
	[GPU_ATTACH_FROZEN] = "is frozen by its cgroup%s",
	[GPU_ATTACH_CHANGED] = "runs another program than when it was checked%s",
	[GPU_ATTACH_SHADOW_STACK] =
		"has shadow stacks: a thread could not be restored if cresset were killed%s",
	[GPU_ATTACH_BUSY] = "is busy mapping memory: its thread would be blocked%s",
};

static const char *const hints[GPU_ATTACH_REFUSALS] = {
	[GPU_ATTACH_STOPPED] = "resume it with kill -CONT",
	[GPU_ATTACH_TRACED] = "end the debugger first",
	[GPU_ATTACH_YOUNG] = "try again in two seconds, or with --force young",
	[GPU_ATTACH_NO_LIBRARY] = "try again once it uses the device, or with --force no-library",
	[GPU_ATTACH_SECCOMP] =
		"if the filter allows memfd_create, mmap, openat and clone3: --force seccomp",
	[GPU_ATTACH_USER_NAMESPACE] = "--force user-namespace, if that container is trusted",
	[GPU_ATTACH_PERMISSION] = "run as root, or with CAP_SYS_PTRACE",
	[GPU_ATTACH_FROZEN] = "thaw it first (docker unpause)",
	[GPU_ATTACH_CHANGED] = "try again",
	[GPU_ATTACH_BUSY] = "try again later, or with a longer --wait",
	[GPU_ATTACH_NO_THREAD] =
		"try again: threads that wait for something, not in malloc or the loader, are safe",
};

/* The formats are those above, with one %s each. */
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
enum gpu_attach_refusal attach_say(enum gpu_attach_refusal why, uint32_t pid, const char *detail,
				   struct err *err)
{
	char text[400];

	snprintf(text, sizeof text, texts[why], detail);
	err_set(err, ECANCELED, "process %" PRIu32 " %s", pid, text);
	if (hints[why])
		err_hint(err, "%s", hints[why]);
	return why;
}

/* --- the process ------------------------------------------------------------------------------ */

static void detail_of_comm(uint32_t pid, char *text, size_t size)
{
	char path[32], comm[16];

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/comm", pid);
	fs_read_line(path, comm, sizeof comm);
	snprintf(text, size, "%" PRIu32 " (%s)", pid, comm);
}

static enum gpu_attach_refusal by_status(uint32_t pid, const struct attach_status *s, char *detail,
					 size_t size)
{
	if (s->tgid != pid) {
		snprintf(detail, size, "%" PRIu32, s->tgid);
		return GPU_ATTACH_IS_THREAD;
	}
	if (s->state == 'Z' || s->state == 'X')
		return GPU_ATTACH_ZOMBIE;
	if (!s->has_memory)
		return GPU_ATTACH_KERNEL_THREAD;
	if (s->tracer) {
		detail_of_comm(s->tracer, detail, size);
		return GPU_ATTACH_TRACED;
	}
	return s->state == 'T' || s->state == 't' ? GPU_ATTACH_STOPPED
	       : attach_is_frozen(pid, 0)         ? GPU_ATTACH_FROZEN
	       : s->has_shadow_stack              ? GPU_ATTACH_SHADOW_STACK
						  : GPU_ATTACH_NOT_REFUSED;
}

/* Any process may wait for a disk for a moment, so it is refused only if it still does after a
 * while. This is checked before anything else is read: a lock of its memory or its file system that
 * blocks it would block us as well. */
static bool stays_uninterruptible(uint32_t pid, struct attach_status s)
{
	for (int i = 0; s.state == 'D' && i < DISK_LOOKS; i++) {
		usleep(DISK_PAUSE_US);
		if (attach_status_read(pid, 0, &s) < 0)
			return false;
	}
	return s.state == 'D';
}

static bool has_interpreter(const struct elf_file *f)
{
	size_t n = 0;
	GElf_Phdr p;

	if (elf_getphdrnum(f->elf, &n) < 0)
		return false;
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(f->elf, i, &p) && p.p_type == PT_INTERP)
			return true;
	return false;
}

static enum gpu_attach_refusal by_program(uint32_t pid)
{
	enum gpu_attach_refusal why = GPU_ATTACH_PERMISSION;
	struct elf_file f = { 0 };
	char path[32];

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/exe", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? GPU_ATTACH_GONE : why;
	why = GPU_ATTACH_32BIT;
	if (elf_file_open(&f, fd, NULL) == 0) {
		if (f.header.e_machine == EM_X86_64 && f.header.e_ident[EI_CLASS] == ELFCLASS64)
			why = has_interpreter(&f) ? GPU_ATTACH_NOT_REFUSED : GPU_ATTACH_STATIC;
		elf_file_close(&f);
	}
	close(fd);
	return why;
}

static bool in_other_user_namespace(uint32_t pid)
{
	char theirs[64], ours[64];

	attach_link(pid, "ns/user", theirs, sizeof theirs);
	attach_link(getpid(), "ns/user", ours, sizeof ours);
	return strcmp(theirs, ours) != 0;
}

static bool shares_memory(uint32_t pid, uint32_t parent)
{
	return parent && syscall(SYS_kcmp, pid, parent, KCMP_VM, 0, 0) == 0;
}

/* --- loaded libraries ------------------------------------------------------------------------- */

bool attach_is_library(const char *mapped, const char *name)
{
	const char *base = strrchr(mapped, '/');
	size_t n = strlen(name);

	base = base ? base + 1 : mapped;
	base += strncmp(base, "memfd:", 6) == 0 ? 6 : 0;
	return strncmp(base, name, n) == 0 && strchr(" .", base[n]); /* or the end of the string */
}

struct loaded {
	const struct gpu_attach_library *library;
	bool has, needs;
};
static bool visit(void *ctx, const struct gpu_map *m)
{
	struct loaded *l = ctx;

	if (*m->name == '/' && attach_is_library(m->name, l->library->name))
		l->has = true;
	if (l->library->needs && *m->name == '/' && attach_is_library(m->name, l->library->needs))
		l->needs = true;
	return !l->has;
}

/* A thread without a filter creates threads without one, so one is enough. */
static bool every_thread_is_filtered(uint32_t pid)
{
	enum { LOOKED_AT = 256 };
	uint32_t tids[LOOKED_AT];
	size_t n = attach_threads(pid, tids, LOOKED_AT);
	struct attach_status s;

	for (size_t i = 0; i < n; i++)
		if (attach_status_read(pid, tids[i], &s) == 0 && !s.seccomp)
			return false;
	return n > 0;
}

static enum gpu_attach_refusal by_choice(uint32_t pid, const struct gpu_attach_opts *o,
					 const struct attach_status *s, const struct loaded *l)
{
	uint64_t young_ns = o->young_ns ? o->young_ns : YOUNG_NS;

	if (!l->needs && o->library->needs && !attach_is_forced(o, GPU_ATTACH_NO_LIBRARY))
		return GPU_ATTACH_NO_LIBRARY;
	if (s->seccomp && !attach_is_forced(o, GPU_ATTACH_SECCOMP) && every_thread_is_filtered(pid))
		return GPU_ATTACH_SECCOMP;
	if (in_other_user_namespace(pid) && !attach_is_forced(o, GPU_ATTACH_USER_NAMESPACE))
		return GPU_ATTACH_USER_NAMESPACE;
	if (attach_age_ns(pid) < young_ns && !attach_is_forced(o, GPU_ATTACH_YOUNG))
		return GPU_ATTACH_YOUNG;
	return GPU_ATTACH_NOT_REFUSED;
}

enum gpu_attach_refusal attach_refuse(uint32_t pid, const struct gpu_attach_opts *opts,
				      bool *already, struct err *err)
{
	struct loaded l = { .library = opts->library };
	struct attach_status s;
	char detail[64] = "";

	*already = false;
	if (attach_status_read(pid, 0, &s) < 0)
		return attach_say(GPU_ATTACH_GONE, pid, "", err);
	enum gpu_attach_refusal why = by_status(pid, &s, detail, sizeof detail);
	if (why == GPU_ATTACH_NOT_REFUSED && stays_uninterruptible(pid, s))
		why = GPU_ATTACH_UNINTERRUPTIBLE;
	if (why == GPU_ATTACH_NOT_REFUSED)
		why = by_program(pid);
	if (why == GPU_ATTACH_NOT_REFUSED && shares_memory(pid, s.ppid))
		why = GPU_ATTACH_SHARED_MEMORY;
	if (why == GPU_ATTACH_NOT_REFUSED && opts->view->maps(pid, visit, &l) < 0)
		why = GPU_ATTACH_PERMISSION;
	*already = l.has;
	if (why == GPU_ATTACH_NOT_REFUSED && !l.has)
		why = by_choice(pid, opts, &s, &l);
	if (why == GPU_ATTACH_NO_LIBRARY)
		snprintf(detail, sizeof detail, "%s", opts->library->needs);
	return why == GPU_ATTACH_NOT_REFUSED ? why : attach_say(why, pid, detail, err);
}

/* --- refusals of the kernel ------------------------------------------------------------------- */

enum { CAP_SYS_PTRACE_BIT = 19 };

static bool has_capability(void)
{
	struct buf b = { 0 };
	bool has = false;

	if (fs_read_at(AT_FDCWD, "/proc/thread-self/status", 64 << 10, &b, NULL) == 0) {
		const char *at = strstr(buf_cstr(&b), "CapEff:");
		has = at && strtoull(at + strlen("CapEff:"), NULL, 16) >> CAP_SYS_PTRACE_BIT & 1;
	}
	buf_done(&b);
	return has;
}

static bool nobody_may_trace(void)
{
	char scope[8] = "";

	fs_read_line("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof scope);
	return *scope == '3';
}

enum gpu_attach_refusal attach_refused_always(void)
{
	return nobody_may_trace() ? GPU_ATTACH_PTRACE_SCOPE
	       : has_capability() ? GPU_ATTACH_NOT_REFUSED
				  : GPU_ATTACH_PERMISSION;
}

/* A thread that has ended cannot be traced. Otherwise, if ptrace returns EPERM although the user
 * has all permissions, it was a security module. */
enum gpu_attach_refusal attach_refused_by_kernel(uint32_t pid, uint32_t tid, struct err *err)
{
	char modules[128] = "", label[96] = "", path[48], detail[352];
	struct attach_status s;

	if (attach_has_ended(pid, 0) || attach_status_read(pid, 0, &s) < 0)
		return attach_say(GPU_ATTACH_GONE, pid, "", err);
	if (tid != pid && attach_has_ended(pid, tid))
		return GPU_ATTACH_NOT_REFUSED;
	if (s.tracer) {
		detail_of_comm(s.tracer, detail, sizeof detail);
		return attach_say(GPU_ATTACH_TRACED, pid, detail, err);
	}
	if (nobody_may_trace())
		return attach_say(GPU_ATTACH_PTRACE_SCOPE, pid, "", err);
	if (!has_capability() || in_other_user_namespace(pid))
		return attach_say(GPU_ATTACH_PERMISSION, pid, "", err);
	fs_read_line("/sys/kernel/security/lsm", modules, sizeof modules);
	snprintf(path, sizeof path, "/proc/%" PRIu32 "/attr/current", pid);
	fs_read_line(path, label, sizeof label);
	bool is_filtered = attach_status_read(getpid(), 0, &s) == 0 && s.seccomp;
	snprintf(detail, sizeof detail, "%s%s%s%s", *modules ? modules : "not named by the kernel",
		 *label ? ", which calls it " : "", label,
		 is_filtered ? "; or by the seccomp filter of cresset, which must allow ptrace and "
			       "pidfd_getfd"
			     : "");
	return attach_say(GPU_ATTACH_LSM, pid, detail, err);
}
