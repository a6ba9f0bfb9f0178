/* mixed SECONDS: threads that spend their time in different ways for so long, with others that come and go meanwhile. At the end a
 * line for each thread that has ended,
 *
 *     TID NAME LIFE_US SLACK_US CPU_US DELAY_US SWITCHES
 *
 * The life of a thread is between LIFE_US - SLACK_US (by its own clock) and LIFE_US (by that of who made it and waited for its end).
 * CPU_US is its CPU time, DELAY_US how long it was ready to run but had to wait (/proc/thread-self/schedstat), SWITCHES how often it
 * left the CPU.
 *
 * spin       most_work and less_work, which take 3 : 1 of its CPU time
 * sleep      waits of 100 ms in sleep_long                short      waits of 100 µs in sleep_short
 * lock-a, -b hold_lock for 3 ms in turn, the other is in take_lock
 * ping, pong 200 bytes to and fro, then a pause of 5 ms
 * pin-a, -b  spin on one CPU: each waits for it half of the time
 * early      ends after a third                           late       begins after a third
 * brief      one every 50 ms, for 20 ms */
// build: -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MAX_THREADS = 1024, WORK = 50000 };

struct thread {
	pthread_t id;
	const char *name;
	void (*run)(void);
	int tid;
	int64_t made_ns, begin_ns, end_ns, joined_ns, cpu_ns, delay_ns;
	long switches;
};
static struct thread threads[MAX_THREADS];
static int thread_count;
static int64_t until_ns;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ping[2], pong[2];

static int64_t read_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}
static int64_t now_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}
static int over(void)
{
	return now_ns() >= until_ns;
}
static void sleep_us(int64_t us)
{
	struct timespec t = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&t, NULL);
}

/* The same code in each, apart from its name. */
#define WORKS(name) \
	__attribute__((noinline)) void name(uint64_t n) \
	{ \
		volatile uint64_t x = n; \
\
		for (uint64_t i = 0; i < n; i++) \
			x = x * 6364136223846793005ull + 1442695040888963407ull; \
	}
void most_work(uint64_t n);
void less_work(uint64_t n);
void pinned_work(uint64_t n);
void brief_work(uint64_t n);
WORKS(most_work)
WORKS(less_work)
WORKS(pinned_work)
WORKS(brief_work)

__attribute__((noinline)) void sleep_long(void)
{
	sleep_us(100000);
}
__attribute__((noinline)) void sleep_short(void)
{
	sleep_us(100);
}
__attribute__((noinline)) void take_lock(void)
{
	pthread_mutex_lock(&lock);
}
__attribute__((noinline)) void hold_lock(void)
{
	sleep_us(3000);
}

static void run_spin(void)
{
	while (!over()) {
		most_work(3 * WORK);
		less_work(WORK);
	}
}
static void run_sleep(void)
{
	while (!over())
		sleep_long();
}
static void run_short(void)
{
	while (!over())
		sleep_short();
}
static void run_lock(void)
{
	while (!over()) {
		take_lock();
		hold_lock();
		pthread_mutex_unlock(&lock);
		sleep_us(100); /* or the same thread takes it again before the other wakes up */
	}
}
/* Whether to go on travels in the byte, so that neither waits for one that has ended. */
static void run_ping(void)
{
	char go = 1;

	while (go) {
		go = !over();
		for (int i = 0; i < 200; i++) {
			char c = go || i < 199;

			if (write(ping[1], &c, 1) != 1 || read(pong[0], &c, 1) != 1)
				abort();
		}
		sleep_us(5000);
	}
}
static void run_pong(void)
{
	char go = 1;

	while (go) {
		if (read(ping[0], &go, 1) != 1 || write(pong[1], &go, 1) != 1)
			abort();
	}
}
static void run_pinned(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sysconf(_SC_NPROCESSORS_ONLN) - 1, &one);
	sched_setaffinity(0, sizeof one, &one);
	while (!over())
		pinned_work(WORK);
}
static void work_now_and_then(int64_t end_ns)
{
	while (now_ns() < end_ns) {
		sleep_us(20000);
		brief_work(WORK);
	}
}
static void run_early(void)
{
	work_now_and_then(now_ns() + (until_ns - now_ns()) / 3);
}
static void run_late(void)
{
	work_now_and_then(until_ns);
}
static void run_brief(void)
{
	brief_work(WORK);
	sleep_us(20000);
}

static void *thread_main(void *arg)
{
	struct thread *t = arg;
	FILE *stats;
	long long ran_ns, delay_ns = 0;
	struct rusage usage;

	t->begin_ns = now_ns();
	t->tid = (int)syscall(SYS_gettid);
	prctl(PR_SET_NAME, t->name);
	t->run();
	stats = fopen("/proc/thread-self/schedstat", "r");
	if (stats) {
		if (fscanf(stats, "%lld %lld", &ran_ns, &delay_ns) != 2)
			delay_ns = 0;
		fclose(stats);
	}
	t->delay_ns = delay_ns;
	getrusage(RUSAGE_THREAD, &usage);
	t->switches = usage.ru_nvcsw + usage.ru_nivcsw;
	t->cpu_ns = read_clock(CLOCK_THREAD_CPUTIME_ID);
	t->end_ns = now_ns();
	return NULL;
}
static struct thread *make(const char *name, void (*run)(void))
{
	struct thread *t = &threads[thread_count];

	if (thread_count == MAX_THREADS)
		abort();
	thread_count++;
	t->name = name;
	t->run = run;
	t->made_ns = now_ns();
	if (pthread_create(&t->id, NULL, thread_main, t))
		abort();
	return t;
}
static void join(struct thread *t)
{
	pthread_join(t->id, NULL);
	t->joined_ns = now_ns();
}
static void print(const struct thread *t)
{
	int64_t life_ns = t->joined_ns - t->made_ns;

	printf("%d %s %lld %lld %lld %lld %ld\n", t->tid, t->name, (long long)life_ns / 1000,
	       (long long)(life_ns - (t->end_ns - t->begin_ns)) / 1000, (long long)t->cpu_ns / 1000,
	       (long long)t->delay_ns / 1000, t->switches);
}

/* Those that end in order of their end: nobody is dead for long before he is joined. */
int main(int argc, char **argv)
{
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 1;
	int64_t begin_ns = now_ns(), third_ns = (int64_t)(seconds * 1e9 / 3);
	struct thread *early;
	int all_along, late = 0;

	until_ns = begin_ns + (int64_t)(seconds * 1e9);
	if (pipe(ping) || pipe(pong))
		return 1;
	make("spin", run_spin);
	make("short", run_short);
	make("lock-a", run_lock);
	make("lock-b", run_lock);
	make("ping", run_ping);
	make("pong", run_pong);
	make("pin-a", run_pinned);
	make("pin-b", run_pinned);
	make("sleep", run_sleep); /* the last to be over */
	all_along = thread_count;
	early = make("early", run_early);
	while (!over()) {
		join(make("brief", run_brief));
		sleep_us(30000);
		if (!late && now_ns() > begin_ns + third_ns)
			late = (int)(make("late", run_late) - threads);
		if (!early->joined_ns && now_ns() > begin_ns + third_ns)
			join(early);
	}
	if (late)
		join(&threads[late]);
	for (int i = 0; i < all_along; i++)
		join(&threads[i]);
	for (int i = 0; i < thread_count; i++)
		print(&threads[i]);
	return 0;
}
