/* known NAME CPU_SECONDS: a program that knows where its time goes, on the CPU and off it. It has no frame pointers, and its stacks are
 * some 25 frames deep. It ends when its worker has used so much CPU time, however long that takes.
 *
 *     worker (NAME)          main → descend × 20 → work_rounds → work_half, work_quarter and work_rest, 2 : 1 : 1; wakes the waiter by wake_waiter
 *     waiter (NAME-waiter)   waiter_main → descend × 20 → wait_rounds → wait_known
 *
 * Prints a line for each function:
 *
 *     work FUNCTION ROUNDS         rounds of the same loop: shares of CPU time do not depend on a clock that goes on while a host is busy
 *     used worker US               CPU time of the whole thread
 *     off FUNCTION US WAITS        time from its calls to who woke it, and how often
 *     slack FUNCTION US            how long waking it took: it may have waited so much longer
 *     delay worker US TIMES        how long it was ready without a CPU, and how often it came to one (/proc/thread-self/schedstat)
 *
 * A wait ends when the worker wakes the waiter, whenever that gets a CPU; so the sum does not depend on how busy the machine is. */
// build: -O2 -fomit-frame-pointer -fno-optimize-sibling-calls
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

enum { DEPTH = 20, UNIT = 20000, WAIT_NS = 100000000 };

static double limit_s;
static const char *name;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static int over;
static int64_t woken_at_ns; /* by the first wake that the waiter has not seen; 0: it has seen all */
static int64_t slack_ns;

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}
static int64_t cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* The same code in each, apart from its name. */
#define WORK(function) \
	__attribute__((noipa)) void function(uint64_t n) \
	{ \
		volatile uint64_t x = n; \
\
		for (uint64_t i = 0; i < n; i++) \
			x = x * 6364136223846793005ull + 1442695040888963407ull; \
	}
void work_half(uint64_t n);
void work_quarter(uint64_t n);
void work_rest(uint64_t n);
WORK(work_half)
WORK(work_quarter)
WORK(work_rest)

/* A frame with something in it, so that its size is not always the same. */
__attribute__((noipa)) int descend(int left, void (*then)(void));
int descend(int left, void (*then)(void))
{
	volatile int room[3 + DEPTH];

	room[left] = left;
	if (left > 0)
		return descend(left - 1, then) + room[left];
	then();
	return room[0];
}

static void print_delay(void)
{
	long long ran, delay = 0, times = 0;
	FILE *f = fopen("/proc/thread-self/schedstat", "r");

	if (f && fscanf(f, "%lld %lld %lld", &ran, &delay, &times) != 3)
		delay = 0;
	if (f)
		fclose(f);
	printf("delay worker %lld %lld\n", delay / 1000, times);
}

__attribute__((noipa)) void wake_waiter(int last);
void wake_waiter(int last)
{
	int64_t now_ns;

	pthread_mutex_lock(&lock);
	over = last;
	now_ns = clock_ns(CLOCK_MONOTONIC);
	if (!woken_at_ns)
		woken_at_ns = now_ns;
	pthread_mutex_unlock(&lock);
	pthread_cond_signal(&ready);
	slack_ns += clock_ns(CLOCK_MONOTONIC) - now_ns;
}

__attribute__((noipa)) void work_rounds(void);
void work_rounds(void)
{
	int64_t woken_ns = clock_ns(CLOCK_MONOTONIC);
	long rounds = 0;

	for (; cpu_ns() < limit_s * 1e9; rounds++) {
		work_half(2 * UNIT);
		work_quarter(UNIT);
		work_rest(UNIT);
		if (clock_ns(CLOCK_MONOTONIC) - woken_ns > WAIT_NS) {
			wake_waiter(0);
			woken_ns = clock_ns(CLOCK_MONOTONIC);
		}
	}
	wake_waiter(1);
	printf("work work_half %ld\nwork work_quarter %ld\nwork work_rest %ld\n", 2 * rounds,
	       rounds, rounds);
}

/* Returns when it was woken. */
__attribute__((noipa)) int64_t wait_known(void);
int64_t wait_known(void)
{
	int64_t at_ns;

	pthread_mutex_lock(&lock);
	while (!woken_at_ns)
		pthread_cond_wait(&ready, &lock);
	at_ns = woken_at_ns;
	woken_at_ns = 0;
	pthread_mutex_unlock(&lock);
	return at_ns;
}
__attribute__((noipa)) void wait_rounds(void);
void wait_rounds(void)
{
	int64_t off_ns = 0;
	int waits = 0;

	while (!over) {
		int64_t from_ns = clock_ns(CLOCK_MONOTONIC), at_ns = wait_known();

		if (at_ns > from_ns) /* otherwise it came too late to wait */
			off_ns += at_ns - from_ns;
		waits++;
	}
	printf("off wait_known %lld %d\n", (long long)off_ns / 1000, waits);
}
static void *waiter_main(void *unused)
{
	char comm[16];

	(void)unused;
	snprintf(comm, sizeof comm, "%.8s-waiter", name);
	prctl(PR_SET_NAME, comm);
	descend(DEPTH, wait_rounds);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t waiter;

	if (argc < 3)
		return 2;
	name = argv[1];
	limit_s = strtod(argv[2], NULL);
	prctl(PR_SET_NAME, name);
	if (pthread_create(&waiter, NULL, waiter_main, NULL))
		return 1;
	descend(DEPTH, work_rounds);
	pthread_join(waiter, NULL);
	printf("slack wait_known %lld\n", (long long)slack_ns / 1000);
	print_delay();
	printf("used worker %lld\n", (long long)cpu_ns() / 1000);
	return 0;
}
