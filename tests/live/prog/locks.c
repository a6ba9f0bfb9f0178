/* locks COUNT MS KIND…: a program that knows how long it waits for locks, and who held them.
 *
 * For each kind, COUNT times: a thread named KIND-holder takes the lock in hold_KIND, and releases it there MS ms after it has seen that the thread
 * KIND-waiter, which waits for it in wait_KIND, sleeps. Kinds:
 *
 *     plain, recursive, timed, robust, inherit, shared, heap     mutexes of glibc (timed: by pthread_mutex_timedlock; heap: not a variable)
 *     between      the holder is another process, which has the mutex at another address
 *     died         a thread that ends takes a robust mutex; KIND-holder ends it
 *     ended        the same with a plain one, which KIND-holder unlocks
 *     condition, semaphore, rwlock, barrier, futex               waits that name no owner: futex with the word of a locked mutex
 *     stay         waits 2 s: while a process lives, its threads can be looked up
 *
 * Prints a line for each kind, with limits of the time waited: from when the waiter was seen asleep to before the release, and from its call to its return.
 *
 *     KIND WAITS LEAST_NS MOST_NS */
// build: -O2 -fno-optimize-sibling-calls
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

pthread_mutex_t lock_plain, lock_recursive, lock_timed, lock_robust, lock_inherit, lock_shared,
	lock_died, lock_ended;
static pthread_mutex_t *lock_between[2]; /* of the waiter, of the holder */
static pthread_mutex_t *lock_heap, lock_condition = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int is_told;
static sem_t semaphore;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
/* As a mutex that is taken, except that its owner is not a thread. */
static struct {
	_Atomic int word;
	int count, owner, users, kind;
} word = { .owner = 0x3ffffff0, .users = 1 };

static int count, hold_ms;
/* Also of a holder in another process. */
static struct {
	sem_t taken, again;
	volatile int waiter_tid;
	int64_t called_ns, asleep_ns, from_ns, done_ns;
} * both;

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static int waiter_sleeps(void)
{
	char path[64], text[128];
	int fd;
	ssize_t n;

	snprintf(path, sizeof path, "/proc/%d/stat", both->waiter_tid);
	fd = open(path, O_RDONLY);
	n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	close(fd);
	if (n <= 0)
		abort();
	text[n] = 0;
	return strrchr(text, ')')[2] == 'S';
}

/* While the holder has the lock. */
static void keep(void)
{
	if (sem_post(&both->taken))
		abort();
	while (!waiter_sleeps())
		usleep(50);
	both->asleep_ns = now_ns();
	usleep(hold_ms * 1000);
	both->from_ns = now_ns();
}

/* The calls of both sides; `after` stops the compiler from making the last one a jump. */
static volatile int after;
#define KIND(name, take, release, waits) \
	__attribute__((noipa)) static void hold_##name(void) \
	{ \
		take; \
		keep(); \
		release; \
		after++; \
	} \
	__attribute__((noipa)) static void wait_##name(void) \
	{ \
		waits; \
		after++; \
	}
#define MUTEX(name, m) \
	KIND(name, pthread_mutex_lock(m), pthread_mutex_unlock(m), \
	     (pthread_mutex_lock(m), pthread_mutex_unlock(m)))

static void lock_in_time(pthread_mutex_t *m)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += 3600;
	if (pthread_mutex_timedlock(m, &t))
		abort();
}

static pthread_t mortal;
static sem_t lives, end;

static void *mortal_main(void *lock)
{
	pthread_mutex_lock(lock);
	sem_post(&lives);
	sem_wait(&end);
	return NULL;
}

/* Takes the lock in another thread, which ends then if `ends`. */
static void take_and_end(pthread_mutex_t *m, int ends)
{
	if (pthread_create(&mortal, NULL, mortal_main, m))
		abort();
	sem_wait(&lives);
	if (!ends)
		return;
	sem_post(&end);
	pthread_join(mortal, NULL);
}

