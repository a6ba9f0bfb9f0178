/* The filter of system calls, by libseccomp's names. Calls unknown to libseccomp or missing on this
 * architecture are skipped. */
#include "base/err.h"
#include "base/sandbox/sandbox.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *const allowed[] = {
	/* memory */
	"brk", "munmap", "mremap", "madvise",
	/* our own threads and signals */
	"exit", "exit_group", "futex", "futex_waitv", "gettid", "getpid", "getppid", "membarrier",
	"restart_syscall", "rseq", "rt_sigpending", "rt_sigprocmask", "rt_sigreturn",
	"rt_sigtimedwait", "rt_sigsuspend", "sched_getaffinity", "sched_yield", "set_robust_list",
	"set_tid_address", "sigaltstack",
	/* files: Landlock restricts which ones */
	"access", "close", "close_range", "copy_file_range", "dup", "dup2", "dup3", "faccessat",
	"faccessat2", "fadvise64", "fallocate", "fchmod", "fchmodat", "chmod", "fchown", "fcntl",
	"fdatasync", "flock", "fstat", "fstatfs", "fsync", "ftruncate", "getcwd", "getdents64",
	"link", "linkat", "lseek", "lstat", "memfd_create", "mkdir", "mkdirat", "newfstatat",
	"open", "openat", "openat2", "pread64", "preadv", "preadv2", "pwrite64", "pwritev",
	"pwritev2", "read", "readlink", "readlinkat", "readv", "rename", "renameat", "renameat2",
	"rmdir", "sendfile", "stat", "statfs", "statx", "sync_file_range", "truncate", "umask",
	"unlink", "unlinkat", "utimensat", "write", "writev",
	/* existing sockets, and waiting for them */
	"accept", "accept4", "epoll_create", "epoll_create1", "epoll_ctl", "epoll_pwait",
	"epoll_pwait2", "epoll_wait", "eventfd2", "getpeername", "getsockname", "getsockopt",
	"pipe", "pipe2", "poll", "ppoll", "pselect6", "recvfrom", "recvmsg", "select", "setsockopt",
	"shutdown", "timerfd_create", "timerfd_settime",
	/* time, and information about this machine and process */
	"capget", "clock_getres", "clock_gettime", "clock_nanosleep", "getcpu", "getegid",
	"geteuid", "getgid", "getrandom", "getresgid", "getresuid", "getrlimit", "getrusage",
	"gettimeofday", "getuid", "nanosleep", "sysinfo", "time", "times", "uname", NULL
};

/* socketpair: for libcurl's resolver thread. */
static const char *const to_connect[] = { "connect",  "bind",       "recvmmsg",
					  "sendmmsg", "socketpair", NULL };

/* Libraries may try these and can do without. */
static const char *const refused[] = { "bind",
				       "chown",
				       "connect",
				       "fchownat",
				       "kill",
				       "lchown",
				       "listen",
				       "mknod",
				       "mknodat",
				       "mlock",
				       "munlock",
				       "sendmmsg",
				       "setrlimit",
				       "setpriority",
				       "sched_setaffinity",
				       "sched_setscheduler",
				       "socketpair",
				       "symlink",
				       "symlinkat",
				       "tkill",
				       NULL };

/* Cresset never makes these calls. */
static const char *const fatal[] = {
	"execve", "execveat", "fork", "vfork",
	/* other processes */
	"kcmp", "pidfd_getfd", "pidfd_open", "process_madvise", "process_vm_readv",
	"process_vm_writev", "ptrace",
	/* the file system namespace */
	"chroot", "fsconfig", "fsmount", "fsopen", "fspick", "mount", "mount_setattr", "move_mount",
	"name_to_handle_at", "open_by_handle_at", "open_tree", "pivot_root", "setns", "umount",
	"umount2", "unshare",
	/* more attack surface of the kernel, or changes of it */
	"acct", "add_key", "adjtimex", "bpf", "clock_adjtime", "clock_settime", "delete_module",
	"fanotify_init", "finit_module", "init_module", "io_uring_enter", "io_uring_register",
	"io_uring_setup", "ioperm", "iopl", "kexec_file_load", "kexec_load", "keyctl",
	"lookup_dcookie", "modify_ldt", "perf_event_open", "personality", "quotactl", "reboot",
	"request_key", "sethostname", "setdomainname", "settimeofday", "swapoff", "swapon",
	"syslog", "userfaultfd",
	/* another user */
	"capset", "setfsgid", "setfsuid", "setgid", "setgroups", "setregid", "setresgid",
	"setresuid", "setreuid", "setuid", NULL
};

