/* Programs and files in large numbers, for whoever watches them, until a number or a time is reached.
 *
 *     storm files DIR CPU_MS     maps each file of a directory as code, then uses so much CPU time in storm_burn()
 *     storm mappings N CPU_MS    maps the same page of its file N times, as separate mappings, then the same
 *     storm exec N PROGRAM       runs a program N times, one after the other
 *     storm forks SECONDS        starts processes that start processes, up to the limit of processes, for so long
 *
 * Prints the number of files, mappings or runs; the last one, of processes that could not be started. */
// build: -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

__attribute__((noinline)) uint64_t storm_burn(long ms)
{
	const uint64_t until_ns = cpu_ns() + ms * 1000000ull;
	volatile uint64_t x = 1;

	while (cpu_ns() < until_ns)
		for (int i = 0; i < 100000; i++)
			x = x * 6364136223846793005ull + 1442695040888963407ull;
	return x;
}

static int map_files(const char *dir, const char *ms)
{
	DIR *d = opendir(dir);
	int n = 0;

	for (struct dirent *e; d && (e = readdir(d));) {
		int fd = e->d_name[0] == '.' ? -1 : openat(dirfd(d), e->d_name, O_RDONLY);

		if (fd < 0)
			continue;
		n += mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) != MAP_FAILED;
		close(fd);
	}
	storm_burn(atol(ms));
	return n;
}

/* Side by side, the same page: no two are one mapping. */
static int map_often(const char *times, const char *ms)
{
	size_t page = sysconf(_SC_PAGESIZE), n = strtoul(times, NULL, 10), i;
	int fd = open("/proc/self/exe", O_RDONLY);
	char *at =
		mmap(NULL, n * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (fd < 0 || at == MAP_FAILED)
		return 0;
	for (i = 0; i < n; i++)
		if (mmap(at + i * page, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
			 0) == MAP_FAILED)
			break;
	storm_burn(atol(ms));
	return (int)i;
}

static int run_often(const char *times, const char *program)
{
	char *argv[] = { (char *)program, NULL };
	int n = 0;

	for (long left = atol(times); left > 0; left--) {
		pid_t pid;

		if (posix_spawn(&pid, program, NULL, NULL, argv, environ) == 0)
			n += waitpid(pid, NULL, 0) == pid;
	}
	return n;
}

/* Each child starts others and ends after some rounds; the first process stays until the end. */
static int fork_until(time_t end, int rounds)
{
	int refused = 0;

	for (int i = 0; (!rounds || i < rounds) && time(NULL) < end; i++) {
		pid_t pid = fork();

		refused += pid < 0;
		if (pid == 0) {
			fork_until(end, 20);
			_exit(0);
		}
		storm_burn(1);
	}
	return refused;
}

static int forks(const char *seconds, const char *unused)
{
	(void)unused;
	signal(SIGCHLD, SIG_IGN);
	return fork_until(time(NULL) + atoi(seconds), 0);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(const char *first, const char *second);
	} storms[] = { { "files", map_files },
		       { "mappings", map_often },
		       { "exec", run_often },
		       { "forks", forks } };

	for (size_t i = 0; argc > 2 && i < sizeof storms / sizeof *storms; i++)
		if (!strcmp(argv[1], storms[i].name)) {
			printf("%d\n", storms[i].run(argv[2], argc > 3 ? argv[3] : "0"));
			return 0;
		}
	return 2;
}
