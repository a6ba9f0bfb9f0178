/* A program of known heap. Each of its ten sites allocates blocks of another size, so a row's size shows its site.
 *
 *     mem_sites [LIBRARY]
 *
 * Reads a line at a time, and prints a line for each:
 *
 *     fill N        N blocks at each site, in threads by turns; prints "SIZE:COUNT" of held blocks, for each site
 *     halve         another thread frees every second block, then moves every tenth to twice its size and back
 *     short N       N threads that allocate at site 0 and end
 *     child         a child frees every block, holds 1000 of site 6, and prints that ("child PID SIZE:COUNT …"). It ends at the next line, except at
 *                   "more": then it holds 1000 more, and prints that
 *     open, use, close   loads LIBRARY, calls its function, which allocates 10,000 blocks of 3008 bytes, and closes it
 *     pairs N       N pairs of malloc and free of 64 bytes; prints how many ns of CPU time each took
 *     end */
// build: -O1 -g
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SITES = 10, BLOCKS_MAX = 1 << 20 };

static const size_t sizes[SITES] = { 24, 40, 104, 200, 504, 1000, 4000, 16000, 70000, 600000 };
static struct {
	void **v;
	size_t n;
} held[SITES];
static const char *library;

/* By each function of the family. */
static void *get(int site)
{
	size_t size = sizes[site];
	void *p = NULL;

	switch (site) {
	case 1:
	case 7:
		p = calloc(size / 8, 8);
		break;
	case 2:
		p = realloc(NULL, size);
		break;
	case 3:
		if (posix_memalign(&p, 64, size))
			abort();
		break;
	case 4:
		p = aligned_alloc(8, size);
		break;
	case 5:
		p = realloc(malloc(size / 2), size);
		break;
	default:
		p = malloc(size);
	}
	if (!p)
		abort();
	memset(p, site + 1, 8);
	return p;
}

static size_t wanted;
static void *fill_site(void *arg)
{
	int site = (int)(intptr_t)arg;
	/* The large ones in the same number of bytes as the others have at most. */
	size_t n = wanted * sizes[site] > 64 << 20 ? (64 << 20) / sizes[site] : wanted;

	for (size_t i = 0; i < n && held[site].n < BLOCKS_MAX; i++)
		held[site].v[held[site].n++] = get(site);
	return NULL;
}

static void in_thread(void *(*fn)(void *), intptr_t arg)
{
	pthread_t t;

	if (pthread_create(&t, NULL, fn, (void *)arg))
		abort();
	pthread_join(t, NULL);
}

static void tell(void)
{
	for (int s = 0; s < SITES; s++)
		printf("%zu:%zu ", sizes[s], held[s].n);
	puts("");
}

static void *halve_all(void *arg)
{
	for (int s = 0; s < SITES; s++) {
		size_t to = 0;
		for (size_t i = 0; i < held[s].n; i++)
			if (i % 2)
				free(held[s].v[i]);
			else
				held[s].v[to++] = held[s].v[i];
		held[s].n = to;
		for (size_t i = 0; i < held[s].n; i += 10)
			held[s].v[i] = realloc(realloc(held[s].v[i], sizes[s] * 2), sizes[s]);
	}
	return arg;
}

static void *short_one(void *arg)
{
	held[0].v[held[0].n++] = get(0);
	return arg;
}

static void child_frees(void)
{
	for (int s = 0; s < SITES; s++) {
		for (size_t i = 0; i < held[s].n; i++)
			free(held[s].v[i]);
		held[s].n = 0;
	}
}

static void child_holds(size_t n)
{
	while (held[6].n < n)
		held[6].v[held[6].n++] = get(6);
	printf("child %d ", getpid());
	tell();
	fflush(stdout);
}

static void child(char *line, size_t size)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		child_frees();
		child_holds(1000);
		while (fgets(line, (int)size, stdin)) {
			if (strncmp(line, "more", 4))
				_exit(0);
			child_holds(held[6].n + 1000);
		}
		_exit(1);
	}
	int status;
	waitpid(pid, &status, 0);
}

static void *handle;
static void open_library(void)
{
	handle = dlopen(library, RTLD_NOW);
	if (!handle)
		puts(dlerror());
}

static void use_library(void)
{
	void (*use)(void) = (void (*)(void))dlsym(handle, "mem_late_use");

	use();
	puts("used");
}

static void pairs(long n)
{
	struct timespec from, to;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	for (long i = 0; i < n; i++) {
		void *volatile p = malloc(64);
		free(p);
	}
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
	printf("%.3f\n", ((to.tv_sec - from.tv_sec) * 1e9 + (to.tv_nsec - from.tv_nsec)) / n);
}

static void answer(char *line, size_t size)
{
	char *arg = strchr(line, ' ');
	long n = arg ? atol(arg) : 0;

	if (strncmp(line, "fill", 4) == 0) {
		wanted = n;
		for (int s = 0; s < SITES; s++)
			in_thread(fill_site, s);
		tell();
	} else if (strncmp(line, "halve", 5) == 0) {
		in_thread(halve_all, 0);
		tell();
	} else if (strncmp(line, "short", 5) == 0) {
		for (long i = 0; i < n; i++)
			in_thread(short_one, 0);
		tell();
	} else if (strncmp(line, "child", 5) == 0) {
		child(line, size);
	} else if (strncmp(line, "open", 4) == 0) {
		open_library();
		puts("open");
	} else if (strncmp(line, "use", 3) == 0) {
		use_library();
	} else if (strncmp(line, "close", 5) == 0) {
		dlclose(handle);
		puts("closed");
	} else if (strncmp(line, "pairs", 5) == 0) {
		pairs(n);
	}
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char line[256];

	library = argc > 1 ? argv[1] : "";
	for (int s = 0; s < SITES; s++)
		held[s].v = malloc(BLOCKS_MAX * sizeof(void *));
	setvbuf(stdout, malloc(4096), _IOFBF, 4096);
	setvbuf(stdin, NULL, _IONBF, 0); /* a child reads no more than its line */
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin) && strncmp(line, "end", 3))
		answer(line, sizeof line);
	return 0;
}
