/* A program that a library is attached to, and that looks whether anything of itself has changed by that.
 *
 *     attached CALL [--malloc N] [--dlopen N]      CALL: see whats[]
 *
 * A thread is in CALL over and over, and checks what it returns, how long it took, errno, its signal mask and, of raw, every register. N threads
 * hammer malloc, and the loader, and check what they have. SIGUSR1 makes it print "COUNT of it attached, ok", or what was wrong, and SIGTERM end, with 1 where
 * something was. */
// build: -O1 -g -rdynamic
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int attached_count, attached_badly;

enum { WAIT_MS = 40, BLOCKS = 64 };
static char wrong[256]; /* the first thing */
static pthread_mutex_t wrong_lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((format(printf, 1, 2))) static void fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	pthread_mutex_lock(&wrong_lock);
	if (!*wrong)
		vsnprintf(wrong, sizeof wrong, fmt, ap);
	pthread_mutex_unlock(&wrong_lock);
	va_end(ap);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static const struct timespec wait_time = { 0, WAIT_MS * 1000000 };

static struct timespec at_realtime(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += wait_time.tv_nsec;
	if (t.tv_nsec >= 1000000000) {
		t.tv_nsec -= 1000000000;
		t.tv_sec++;
	}
	return t;
}

/* --- what the parked thread does ----------------------------------------------------------------- */

static int epoll_fd, pipe_fd[2], pair_fd[2], listen_fd, next_byte;

static int in_poll(void)
{
	return poll(NULL, 0, WAIT_MS);
}
static int in_epoll(void)
{
	struct epoll_event e;

	return epoll_wait(epoll_fd, &e, 1, WAIT_MS);
}
static int in_select(void)
{
	struct timeval t = { 0, WAIT_MS * 1000 };

	return select(0, NULL, NULL, NULL, &t);
}
static int in_nanosleep(void)
{
	return nanosleep(&wait_time, NULL);
}
/* A child writes 0, 1, 2 … */
static int in_read(void)
{
	unsigned char c;

	if (read(pipe_fd[0], &c, 1) != 1)
		return -1;
	if (c != (unsigned char)next_byte++)
		fail("read gave %d, not %d", c, (unsigned char)(next_byte - 1));
	return 0;
}
static int in_recv(void)
{
	char c;

	return recv(pair_fd[0], &c, 1, 0) == -1 && errno == EAGAIN ? 0 : -1;
}
static int in_accept(void)
{
	return accept(listen_fd, NULL, NULL) == -1 && errno == EAGAIN ? 0 : -1;
}
static int in_cond(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	struct timespec t = at_realtime();

	pthread_mutex_lock(&lock);
	int rc = pthread_cond_timedwait(&cond, &lock, &t);
	pthread_mutex_unlock(&lock);
	return rc == ETIMEDOUT ? 0 : -1;
}
static int in_sem(void)
{
	static sem_t sem;
	struct timespec t = at_realtime();

	return sem_timedwait(&sem, &t) == -1 && errno == ETIMEDOUT ? 0 : -1;
}
static int in_wait(void)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		nanosleep(&wait_time, NULL);
		_exit(7);
	}
	return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7
		       ? 0
		       : -1;
}
static int in_sigtimedwait(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	return sigtimedwait(&set, NULL, &wait_time) == -1 && errno == EAGAIN ? 0 : -1;
}