static void end_mortal(void)
{
	sem_post(&end);
	pthread_join(mortal, NULL);
}

static void lock_of_dead(void)
{
	if (pthread_mutex_lock(&lock_died) != EOWNERDEAD)
		abort();
	pthread_mutex_consistent(&lock_died);
	pthread_mutex_unlock(&lock_died);
}

/* Without the mutex at the signal: the thread that wakes would wait for it. */
static void tell(void)
{
	pthread_mutex_lock(&lock_condition);
	is_told = 1;
	pthread_mutex_unlock(&lock_condition);
	pthread_cond_signal(&condition);
}

static void hear(void)
{
	pthread_mutex_lock(&lock_condition);
	while (!is_told)
		pthread_cond_wait(&condition, &lock_condition);
	is_told = 0;
	pthread_mutex_unlock(&lock_condition);
}

static void wake(void)
{
	word.word = 0;
	syscall(SYS_futex, &word.word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

MUTEX(plain, &lock_plain)
MUTEX(recursive, &lock_recursive)
MUTEX(robust, &lock_robust)
MUTEX(inherit, &lock_inherit)
MUTEX(shared, &lock_shared)
MUTEX(heap, lock_heap)
KIND(between, pthread_mutex_lock(lock_between[1]), pthread_mutex_unlock(lock_between[1]),
     (pthread_mutex_lock(lock_between[0]), pthread_mutex_unlock(lock_between[0])))
KIND(died, take_and_end(&lock_died, 0), end_mortal(), lock_of_dead())
KIND(ended, take_and_end(&lock_ended, 1), pthread_mutex_unlock(&lock_ended),
     (pthread_mutex_lock(&lock_ended), pthread_mutex_unlock(&lock_ended)))
KIND(timed, pthread_mutex_lock(&lock_timed), pthread_mutex_unlock(&lock_timed),
     (lock_in_time(&lock_timed), pthread_mutex_unlock(&lock_timed)))
KIND(condition, (void)0, tell(), hear())
KIND(semaphore, (void)0, sem_post(&semaphore), sem_wait(&semaphore))
KIND(rwlock, pthread_rwlock_wrlock(&rwlock), pthread_rwlock_unlock(&rwlock),
     (pthread_rwlock_rdlock(&rwlock), pthread_rwlock_unlock(&rwlock)))
KIND(barrier, (void)0, pthread_barrier_wait(&barrier), pthread_barrier_wait(&barrier))
KIND(futex, word.word = 2, wake(),
     syscall(SYS_futex, &word.word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0))

static const struct kind {
	const char *name;
	void (*hold)(void), (*wait)(void);
} kinds[] = {
#define ROW(name) \
	{ \
#name, hold_##name, wait_##name \
	}
	ROW(plain),  ROW(recursive), ROW(timed),     ROW(robust),    ROW(inherit),
	ROW(shared), ROW(heap),      ROW(between),   ROW(died),      ROW(ended),
	ROW(rwlock), ROW(barrier),   ROW(condition), ROW(semaphore), ROW(futex),
};

static void set_name(const char *kind, const char *what)
{
	char name[32];

	snprintf(name, sizeof name, "%.8s-%s", kind, what);
	pthread_setname_np(pthread_self(), name);
}

static void *waiter_main(void *arg)
{
	const struct kind *k = arg;

	set_name(k->name, "waiter");
	both->waiter_tid = (int)syscall(SYS_gettid);
	sem_post(&both->again);
	for (int i = 0; i < count; i++) {
		sem_wait(&both->taken);
		both->called_ns = now_ns();
		k->wait();
		both->done_ns = now_ns();
		sem_post(&both->again);
	}
	return NULL;
}

static void *holder_main(void *arg)
{
	const struct kind *k = arg;
	int64_t least_ns = 0, most_ns = 0;

	set_name(k->name, "holder");
	sem_wait(&both->again); /* for the waiter's id */
	for (int i = 0; i < count; i++) {
		k->hold();
		sem_wait(&both->again);
		least_ns += both->from_ns - both->asleep_ns;
		most_ns += both->done_ns - both->called_ns;
	}
	printf("%s %d %lld %lld\n", k->name, count, (long long)least_ns, (long long)most_ns);
	fflush(stdout);
	return NULL;
}

static void init(pthread_mutex_t *m, int type, int robust, int protocol, int shared)
{
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, type);
	pthread_mutexattr_setrobust(&a, robust);
	pthread_mutexattr_setprotocol(&a, protocol);
	pthread_mutexattr_setpshared(&a, shared);
	if (pthread_mutex_init(m, &a))
		abort();
}

/* In another process, without the waiter's mapping of the lock. */
static void run_between(const struct kind *k)
{
	pthread_t waiter;
	pid_t pid = fork();

	if (pid == 0) {
		munmap(lock_between[0], getpagesize());
		holder_main((void *)k);
		_exit(0);
	}
	if (pid < 0 || pthread_create(&waiter, NULL, waiter_main, (void *)k))
		abort();
	pthread_join(waiter, NULL);
	waitpid(pid, NULL, 0);
}

static void run(const struct kind *k)
{
	pthread_t holder, waiter;

	if (k->wait == wait_between) {
		run_between(k);
		return;
	}
	if (pthread_create(&waiter, NULL, waiter_main, (void *)k) ||
	    pthread_create(&holder, NULL, holder_main, (void *)k))
		abort();
	pthread_join(holder, NULL);
	pthread_join(waiter, NULL);
}

/* Memory of both processes, one page of it at two addresses. */
static void share(void)
{
	int fd = memfd_create("locks", MFD_CLOEXEC), page = getpagesize();

	if (fd < 0 || ftruncate(fd, 2 * page))
		abort();
	for (int i = 0; i < 2; i++) {
		lock_between[i] = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (lock_between[i] == MAP_FAILED)
			abort();
	}
	both = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, page);
	if (both == MAP_FAILED)
		abort();
	close(fd);
}

