/* Programs that show what an attach has damaged. They say "ready"; what they say after that is damage, but for slow-malloc.
 *
 *     attach_fragile poll                  the only thread polls for ever; says what poll returned
 *     attach_fragile ppoll                 the same with ppoll, which the kernel does not take for another call once it was interrupted: it can be stopped again
 *     attach_fragile execs COMMAND…        the same, and SIGUSR1 has another thread exec it
 *     attach_fragile slow-call             as poll, and its memfd_create takes 1.5 s: another thread answers for the kernel (seccomp)
 *     attach_fragile slow-malloc           its own malloc, whose calloc of the thread that polls waits 3 s with the lock; another thread says "got N" each 0.2 s
 *     attach_fragile filtered              computes, and a thread that polls has a filter that kills at memfd_create
 *     attach_fragile strict                computes, and a thread that reads is in seccomp's strict mode
 *     attach_fragile all-filtered          the same as filtered, and the thread that computes has the filter as well
 *     attach_fragile all-strict            the same as strict, and the thread that computes is in strict mode as well
 *     attach_fragile churn GB              the same without a pause
 *     attach_fragile populate GB           as poll, and another thread keeps the lock of the mappings, by making pages */
// build: -O1 -fno-builtin -Wl,-z,now
#include <errno.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static void nap(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

static void say(const char *text)
{
	if (write(1, text, strlen(text)) < 0)
		_exit(3);
}

/* --- an allocator with one lock, as many have ----------------------------------------------------- */

enum { ARENA = 64 << 20, SLOW_MS = 3000 };
static pthread_mutex_t arena_lock = PTHREAD_MUTEX_INITIALIZER;
static char *arena;
static size_t arena_used;
static bool is_slow;

static void *take(size_t align, size_t size)
{
	pthread_mutex_lock(&arena_lock);
	if (!arena)
		arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);
	if (is_slow && getpid() == syscall(SYS_gettid))
		nap(SLOW_MS);
	size_t at = (arena_used + sizeof(size_t) + align - 1) / align * align;
	arena_used = at + size;
	pthread_mutex_unlock(&arena_lock);
	if (at + size > ARENA)
		return NULL;
	memcpy(arena + at - sizeof size, &size, sizeof size);
	return arena + at;
}

void *malloc(size_t size)
{
	return take(16, size);
}
void *calloc(size_t n, size_t size)
{
	return take(16, n * size); /* fresh memory each time */
}
void *realloc(void *p, size_t size)
{
	size_t had = 0;
	void *to = take(16, size);

	if (p)
		memcpy(&had, (char *)p - sizeof had, sizeof had);
	return to ? memcpy(to, p ? p : to, had < size ? had : size) : NULL;
}
void *memalign(size_t align, size_t size)
{
	return take(align < 16 ? 16 : align, size);
}
void *aligned_alloc(size_t align, size_t size)
{
	return memalign(align, size);
}
int posix_memalign(void **p, size_t align, size_t size)
{
	*p = memalign(align, size);
	return *p ? 0 : ENOMEM;
}
void free(void *p)
{
	(void)p;
}

/* Waits in a call in which no thread is used for an attach: it may be one of a lock. */
static void *use_malloc(void *arg)
{
	const struct timespec wait = { 0, 200000000 };
	uint32_t never = 0;
	char text[32];

	for (int i = 0;; i++) {
		syscall(SYS_futex, &never, FUTEX_WAIT, 0, &wait, NULL, 0);
		if (!malloc(100))
			_exit(3);
		snprintf(text, sizeof text, "got %d\n", i);
		say(text);
	}
	return arg;
}

/* --- filters -------------------------------------------------------------------------------------- */

/* memfd_create comes to this. */
static int filter(unsigned verdict, unsigned flags)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, verdict),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof code / sizeof *code, code };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	int fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
	if (fd < 0)
		_exit(4);
	return fd;
}

static void *polls_filtered(void *arg)
{
	filter(SECCOMP_RET_KILL_PROCESS, 0);
	for (;;)
		poll(NULL, 0, -1);
	return arg;
}

static void *reads_strictly(void *arg)
{
	int fd[2];
	char byte;

	if (pipe(fd) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) < 0)
		_exit(4);
	while (read(fd[0], &byte, 1) < 0)
		;
	return arg;
}

static int listener = -1; /* of the first thread's filter; the other thread has none */

static void *answers_late(void *arg)
{
	int fd;

	while ((fd = __atomic_load_n(&listener, __ATOMIC_SEQ_CST)) < 0)
		nap(10);
	for (;;) {
		struct seccomp_notif asked = { 0 };
		if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &asked) < 0)
			continue;
		nap(1500);
		struct seccomp_notif_resp answer = { .id = asked.id,
						     .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };
		ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	}
	return arg;
}

/* --- others --------------------------------------------------------------------------------------- */

static bool has_pauses;

static void *populates(void *arg)
{
	size_t size = (size_t)(uintptr_t)arg << 30;

	for (;;) {
		void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		if (p != MAP_FAILED)
			munmap(p, size);
		if (has_pauses)
			nap(200);
	}
	return NULL;
}

static void *execs(void *arg)
{
	char **argv = arg;
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigwait(&set, &sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	execv(argv[0], argv);
	_exit(5);
}

static void start(void *(*fn)(void *), void *arg)
{
	pthread_t t;

	if (pthread_create(&t, NULL, fn, arg) != 0)
		_exit(4);
}

/* Whatever of its registers is another one later, the call's result shows the most of it. */
static void poll_for_ever(bool by_ppoll)
{
	char text[80] = { 0 };
	int fd[2];

	if (pipe(fd) < 0)
		_exit(4);
	struct pollfd p = { fd[0], POLLIN, 0 };
	say("ready\n");
	for (;;) {
		int n = by_ppoll ? ppoll(&p, 1, NULL, NULL) : poll(&p, 1, -1);
		snprintf(text, sizeof text, "poll returned %d, errno %d\n", n, errno);
		say(text);
		nap(100);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	sigset_t usr1;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	bool is_all = strncmp(what, "all-", 4) == 0;
	const char *how = what + (is_all ? 4 : 0);
	if (strcmp(how, "filtered") == 0 || strcmp(how, "strict") == 0) {
		volatile unsigned long x = 0;
		start(*how == 'f' ? polls_filtered : reads_strictly, NULL);
		nap(100);
		if (is_all && *how == 'f')
			filter(SECCOMP_RET_KILL_PROCESS, 0);
		if (is_all && *how == 's' && prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) < 0)
			_exit(4);
		say("ready\n");
		for (;;)
			x++;
	}
	if (strcmp(what, "execs") == 0) {
		sigprocmask(SIG_BLOCK, &usr1, NULL);
		start(execs, argv + 2);
		nap(50);
	}
	if (strcmp(what, "slow-call") == 0) {
		start(answers_late, NULL);
		int fd = filter(SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER);
		__atomic_store_n(&listener, fd, __ATOMIC_SEQ_CST);
	}
	has_pauses = strcmp(what, "populate") == 0;
	if (has_pauses || strcmp(what, "churn") == 0)
		start(populates, (void *)(uintptr_t)(argc > 2 ? atoi(argv[2]) : 1));
	if (strcmp(what, "slow-malloc") == 0) {
		start(use_malloc, NULL);
		is_slow = true;
	}
	poll_for_ever(strcmp(what, "ppoll") == 0);
}