/* poll by hand, with a pattern in every register that a system call leaves alone: all but rax, rcx, r11. */
static int in_raw(void)
{
	uint64_t before[26], after[26];

	for (int i = 0; i < 26; i++)
		before[i] = 0x0101010101010101ull * (i + 1) ^ now_ns();
	memset(after, 0, sizeof after);
	uint64_t *a = after, *b = before;
	long rc;
	__asm__ volatile(
		"push %%rbx\n push %%rbp\n push %%r12\n push %%r13\n push %%r14\n push %%r15\n"
		"push %%rsi\n push %%rdi\n"
		"mov (%%rsp), %%rcx\n"
		"movdqu 80(%%rcx), %%xmm0\n movdqu 96(%%rcx), %%xmm7\n movdqu 112(%%rcx), %%xmm8\n "
		"movdqu 128(%%rcx), %%xmm15\n"
		"mov 0(%%rcx), %%rbx\n mov 8(%%rcx), %%rbp\n mov 16(%%rcx), %%r8\n mov 24(%%rcx), "
		"%%r9\n mov 32(%%rcx), %%r10\n"
		"mov 40(%%rcx), %%r12\n mov 48(%%rcx), %%r13\n mov 56(%%rcx), %%r14\n mov "
		"64(%%rcx), %%r15\n"
		"mov $7, %%eax\n xor %%edi, %%edi\n xor %%esi, %%esi\n mov $40, %%edx\n"
		"syscall\n"
		"mov 8(%%rsp), %%rcx\n"
		"movdqu %%xmm0, 80(%%rcx)\n movdqu %%xmm7, 96(%%rcx)\n movdqu %%xmm8, 112(%%rcx)\n "
		"movdqu %%xmm15, 128(%%rcx)\n"
		"mov %%rbx, 0(%%rcx)\n mov %%rbp, 8(%%rcx)\n mov %%r8, 16(%%rcx)\n mov %%r9, "
		"24(%%rcx)\n mov %%r10, 32(%%rcx)\n"
		"mov %%r12, 40(%%rcx)\n mov %%r13, 48(%%rcx)\n mov %%r14, 56(%%rcx)\n mov %%r15, "
		"64(%%rcx)\n"
		"pop %%rcx\n pop %%rcx\n pop %%r15\n pop %%r14\n pop %%r13\n pop %%r12\n pop "
		"%%rbp\n pop %%rbx\n"
		: "=&a"(rc)
		: [after] "S"(after), [before] "D"(before)
		: "rcx", "rdx", "r8", "r9", "r10", "r11", "xmm0", "xmm7", "xmm8", "xmm15", "memory",
		  "cc");
	for (int i = 0; i < 18; i++)
		if (i != 9 && before[i] != after[i])
			fail("register %d had %lx, has %lx", i, (long)before[i], (long)after[i]);
	return rc;
}

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
/* A futex that is none of a condition: not safe. */
static int in_mutex(void)
{
	return pthread_mutex_lock(&held);
}
/* Its calls are at once over, so it is never seen in one: it is caught as it enters. */
static void answer(int sig);
static int in_spin(void)
{
	static const struct timespec now;
	sigset_t set;

	for (volatile int i = 0; i < 2000000; i++)
		;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGTERM);
	int sig = sigtimedwait(&set, NULL, &now);
	if (sig > 0)
		answer(sig);
	return poll(NULL, 0, 0);
}

static const struct what {
	const char *name;
	int (*fn)(void);
	int at_least_ms;
} whats[] = {
	{ "poll", in_poll, WAIT_MS },
	{ "epoll", in_epoll, WAIT_MS },
	{ "select", in_select, WAIT_MS },
	{ "nanosleep", in_nanosleep, WAIT_MS },
	{ "read", in_read, 0 },
	{ "recv", in_recv, WAIT_MS - 4 },
	{ "accept", in_accept, WAIT_MS - 4 },
	{ "cond", in_cond, WAIT_MS - 4 },
	{ "sem", in_sem, WAIT_MS - 4 },
	{ "wait", in_wait, WAIT_MS },
	{ "raw", in_raw, WAIT_MS },
	{ "sigtimedwait", in_sigtimedwait, WAIT_MS },
	{ "mutex", in_mutex, 0 },
	{ "spin", in_spin, 0 },
};

static void check_once(const struct what *w, const sigset_t *mask)
{
	sigset_t now;
	uint64_t from = now_ns();

	errno = 77;
	int rc = w->fn();
	uint64_t took_ms = (now_ns() - from) / 1000000;
	if (rc != 0)
		fail("%s returned %d, errno %d", w->name, rc, errno);
	else if (took_ms + 1 < (uint64_t)w->at_least_ms)
		fail("%s took %d ms", w->name, (int)took_ms);
	else if (errno != 77 && errno != EAGAIN && errno != ETIMEDOUT)
		fail("%s: errno became %d", w->name, errno);
	pthread_sigmask(SIG_BLOCK, NULL, &now);
	if (memcmp(&now, mask, 8) != 0)
		fail("the signal mask is another");
}

static void *parked(void *arg)
{
	sigset_t mask;

	prctl(PR_SET_NAME, "cuda-EvtHandlr"); /* which is looked for first */
	pthread_sigmask(SIG_BLOCK, NULL, &mask);
	for (;;)
		check_once(arg, &mask);
	return NULL;
}

/* --- hammers ------------------------------------------------------------------------------------- */

