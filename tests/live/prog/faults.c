/* faults ROUNDS: touches PAGES pages in each of ROUNDS rounds, in several functions. At the end a line for each function,
 *
 *     FUNCTION FAULTS
 *
 * with the page faults that the kernel counted in it. Between rounds it sleeps, so that faults come at a moderate rate. */
// build: -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGES = 2000, PAGE = 4096, FEW = 16 };

static char *pages(size_t n)
{
	char *p = mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		err(1, "mmap");
	madvise(p, n * PAGE, MADV_NOHUGEPAGE);
	return p;
}

static void touch(volatile char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i * PAGE] = 1;
}

/* Memory that is never released. */
__attribute__((noinline)) void touch_kept(void)
{
	touch(pages(PAGES), PAGES);
}

/* The same few pages again and again: their addresses are few. */
__attribute__((noinline)) void touch_few(void)
{
	static char *few;

	few = few ? few : pages(FEW);
	for (int i = 0; i < PAGES / FEW; i++) {
		touch(few, FEW);
		madvise(few, FEW * PAGE, MADV_DONTNEED);
	}
}

/* The kernel touches them, in a system call. */
__attribute__((noinline)) void touch_by_read(void)
{
	char *p = pages(PAGES);
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, p, (size_t)PAGES * PAGE) != (ssize_t)PAGES * PAGE)
		err(1, "/dev/zero");
	close(fd);
	munmap(p, (size_t)PAGES * PAGE);
}

__attribute__((noinline)) void touch_in_thread(void)
{
	char *p = pages(PAGES);

	touch(p, PAGES);
	munmap(p, (size_t)PAGES * PAGE);
}

/* Pages of the parent are copied. */
__attribute__((noinline)) void touch_in_child(char *p)
{
	touch(p, PAGES);
}

static long faults_now(void)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	return u.ru_minflt + u.ru_majflt;
}

static void *run_thread(void *faults)
{
	long before = faults_now();

	touch_in_thread();
	*(long *)faults += faults_now() - before;
	return NULL;
}

static void run_child(char *p, long *faults)
{
	pid_t pid = fork();

	if (pid == 0) {
		long before = faults_now();

		touch_in_child(p);
		*faults += faults_now() - before;
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;
	long *child = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0),
	     kept = 0, few = 0, by_read = 0, thread = 0;
	char *parents = pages(PAGES);

	touch(parents, PAGES);
	for (int i = 0; i < rounds; i++) {
		const struct timespec pause = { .tv_nsec = 150000000 };
		long before = faults_now();
		pthread_t t;

		touch_kept();
		kept += faults_now() - before;
		nanosleep(&pause, NULL);
		before = faults_now();
		touch_few();
		few += faults_now() - before;
		nanosleep(&pause, NULL);
		before = faults_now();
		touch_by_read();
		by_read += faults_now() - before;
		nanosleep(&pause, NULL);
		if (pthread_create(&t, NULL, run_thread, &thread))
			err(1, "pthread_create");
		pthread_join(t, NULL);
		nanosleep(&pause, NULL);
		run_child(parents, child);
		nanosleep(&pause, NULL);
	}
	printf("touch_kept %ld\ntouch_few %ld\ntouch_by_read %ld\ntouch_in_thread "
	       "%ld\ntouch_in_child %ld\n",
	       kept, few, by_read, thread, *child);
	return 0;
}
