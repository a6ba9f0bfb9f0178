/* crowd processes N | crowd threads N | crowd mappings N: N processes or threads that do nothing, or one process with N mappings of its file
 * that can be run. Says how many there are once they are, then waits to be killed; its processes end with it. */
// build: -O2
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

static int begin_processes(int n)
{
	int i;

	for (i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid < 0)
			break;
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
	}
	return i;
}

static void *rest(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static int begin_threads(int n)
{
	pthread_attr_t attr;
	pthread_t thread;
	int i;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (i = 0; i < n; i++)
		if (pthread_create(&thread, &attr, rest, NULL))
			break;
	return i;
}

/* The same page of the file side by side: no two are one mapping. */
static int map_file(int n)
{
	size_t page = sysconf(_SC_PAGESIZE);
	int fd = open("/proc/self/exe", O_RDONLY), i;
	char *at =
		mmap(NULL, n * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (fd < 0 || at == MAP_FAILED)
		return 0;
	for (i = 0; i < n; i++)
		if (mmap(at + i * page, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
			 0) == MAP_FAILED)
			break;
	return i;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	static const struct {
		const char *name;
		int (*begin)(int n);
	} crowds[] = { { "processes", begin_processes },
		       { "threads", begin_threads },
		       { "mappings", map_file } };
	int n = 0;

	for (size_t i = 0; i < sizeof crowds / sizeof *crowds; i++)
		if (!strcmp(argv[1], crowds[i].name))
			n = crowds[i].begin(atoi(argv[2]));
	printf("%d\n", n);
	fflush(stdout);
	rest(NULL);
}