static void *hammer_malloc(void *arg)
{
	struct block {
		unsigned char *p;
		size_t size;
	} blocks[BLOCKS] = { 0 };
	unsigned seed = (unsigned)(uintptr_t)arg * 7919 + 1;

	prctl(PR_SET_NAME, "malloc");
	for (;;) {
		struct block *b = &blocks[rand_r(&seed) % BLOCKS];
		unsigned char mark = (uintptr_t)b;
		if (b->p && (b->p[0] != mark || b->p[b->size - 1] != mark))
			fail("a block of malloc has changed");
		free(b->p);
		b->size = 1 + rand_r(&seed) % (rand_r(&seed) % 64 ? 2000 : 300000);
		b->p = malloc(b->size);
		b->p[0] = b->p[b->size - 1] = mark;
	}
	return NULL;
}

static void *hammer_dlopen(void *arg)
{
	static const char *const names[] = { "libz.so.1", "libutil.so.1", "liblzma.so.5",
					     "libanl.so.1" };

	prctl(PR_SET_NAME, "dlopen");
	for (uintptr_t i = (uintptr_t)arg;; i++) {
		void *h = dlopen(names[i % 4], RTLD_NOW);
		if (!h)
			fail("dlopen: %s", dlerror());
		else
			dlclose(h);
	}
	return NULL;
}

static pthread_t start(void *(*fn)(void *), const void *arg)
{
	pthread_t t;

	if (pthread_create(&t, NULL, fn, (void *)(uintptr_t)arg) != 0) {
		perror("pthread_create");
		exit(1);
	}
	return t;
}

static void write_bytes(void)
{
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (unsigned char c = 0;; c++) {
			nanosleep(&wait_time, NULL);
			if (write(pipe_fd[1], &c, 1) != 1)
				_exit(0);
		}
	}
	close(pipe_fd[1]);
}

static void prepare(const char *what)
{
	struct timeval limit = { 0, WAIT_MS * 1000 };

	epoll_fd = epoll_create1(0);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair_fd) < 0 || pipe(pipe_fd) < 0)
		exit(1);
	setsockopt(pair_fd[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	listen_fd = socket(AF_INET, SOCK_STREAM, 0);
	listen(listen_fd, 1);
	setsockopt(listen_fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	if (strcmp(what, "read") == 0)
		write_bytes();
	if (strcmp(what, "mutex") == 0)
		pthread_mutex_lock(&held);
}

static void on_segv(int sig)
{
	(void)sig;
}

/* Handlers are the process's. */
static void check_process(void)
{
	struct sigaction sa;

	sigaction(SIGSEGV, NULL, &sa);
	if (sa.sa_handler != on_segv)
		fail("the handler of SIGSEGV is another");
	if (attached_badly)
		fail("the loading thread had other signals blocked than promised");
}

static void answer(int sig)
{
	check_process();
	printf("%d attached, %s\n", __atomic_load_n(&attached_count, __ATOMIC_SEQ_CST),
	       *wrong ? wrong : "ok");
	fflush(stdout);
	if (sig != SIGTERM)
		return;
	/* setuid() needs an answer of every thread; it is a signal, and so interrupts what waits. */
	bool bad = *wrong;
	alarm(20);
	bad |= setresuid(-1, -1, -1) != 0;
	_exit(bad);
}

static const struct what *what_of(const char *name)
{
	for (size_t i = 0; i < sizeof whats / sizeof *whats; i++)
		if (strcmp(name, whats[i].name) == 0)
			return &whats[i];
	return NULL;
}

int main(int argc, char **argv)
{
	const struct what *what = argc > 1 ? what_of(argv[1]) : NULL;
	struct sigaction sa = { .sa_handler = on_segv };
	sigset_t set;
	int sig;

	if (!what)
		return 2;
	sigaction(SIGSEGV, &sa, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	prepare(what->name);
	pthread_t thread = start(parked, what);
	for (int i = 2; i + 1 < argc; i += 2)
		for (int k = atoi(argv[i + 1]); k > 0; k--)
			start(strcmp(argv[i], "--malloc") == 0 ? hammer_malloc : hammer_dlopen,
			      (void *)(uintptr_t)k);
	puts("ready");
	fflush(stdout);
	if (what->fn == in_spin || what->fn == in_mutex)
		pthread_join(thread, NULL); /* a futex, too, but of no condition */
	sigdelset(&set, SIGUSR2);
	while (sigwait(&set, &sig) == 0)
		answer(sig);
}