int main(int argc, char **argv)
{
	if (argc < 4) {
		fputs("usage: locks COUNT MS KIND...\n", stderr);
		return 2;
	}
	count = atoi(argv[1]);
	hold_ms = atoi(argv[2]);
	lock_heap = malloc(sizeof *lock_heap);
	share();
	init(&lock_plain, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE,
	     PTHREAD_PROCESS_PRIVATE);
	init(&lock_recursive, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE,
	     PTHREAD_PROCESS_PRIVATE);
	init(&lock_timed, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE,
	     PTHREAD_PROCESS_PRIVATE);
	init(&lock_robust, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE,
	     PTHREAD_PROCESS_PRIVATE);
	init(&lock_inherit, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT,
	     PTHREAD_PROCESS_PRIVATE);
	init(&lock_shared, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE,
	     PTHREAD_PROCESS_SHARED);
	init(lock_heap, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE,
	     PTHREAD_PROCESS_PRIVATE);
	init(&lock_died, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE,
	     PTHREAD_PROCESS_PRIVATE);
	init(&lock_ended, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE,
	     PTHREAD_PROCESS_PRIVATE);
	init(lock_between[0], PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE,
	     PTHREAD_PROCESS_SHARED);
	sem_init(&lives, 0, 0);
	sem_init(&end, 0, 0);
	sem_init(&both->taken, 1, 0);
	sem_init(&both->again, 1, 0);
	sem_init(&semaphore, 0, 0);
	pthread_barrier_init(&barrier, NULL, 2);
	for (int i = 3; i < argc; i++) {
		if (strcmp(argv[i], "stay") == 0)
			sleep(2);
		for (size_t n = 0; n < sizeof kinds / sizeof *kinds; n++)
			if (strcmp(argv[i], kinds[n].name) == 0)
				run(&kinds[n]);
	}
	return 0;
}
