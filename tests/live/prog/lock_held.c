/* lock_held NAME FILE SECONDS [LIBRARY]: calls itself NAME, publishes a process context (OTEP 4719), maps LIBRARY as a program does, prints "ready", and on
 * SIGUSR1 reads FILE, which does not respond, through its own /proc/self/mem: the kernel holds the lock of its mappings for that read. An mmap of another
 * thread then waits for the lock, so later readers wait too. It ends after SECONDS. Started by root it is uid 65534 from then on. */
#include "process_context.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static void nap(long ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

static void *read_self(void *at)
{
	int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	char byte;

	return pread(fd, &byte, 1, (off_t)(uintptr_t)at) == 1 ? at : NULL;
}

static void *map_more(void *unused)
{
	(void)unused;
	nap(50); /* the read is there first */
	return mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void *map_file(const char *path, int prot)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *at = mmap(NULL, 4096, prot, MAP_PRIVATE, fd, 0);

	if (fd < 0 || at == MAP_FAILED) {
		perror(path);
		exit(1);
	}
	return at;
}

int main(int argc, char **argv)
{
	static const char message[100];
	pthread_t reader, writer;
	sigset_t wanted;
	int sig;

	if (argc < 4)
		return 2;
	void *at = map_file(argv[2], PROT_READ);
	if (argc > 4)
		map_file(argv[4], PROT_READ | PROT_EXEC);
	if (geteuid() == 0 && (setgid(65534) || setuid(65534)))
		return 1;
	prctl(PR_SET_DUMPABLE, 1);
	prctl(PR_SET_NAME, argv[1]);
	publish(message, sizeof message, false);
	sigemptyset(&wanted);
	sigaddset(&wanted, SIGUSR1);
	sigprocmask(SIG_BLOCK, &wanted, NULL);
	puts("ready");
	fflush(stdout);
	sigwait(&wanted, &sig);
	alarm(atoi(argv[3]));
	if (pthread_create(&reader, NULL, read_self, at) ||
	    pthread_create(&writer, NULL, map_more, NULL))
		return 1;
	for (;;)
		pause();
}
