// tier: test
/* What a sandboxed process can and cannot do: each attempt in a separate process. */
#include "unit.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/sandbox/sandbox.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A directory with data/ and beside/secret; a listener on loopback. */
struct place {
	char dir[64], data[80], secret[80], cert[80];
	int listener;
	uint16_t port;
};

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static struct place place_make(void)
{
	struct place p = { .dir = "/tmp/cresset-sandbox-XXXXXX" };
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001) };
	socklen_t len = sizeof at;
	char path[96];
	ck_assert_ptr_nonnull(mkdtemp(p.dir));
	snprintf(p.data, sizeof p.data, "%s/data", p.dir);
	snprintf(path, sizeof path, "%s/beside", p.dir);
	ck_assert_int_eq(mkdir(p.data, 0700) | mkdir(path, 0700), 0);
	snprintf(p.secret, sizeof p.secret, "%s/beside/secret", p.dir);
	write_file(p.secret, "secret");
	snprintf(path, sizeof path, "%s/certs", p.dir);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	snprintf(p.cert, sizeof p.cert, "%s/certs/cert.pem", p.dir);
	write_file(p.cert, "first");
	p.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(p.listener, (struct sockaddr *)&at, sizeof at), 0);
	ck_assert_int_eq(listen(p.listener, 4), 0);
	ck_assert_int_eq(getsockname(p.listener, (struct sockaddr *)&at, &len), 0);
	p.port = ntohs(at.sin_port);
	return p;
}

static void place_remove(struct place *p)
{
	char *command = xasprintf("rm -rf %s", p->dir);
	close(p->listener);
	ck_assert_int_eq(system(command), 0);
	free(command);
}

/* Runs an attempt in a process. Returns its exit status, or 1000 + its signal; *said has its standard error. */
static int attempt(struct place *p, bool connects, int (*what)(struct place *p), struct buf *said)
{
	int ends[2], status;
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0) {
		struct sandbox s = { .data_dir = p->data,
				     .read = { p->cert },
				     .connects = connects };
		dup2(ends[1], STDERR_FILENO);
		if (sandbox_files(&s, NULL) || sandbox_calls(&s, NULL))
			_exit(99);
		_exit(what(p));
	}
	close(ends[1]);
	struct buf b = { 0 };
	ck_assert_int_eq(fs_read_fd(ends[0], 1 << 16, &b, NULL), 0);
	close(ends[0]);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	if (said)
		*said = b;
	else
		buf_done(&b);
	return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int result(long rc)
{
	return rc < 0 ? errno : 0;
}

/* --- actions that end it ---------------------------------------------------------------------- */

static int try_exec(struct place *p)
{
	char *const args[] = { "true", NULL };
	(void)p;
	return result(execve("/bin/true", args, NULL));
}
static int try_fork(struct place *p)
{
	(void)p;
	return result(syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL));
}
static int try_ptrace(struct place *p)
{
	(void)p;
	return result(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
}
static int try_mount(struct place *p)
{
	return result(syscall(SYS_mount, "none", p->data, "tmpfs", 0, NULL));
}
static int try_unshare(struct place *p)
{
	(void)p;
	return result(unshare(CLONE_NEWUSER));
}
static int try_bpf(struct place *p)
{
	(void)p;
	return result(syscall(SYS_bpf, 0, NULL, 0));
}
static int try_ring(struct place *p)
{
	(void)p;
	return result(syscall(SYS_io_uring_setup, 1, NULL));
}
static int try_memory_of_others(struct place *p)
{
	(void)p;
	return result(syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0));
}
static int try_root(struct place *p)
{
	(void)p;
	return result(syscall(SYS_setresuid, 0, 0, 0));
}

