/* switches RATE SECONDS: two threads that wake each other, RATE switches a second in bursts of a millisecond, and threads whose waits have known
 * lengths, in functions of their own. Prints for each function how long its waits took by the clocks of the thread:
 *
 *     off FUNCTION US WAITS
 *     switches N            of the two
 *
 * Threads that wait are called PROGRAM-wait. */
// build: -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static const char *name;
static int64_t end_ns;

/* PROGRAM-what */
static void name_thread(const char *what)
{
	char text[64];

	snprintf(text, sizeof text, "%s-%s", name, what);
	prctl(PR_SET_NAME, text);
}

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static int64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static void until_ns(int64_t at_ns)
{
	struct timespec t = { at_ns / 1000000000, at_ns % 1000000000 };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

/* --- two that switch -------------------------------------------------------------------------- */

static int there[2], back[2];
static int64_t switches;

static void *pong(void *unused)
{
	char c;

	(void)unused;
	name_thread("pong");
	while (read(there[0], &c, 1) == 1)
		if (write(back[1], &c, 1) != 1)
			break;
	return NULL;
}

static void ping(double rate)
{
	int64_t begin_ns = now_ns();
	char c = 0;

	for (int64_t ms = 1; now_ns() < end_ns; ms++) {
		int64_t want = (int64_t)(rate * (double)ms / 1000);

		for (; switches < want && now_ns() < end_ns; switches += 2)
			if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
				return;
		until_ns(begin_ns + ms * 1000000);
	}
}

/* --- those that wait -------------------------------------------------------------------------- */

struct waiter {
	const char *name;
	void (*wait)(int64_t at_ns);
	int64_t length_ns, off_ns;
	int waits;
	pthread_t thread;
};

#define WAIT(function) \
	__attribute__((noipa)) void function(int64_t at_ns) \
	{ \
		until_ns(at_ns); \
	}
void wait_2ms(int64_t at_ns);
void wait_20ms(int64_t at_ns);
void wait_700ms(int64_t at_ns);
void wait_all(int64_t at_ns);
WAIT(wait_2ms)
WAIT(wait_20ms)
WAIT(wait_700ms)
WAIT(wait_all)

static void *waiter_main(void *arg)
{
	struct waiter *w = arg;

	name_thread("wait");
	while (now_ns() < end_ns) {
		int64_t from_ns = now_ns(), cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		int64_t at_ns = from_ns + (w->length_ns ? w->length_ns : end_ns - from_ns);

		w->wait(at_ns);
		w->off_ns += now_ns() - from_ns - (clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns);
		w->waits++;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	double rate = argc > 1 ? atof(argv[1]) : 0;
	struct waiter all[] = {
		{ .name = "wait_2ms", .wait = wait_2ms, .length_ns = 2000000 },
		{ .name = "wait_20ms", .wait = wait_20ms, .length_ns = 20000000 },
		{ .name = "wait_700ms", .wait = wait_700ms, .length_ns = 700000000 },
		{ .name = "wait_all", .wait = wait_all },
	};
	enum { WAITERS = sizeof all / sizeof *all };
	pthread_t other;

	name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
	end_ns = now_ns() + (int64_t)((argc > 2 ? atof(argv[2]) : 1) * 1e9);
	if (pipe(there) || pipe(back) || pthread_create(&other, NULL, pong, NULL))
		return 1;
	for (int i = 0; i < WAITERS; i++)
		if (pthread_create(&all[i].thread, NULL, waiter_main, &all[i]))
			return 1;
	ping(rate);
	close(there[1]);
	pthread_join(other, NULL);
	for (int i = 0; i < WAITERS; i++) {
		pthread_join(all[i].thread, NULL);
		printf("off %s %lld %d\n", all[i].name, (long long)all[i].off_ns / 1000,
		       all[i].waits);
	}
	printf("switches %lld\n", (long long)switches);
	return 0;
}
