/* twice LIBRARY CPU_SECONDS: maps the code of a library (plain.c) a second time, from the middle of a page range on and cut in two by
 * mprotect, and works half of the time in the mapping that the dynamic linker made, in first(), half in the other, in second(). */
// build: -O2 -fomit-frame-pointer
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

typedef int plain_fn(int (*goes_on)(void));

static double until;
static int goes_on(void)
{
	return (double)clock() < until * CLOCKS_PER_SEC;
}

__attribute__((noinline)) int first(plain_fn *fn)
{
	return fn(goes_on) + 1;
}
__attribute__((noinline)) int second(plain_fn *fn)
{
	return fn(goes_on) + 2;
}

/* Another mapping of the page that fn is in and of the next, which is of another protection. */
static plain_fn *again(const char *path, plain_fn *fn)
{
	unsigned long start, end, offset, at = (uintptr_t)fn;
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096];
	int fd = open(path, O_RDONLY);

	while (maps && fgets(line, sizeof line, maps))
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 && at >= start &&
		    at < end) {
			unsigned long page = (at - start) & ~4095ul;
			char *p = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
				       (off_t)(offset + page));

			mprotect(p + 4096, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
			return (plain_fn *)(p + (at & 4095));
		}
	return NULL;
}

int main(int argc, char **argv)
{
	void *lib = argc > 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	plain_fn *fn = lib ? (plain_fn *)dlsym(lib, "plain_outer") : NULL;
	plain_fn *other = fn ? again(argv[1], fn) : NULL;
	double seconds = argc > 2 ? strtod(argv[2], NULL) : 0;

	if (!other)
		return 1;
	until = seconds / 2;
	first(fn);
	until = seconds;
	return second(other) == 0;
}