START_TEST(attacks_end_the_process)
{
	static const struct {
		const char *name;
		int (*what)(struct place *p);
	} fatal[] = {
		{ "execve", try_exec },         { "clone", try_fork },
		{ "ptrace", try_ptrace },       { "mount", try_mount },
		{ "unshare", try_unshare },     { "bpf", try_bpf },
		{ "io_uring_setup", try_ring }, { "process_vm_readv", try_memory_of_others },
		{ "setresuid", try_root },
	};
	struct place p = place_make();
	for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) {
		struct buf said = { 0 };
		char *words = xasprintf("tried %s\n", fatal[i].name);
		ck_assert_msg(attempt(&p, i & 1, fatal[i].what, &said) == 1000 + SIGSYS, "%s",
			      fatal[i].name);
		ck_assert_msg(strstr(buf_cstr(&said), words) != NULL, "%s: %s", words,
			      buf_cstr(&said));
		free(words);
		buf_done(&said);
	}
	place_remove(&p);
}
END_TEST

/* The owner of the process cannot disarm SIGSYS first. */
static int try_to_survive(struct place *p)
{
	sigset_t all;
	if (signal(SIGSYS, SIG_IGN) != SIG_ERR)
		return 1;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	return try_bpf(p);
}
START_TEST(the_end_cannot_be_averted)
{
	struct place p = place_make();
	ck_assert_int_eq(attempt(&p, false, try_to_survive, NULL), 1000 + SIGSYS);
	place_remove(&p);
}
END_TEST

/* --- refused actions -------------------------------------------------------------------------- */

static int try_socket(struct place *p)
{
	(void)p;
	return result(socket(AF_INET, SOCK_STREAM, 0));
}
static int try_first_bytes(struct place *p)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(0x7f000001),
				  .sin_port = htons(p->port) };
	return result(sendto(p->listener, "x", 1, MSG_FASTOPEN, (struct sockaddr *)&at, sizeof at));
}
static int try_code(struct place *p)
{
	(void)p;
	void *m = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return m == MAP_FAILED ? errno : 0;
}
static int try_code_later(struct place *p)
{
	(void)p;
	void *m = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return m == MAP_FAILED ? 1 : result(mprotect(m, 4096, PROT_READ | PROT_EXEC));
}
static int try_kill(struct place *p)
{
	(void)p;
	return result(kill(getppid(), SIGTERM));
}
static int try_thread_of_others(struct place *p)
{
	(void)p;
	return result(syscall(SYS_tgkill, getppid(), getppid(), SIGTERM));
}
static int try_unknown(struct place *p)
{
	(void)p;
	return result(syscall(1000));
}
static int try_clone3(struct place *p)
{
	(void)p;
	return result(syscall(SYS_clone3, NULL, 0));
}

START_TEST(library_calls_are_refused)
{
	struct place p = place_make();
	ck_assert_int_eq(attempt(&p, false, try_socket, NULL), EPERM);
	ck_assert_int_eq(attempt(&p, false, try_first_bytes, NULL), EPERM);
	ck_assert_int_eq(attempt(&p, false, try_code, NULL), EPERM);
	ck_assert_int_eq(attempt(&p, true, try_code, NULL), EPERM);
	ck_assert_int_eq(attempt(&p, false, try_code_later, NULL), EPERM);
	ck_assert_int_eq(attempt(&p, true, try_kill, NULL), EPERM);
	ck_assert_int_eq(attempt(&p, false, try_thread_of_others, NULL), ENOSYS);
	/* The C library then works without it. */
	ck_assert_int_eq(attempt(&p, false, try_unknown, NULL), ENOSYS);
	ck_assert_int_eq(attempt(&p, false, try_clone3, NULL), ENOSYS);
	place_remove(&p);
}
END_TEST

/* --- files ------------------------------------------------------------------------------------ */

