/* family CPU_SECONDS: makes a thread, prints "pid thread-id" and waits for a byte on standard input. Then the thread
 * "fam-thread" is in thread_work, a child made by fork without exec in child_work, and the main thread in main_work, each for that long. */
// build: -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void spin(double seconds)
{
	struct timespec t;
	volatile uint64_t x = 0;

	do {
		for (int i = 0; i < 100000; i++)
			x += i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while (t.tv_sec + t.tv_nsec / 1e9 < seconds);
}

__attribute__((noinline)) void thread_work(double seconds)
{
	spin(seconds);
	__asm__ volatile("");
}
__attribute__((noinline)) void child_work(double seconds)
{
	spin(seconds);
	__asm__ volatile("");
}
__attribute__((noinline)) void main_work(double seconds)
{
	spin(seconds);
	__asm__ volatile("");
}

struct start {
	double seconds;
	int ids[2], gate[2]; /* pipes: the thread tells its id, then waits */
};

static void *thread_main(void *arg)
{
	struct start *s = arg;
	int tid = (int)syscall(SYS_gettid);
	char go;

	prctl(PR_SET_NAME, "fam-thread");
	if (write(s->ids[1], &tid, sizeof tid) == sizeof tid && read(s->gate[0], &go, 1) == 1)
		thread_work(s->seconds);
	return NULL;
}

int main(int argc, char **argv)
{
	struct start s = { .seconds = argc > 1 ? strtod(argv[1], NULL) : 1 };
	pthread_t thread;
	int tid = 0;

	if (pipe(s.ids) || pipe(s.gate) || pthread_create(&thread, NULL, thread_main, &s) ||
	    read(s.ids[0], &tid, sizeof tid) != sizeof tid)
		return 1;
	printf("%d %d\n", getpid(), tid);
	fflush(stdout);
	if (getchar() == EOF || write(s.gate[1], "g", 1) != 1)
		return 1;
	pid_t child = fork();
	if (child == 0) {
		child_work(s.seconds);
		_exit(0);
	}
	main_work(s.seconds);
	pthread_join(thread, NULL);
	waitpid(child, NULL, 0);
	return 0;
}