/* --- fatal calls ------------------------------------------------------------------------------ */

static const char *fatal_name(int number)
{
	for (int i = 0; fatal[i]; i++)
		if (seccomp_syscall_resolve_name(fatal[i]) == number)
			return fatal[i];
	return "clone"; /* of a process; not in the list */
}

static size_t append(char *to, size_t len, const char *text)
{
	size_t n = strlen(text);

	memcpy(to + len, text, n);
	return len + n;
}

/* Makes only async-signal-safe calls. The disposition is the default again (SA_RESETHAND), so the
 * signal raised here kills the process when the handler returns. */
static void say_and_die(int signal_number, siginfo_t *info, void *context)
{
	char line[128];
	size_t len = append(line, 0, "cresset: error: the sandbox ends this process: it tried ");

	(void)context;
	len = append(line, len, fatal_name(info->si_syscall));
	len = append(line, len, "\n");
	if (write(STDERR_FILENO, line, len) < 0)
		len = 0;
	raise(signal_number);
}

static int catch_sigsys(void)
{
	struct sigaction action = { .sa_sigaction = say_and_die,
				    .sa_flags = SA_SIGINFO | SA_RESETHAND };

	return sigaction(SIGSYS, &action, NULL) ? -errno : 0;
}

/* --- the filter ------------------------------------------------------------------------------- */

struct filter {
	scmp_filter_ctx ctx;
	int rc; /* of the first rule that could not be added */
};

static void add(struct filter *f, uint32_t action, const char *name, unsigned n,
		const struct scmp_arg_cmp *args)
{
	int number = seccomp_syscall_resolve_name(name);

	if (number == __NR_SCMP_ERROR || f->rc)
		return;
	f->rc = seccomp_rule_add_array(f->ctx, action, number, n, args);
	if (f->rc == -EEXIST)
		f->rc = 0;
}

static void add_all(struct filter *f, uint32_t action, const char *const *names)
{
	for (int i = 0; names[i]; i++)
		add(f, action, names[i], 0, NULL);
}

/* Allows a call if the masked bits of an argument match, else applies another action. */
static void add_masked(struct filter *f, const char *name, unsigned arg, uint64_t mask,
		       uint64_t bits, uint32_t otherwise)
{
	const struct scmp_arg_cmp good = SCMP_CMP64(arg, SCMP_CMP_MASKED_EQ, mask, bits);
	const struct scmp_arg_cmp bad = SCMP_CMP64(arg, SCMP_CMP_MASKED_EQ, mask, bits ^ mask);

	add(f, SCMP_ACT_ALLOW, name, 1, &good);
	add(f, otherwise, name, 1, &bad);
}

static void add_values(struct filter *f, const char *name, unsigned arg, const uint32_t *values,
		       size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct scmp_arg_cmp is =
			SCMP_CMP64(arg, SCMP_CMP_MASKED_EQ, UINT32_MAX, values[i]);
		add(f, SCMP_ACT_ALLOW, name, 1, &is);
	}
}