static int try_secret(struct place *p)
{
	return result(open(p->secret, O_RDONLY));
}
static int try_beside(struct place *p)
{
	char path[128];
	snprintf(path, sizeof path, "%s/../new", p->data);
	return result(open(path, O_WRONLY | O_CREAT, 0600));
}
static int try_link(struct place *p)
{
	char path[128];
	snprintf(path, sizeof path, "%s/link", p->data);
	return result(link(p->secret, path)) ? 1 : 0;
}
static int try_cert_write(struct place *p)
{
	return result(open(p->cert, O_WRONLY));
}
static int try_replaced_cert(struct place *p)
{
	return result(open(p->cert, O_RDONLY));
}
static int try_memory_file(struct place *p)
{
	(void)p;
	return result(open("/proc/self/mem", O_RDWR));
}
static int try_passwd(struct place *p)
{
	(void)p;
	return result(open("/etc/passwd", O_RDONLY));
}

START_TEST(files_outside_cannot_be_opened)
{
	struct place p = place_make();
	if (!sandbox_landlock()) {
		place_remove(&p);
		T_SKIP("no Landlock in this kernel");
	}
	ck_assert_int_eq(attempt(&p, true, try_secret, NULL), EACCES);
	ck_assert_int_eq(attempt(&p, false, try_beside, NULL), EACCES);
	ck_assert_int_eq(attempt(&p, false, try_link, NULL), 1);
	ck_assert_int_eq(attempt(&p, false, try_cert_write, NULL), EACCES);
	ck_assert_int_eq(attempt(&p, false, try_memory_file, NULL), EACCES);
	ck_assert_int_eq(attempt(&p, false, try_passwd, NULL), EACCES);
	ck_assert_int_eq(attempt(&p, true, try_passwd, NULL), 0);
	place_remove(&p);
}
END_TEST

/* As Let's Encrypt and Kubernetes do: a symbolic link to a file elsewhere, which another link replaces. */
static int read_renewed(struct place *p)
{
	char old[128], later[128];
	snprintf(old, sizeof old, "%s/beside/secret", p->dir);
	snprintf(later, sizeof later, "%s/beside/later", p->dir);
	return result(open(old, O_RDONLY))     ? 1
	       : result(open(later, O_RDONLY)) ? 2
					       : try_replaced_cert(p);
}
START_TEST(certificate_link_targets_can_be_replaced)
{
	struct place p = place_make();
	char later[128];
	ck_assert_int_eq(attempt(&p, false, try_replaced_cert, NULL), 0);
	snprintf(later, sizeof later, "%s/beside/later", p.dir);
	write_file(later, "later");
	ck_assert_int_eq(unlink(p.cert) | symlink(p.secret, p.cert), 0);
	ck_assert_int_eq(attempt(&p, false, read_renewed, NULL), 0);
	place_remove(&p);
}
END_TEST

/* --- actions that must work ------------------------------------------------------------------- */

static void *thread_run(void *ctx)
{
	*(int *)ctx = 1;
	return NULL;
}
static int try_thread(struct place *p)
{
	int ran = 0;
	pthread_t t;
	(void)p;
	if (pthread_create(&t, NULL, thread_run, &ran))
		return 1;
	return pthread_join(t, NULL) || !ran;
}
static int try_database(struct place *p)
{
	char *path = xasprintf("%s/x.db", p->data);
	sqlite3 *db = NULL;
	int rc = sqlite3_open(path, &db);
	if (rc == 0)
		rc = sqlite3_exec(
			db,
			"PRAGMA journal_mode=WAL; CREATE TABLE t(a); INSERT INTO t VALUES(1); "
			"VACUUM; DELETE FROM t",
			NULL, NULL, NULL);
	sqlite3_close(db);
	free(path);
	return rc;
}
/* A file opened by another process. */
static int try_passed(struct place *p)
{
	char text[4] = "";
	return pread(p->listener, text, 3, 0) == 3 && strcmp(text, "sec") == 0 ? 0 : 1;
}
static int try_connect(struct place *p)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(0x7f000001),
				  .sin_port = htons(p->port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return fd < 0 ? errno : result(connect(fd, (struct sockaddr *)&at, sizeof at));
}
static int try_raw(struct place *p)
{
	(void)p;
	return result(socket(AF_INET, SOCK_RAW, 1));
}

