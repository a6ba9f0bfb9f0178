/* A program of known heap: ten functions allocate, each by another function of the family and from several threads. Half of the blocks are freed, by a thread that
 * did not allocate them; short threads, a child and a library that is loaded late allocate as well. At its end it prints what each function has
 * allocated, and what of that is in use:
 *
 *     heap_sites LIBRARY [PAUSE_MS]        FUNCTION BYTES OBJECTS BYTES_IN_USE OBJECTS_IN_USE */
// build: -O1 -g -fno-optimize-sibling-calls
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SITES = 10, THREADS = 2, PASSES = 4, BYTES = 48 << 20, BLOCKS = 1 << 22 };

struct site {
	const char *name;
	void *(*get)(void);
	size_t size;
	void **held;
	size_t n;
	uint64_t objects, objects_freed;
};

#define SITE(name, size, call) \
	static __attribute__((noinline, noclone)) void *name(void) \
	{ \
		void *p = NULL; \
		call; \
		if (!p) \
			abort(); \
		memset(p, 1, 8); \
		return p; \
	}
SITE(by_malloc, 48, p = malloc(48))
SITE(by_calloc, 120, p = calloc(15, 8))
SITE(by_realloc, 304, p = realloc(NULL, 304))
SITE(by_memalign, 1000, if (posix_memalign(&p, 64, 1000)) abort())
SITE(by_aligned, 2048, p = aligned_alloc(32, 2048))
SITE(by_array, 5000, p = reallocarray(NULL, 50, 100))
SITE(large, 20000, p = malloc(20000))
SITE(larger, 100000, p = malloc(100000))
SITE(near_mean, 400000, p = malloc(400000))
SITE(beyond_mean, 1 << 20, p = calloc(1, 1 << 20))

static struct site sites[SITES] = {
	{ "by_malloc", by_malloc, 48 },     { "by_calloc", by_calloc, 120 },
	{ "by_realloc", by_realloc, 304 },  { "by_memalign", by_memalign, 1000 },
	{ "by_aligned", by_aligned, 2048 }, { "by_array", by_array, 5000 },
	{ "large", large, 20000 },          { "larger", larger, 100000 },
	{ "near_mean", near_mean, 400000 }, { "beyond_mean", beyond_mean, 1 << 20 },
};

static void *fill(void *of)
{
	struct site *s = of;
	size_t n = BYTES / THREADS / PASSES / s->size;

	for (size_t i = 0; i < n; i++)
		s->held[s->n++] = s->get();
	s->objects += n;
	return NULL;
}

static void *free_half(void *of)
{
	struct site *s = of;
	size_t kept = 0;

	for (size_t i = 0; i < s->n; i++)
		if (i % 2)
			free(s->held[i]);
		else
			s->held[kept++] = s->held[i];
	s->objects_freed += s->n - kept;
	s->n = kept;
	return NULL;
}

static void in_thread(void *(*fn)(void *), void *arg)
{
	pthread_t t;

	if (pthread_create(&t, NULL, fn, arg))
		abort();
	pthread_join(t, NULL);
}

/* A child frees the blocks of its parent, only for itself, and ends. */
static void child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		for (int s = 0; s < SITES; s++)
			for (size_t i = 0; i < sites[s].n; i++)
				free(sites[s].held[i]);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void say(const char *name, uint64_t size, uint64_t objects, uint64_t in_use)
{
	printf("%s %llu %llu %llu %llu\n", name, (unsigned long long)(size * objects),
	       (unsigned long long)objects, (unsigned long long)(size * in_use),
	       (unsigned long long)in_use);
}

/* Allocates until the recorder knows the program's code: until then it cannot walk stacks of so many samples. */
static __attribute__((noinline)) void warms(unsigned pause_ms)
{
	enum { TIMES = 10 };

	for (int i = 0; i < TIMES; i++) {
		void *volatile p = malloc(2 << 20);

		free(p);
		usleep(300 / TIMES * pause_ms);
	}
}

static void *warm(void *pause_ms)
{
	warms(*(unsigned *)pause_ms);
	return NULL;
}

int main(int argc, char **argv)
{
	void *library;
	void (*late)(void);
	unsigned pause_ms = argc > 2 ? (unsigned)atoi(argv[2]) : 1;

	for (int s = 0; s < SITES; s++)
		sites[s].held = calloc(BLOCKS, sizeof(void *));
	in_thread(warm, &pause_ms);
	for (int pass = 0; pass < PASSES; pass++) {
		for (int s = 0; s < SITES; s++)
			for (int t = 0; t < THREADS; t++)
				in_thread(fill, &sites[s]);
		for (int s = 0; s < SITES; s++)
			in_thread(free_half, &sites[s]);
	}
	child();
	library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	usleep(300000 + 300 * pause_ms); /* its slots are patched within 50 ms */
	late = library ? (void (*)(void))dlsym(library, "mem_late_use") : NULL;
	if (late)
		late();
	for (int s = 0; s < SITES; s++)
		say(sites[s].name, sites[s].size, sites[s].objects,
		    sites[s].objects - sites[s].objects_freed);
	if (late)
		say("mem_late_use", 3008, 10000, 10000);
	fflush(stdout);
	usleep(1000 * pause_ms);
	return 0;
}
