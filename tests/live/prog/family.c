/* family CPU_SECONDS: one thread "fam-thread" in thread_work, one child by fork without exec in child_work, and the main
 * thread in main_work, each for that long. Prints "pid thread-id child-pid" first. */
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
	int pipe[2];
};

static void *thread_main(void *arg)
{
	struct start *s = arg;
	int tid = (int)syscall(SYS_gettid);

	prctl(PR_SET_NAME, "fam-thread");
	if (write(s->pipe[1], &tid, sizeof tid) != sizeof tid)
		return NULL;
	thread_work(s->seconds);
	return NULL;
}

int main(int argc, char **argv)
{
	struct start s = { argc > 1 ? strtod(argv[1], NULL) : 1, { 0 } };
	pthread_t thread;
	int tid = 0;

	usleep(argc > 2 ? (unsigned)strtol(argv[2], NULL, 10) * 1000 : 0);
	if (pipe(s.pipe) || pthread_create(&thread, NULL, thread_main, &s) ||
	    read(s.pipe[0], &tid, sizeof tid) != sizeof tid)
		return 1;
	pid_t child = fork();
	if (child == 0) {
		child_work(s.seconds);
		_exit(0);
	}
	printf("%d %d %d\n", getpid(), tid, child);
	fflush(stdout);
	main_work(s.seconds);
	pthread_join(thread, NULL);
	waitpid(child, NULL, 0);
	return 0;
}