START_TEST(needed_calls_work)
{
	struct place p = place_make();
	ck_assert_int_eq(attempt(&p, false, try_thread, NULL), 0);
	ck_assert_int_eq(attempt(&p, false, try_database, NULL), 0);
	ck_assert_int_eq(attempt(&p, true, try_connect, NULL), 0);
	ck_assert_int_ne(attempt(&p, true, try_raw, NULL), 0);
	close(p.listener);
	p.listener = open(p.secret, O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(attempt(&p, false, try_passed, NULL), 0);
	place_remove(&p);
}
END_TEST

/* --- state ------------------------------------------------------------------------------------ */

static int look_at_state(struct place *p)
{
	struct buf b = { 0 };
	(void)p;
	if (fs_read_at(AT_FDCWD, "/proc/self/status", 1 << 16, &b, NULL))
		return 1;
	const char *text = buf_cstr(&b);
	if (!strstr(text, "\nCapEff:\t0000000000000000\n") ||
	    !strstr(text, "\nCapPrm:\t0000000000000000\n") ||
	    !strstr(text, "\nCapInh:\t0000000000000000\n") ||
	    !strstr(text, "\nCapAmb:\t0000000000000000\n"))
		return 2;
	if (!strstr(text, "\nNoNewPrivs:\t1\n") || !strstr(text, "\nSeccomp:\t2\n"))
		return 3;
	return 0;
}
static int look_at_bounds(struct place *p)
{
	struct buf b = { 0 };
	(void)p;
	if (fs_read_at(AT_FDCWD, "/proc/self/status", 1 << 16, &b, NULL))
		return 1;
	return strstr(buf_cstr(&b), "\nCapBnd:\t0000000000000000\n") ? 0 : 2;
}
START_TEST(nothing_is_left_to_be_used)
{
	struct place p = place_make();
	ck_assert_int_eq(attempt(&p, false, look_at_state, NULL), 0);
	if (geteuid() == 0)
		ck_assert_int_eq(attempt(&p, false, look_at_bounds, NULL), 0);
	place_remove(&p);
}
END_TEST

/* Threads that started before are filtered, too. */
static void *late_thread(void *ctx)
{
	int *stage = ctx;
	while (__atomic_load_n(stage, __ATOMIC_ACQUIRE) == 0)
		sched_yield();
	_exit(result(socket(AF_INET, SOCK_STREAM, 0)) == EPERM ? 0 : 1);
}
START_TEST(all_threads_are_filtered)
{
	int status, stage = 0;
	pid_t pid = fork();
	if (pid == 0) {
		struct sandbox s = { 0 };
		pthread_t t;
		if (sandbox_files(&s, NULL) || pthread_create(&t, NULL, late_thread, &stage) ||
		    sandbox_calls(&s, NULL))
			_exit(99);
		__atomic_store_n(&stage, 1, __ATOMIC_RELEASE);
		pthread_join(t, NULL);
		_exit(98);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* Under a service manager's filter: without capabilities there is nothing to give up; with some, the failure is reported. */
static int without_capset(bool has_some)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	struct sandbox s = { 0 };

	if (!has_some && geteuid() == 0 && setresuid(65534, 65534, 65534))
		return 90;
	if (!filter || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(capset), 0) ||
	    seccomp_load(filter))
		return 91;
	return -sandbox_files(&s, NULL);
}
START_TEST(a_filter_may_refuse_needless_calls)
{
	for (int has_some = 0; has_some <= (geteuid() == 0); has_some++) {
		int status;
		pid_t pid = fork();
		if (pid == 0)
			_exit(without_capset(has_some));
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert(WIFEXITED(status));
		ck_assert_int_eq(WEXITSTATUS(status), has_some ? EPERM : 0);
	}
}
END_TEST

UNIT_MAIN("sandbox", attacks_end_the_process, the_end_cannot_be_averted, library_calls_are_refused,
	  files_outside_cannot_be_opened, certificate_link_targets_can_be_replaced,
	  needed_calls_work, nothing_is_left_to_be_used, all_threads_are_filtered,
	  a_filter_may_refuse_needless_calls)
