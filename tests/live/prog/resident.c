/* resident [exits]: has memory of known sizes, and calls hold_kept again for each line of standard input (or ends after 12 s of CPU time, with `exits`). Prints a line for each function
 * that holds some,
 *
 *     FUNCTION PAGES
 *
 * hold_freed holds none: it unmaps all. hold_twice writes the pages that hold_read has only read. The pages of main's child are its own copies. */
// build: -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls
#include <err.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 10000 };

static char *pages(size_t n)
{
	char *p = mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		err(1, "mmap");
	madvise(p, n * PAGE, MADV_NOHUGEPAGE);
	return p;
}

static void put(volatile char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i * PAGE] = 1;
}

__attribute__((noinline)) char *hold_kept(void)
{
	char *p = pages(2 * PAGES);

	put(p, 2 * PAGES);
	return p;
}

__attribute__((noinline)) void hold_freed(void)
{
	char *p = pages(2 * PAGES);

	put(p, 2 * PAGES);
	munmap(p, (size_t)2 * PAGES * PAGE);
}

__attribute__((noinline)) char *hold_read(void)
{
	volatile char *p = pages(PAGES);

	for (size_t i = 0; i < PAGES; i++)
		(void)p[i * PAGE];
	return (char *)p;
}

__attribute__((noinline)) void hold_twice(char *p)
{
	put(p, PAGES);
}

__attribute__((noinline)) void hold_in_child(char *p)
{
	put(p, PAGES);
}

/* CPU time: on a busy machine the recorder has as much of it in the meantime. */
static void burn(int64_t ns)
{
	struct timespec now;

	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while (now.tv_sec * 1000000000 + now.tv_nsec < ns);
}

int main(int argc, char **argv)
{
	char line[16], *kept = hold_kept();
	int up[2];
	pid_t child;

	hold_freed();
	hold_twice(hold_read());
	if (pipe(up))
		err(1, "pipe");
	child = fork();
	if (child == 0) {
		hold_in_child(kept);
		if (write(up[1], "x", 1) == 1)
			pause();
		_exit(0);
	}
	if (read(up[0], line, 1) != 1)
		err(1, "read");
	printf("hold_kept %d\nhold_freed 0\nhold_read 0\nhold_twice %d\nhold_in_child %d\n",
	       2 * PAGES, PAGES, PAGES);
	fflush(stdout);
	if (argc > 1)
		burn(12000000000);
	while (argc == 1 && fgets(line, sizeof line, stdin))
		hold_kept();
	kill(child, 9);
	waitpid(child, NULL, 0);
	return 0;
}