/* Adds rules for calls whose arguments matter. */
static void add_judged(struct filter *f)
{
	static const uint32_t ioctls[] = { FIONBIO, FIONREAD, TCGETS, TIOCGWINSZ };
	static const uint32_t prctls[] = { PR_SET_NAME, PR_GET_NAME };
	const uint32_t denied = SCMP_ACT_ERRNO(EPERM);
	const struct scmp_arg_cmp not_sigsys = SCMP_CMP64(0, SCMP_CMP_NE, SIGSYS, 0);
	const struct scmp_arg_cmp own = SCMP_CMP64(0, SCMP_CMP_EQ, (uint64_t)getpid(), 0);
	const struct scmp_arg_cmp only_read[] = { SCMP_CMP64(0, SCMP_CMP_EQ, 0, 0),
						  SCMP_CMP64(2, SCMP_CMP_EQ, 0, 0) };

	add_masked(f, "mmap", 2, PROT_EXEC, 0, denied);
	add_masked(f, "mprotect", 2, PROT_EXEC, 0, denied);
	add_masked(f, "clone", 0, CLONE_THREAD, CLONE_THREAD, SCMP_ACT_TRAP);
	/* MSG_FASTOPEN could reconnect a socket that was shut down. */
	add_masked(f, "sendto", 3, MSG_FASTOPEN, 0, denied);
	add_masked(f, "sendmsg", 2, MSG_FASTOPEN, 0, denied);
	add_values(f, "ioctl", 1, ioctls, sizeof ioctls / sizeof *ioctls);
	add_values(f, "prctl", 0, prctls, sizeof prctls / sizeof *prctls);
	add(f, SCMP_ACT_ALLOW, "rt_sigaction", 1, &not_sigsys);
	add(f, SCMP_ACT_ALLOW, "tgkill", 1, &own);
	add(f, SCMP_ACT_ALLOW, "prlimit64", 2, only_read);
}

/* Allows TCP, UDP and local sockets for name lookups, and netlink for the addresses of this
 * machine. */
static void add_socket(struct filter *f, bool connects)
{
	static const uint32_t families[] = { AF_UNIX, AF_INET, AF_INET6, AF_NETLINK };

	if (!connects) {
		add(f, SCMP_ACT_ERRNO(EPERM), "socket", 0, NULL);
		return;
	}
	for (size_t i = 0; i < sizeof families / sizeof *families; i++)
		for (int type = SOCK_STREAM; type <= SOCK_RAW; type++) {
			const struct scmp_arg_cmp args[] = {
				SCMP_CMP64(0, SCMP_CMP_MASKED_EQ, UINT32_MAX, families[i]),
				SCMP_CMP64(1, SCMP_CMP_MASKED_EQ, 0xf, (uint64_t)type),
			};
			if ((type == SOCK_RAW) == (families[i] == AF_NETLINK))
				add(f, SCMP_ACT_ALLOW, "socket", 2, args);
		}
	add_all(f, SCMP_ACT_ALLOW, to_connect);
}

static int make_filter(struct filter *f, bool connects)
{
	f->ctx = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	if (!f->ctx)
		return -ENOMEM;
	seccomp_attr_set(f->ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	seccomp_attr_set(f->ctx, SCMP_FLTATR_CTL_NNP, 1);
	seccomp_attr_set(f->ctx, SCMP_FLTATR_CTL_TSYNC, 1);
	seccomp_attr_set(f->ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* a tree, if supported */
	add_all(f, SCMP_ACT_ALLOW, allowed);
	add_judged(f);
	add_socket(f, connects);
	for (int i = 0; refused[i]; i++) {
		bool is_allowed = false;
		for (int k = 0; connects && to_connect[k]; k++)
			is_allowed |= strcmp(refused[i], to_connect[k]) == 0;
		if (!is_allowed)
			add(f, SCMP_ACT_ERRNO(EPERM), refused[i], 0, NULL);
	}
	add_all(f, SCMP_ACT_TRAP, fatal);
	return f->rc;
}

int sandbox_calls(struct sandbox *s, struct err *err)
{
	struct filter f = { 0 };

	if (!s || s->has_calls)
		return 0;
	int rc = make_filter(&f, s->connects);
	if (rc == 0)
		rc = catch_sigsys();
	if (rc == 0)
		rc = seccomp_load(f.ctx);
	if (f.ctx)
		seccomp_release(f.ctx);
	if (rc)
		return err_set(err, -rc, "cannot restrict system calls: %s", strerror(-rc));
	s->has_calls = true;
	return 0;
}
