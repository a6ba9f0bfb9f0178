/* A program with a single thread that allocates all the time (allocates.h), from an allocator that is part of it: malloc jumps to the function that
 * does the work and so has no frame. That holds a lock, and waits with it now and then: a second call of the same thread would wait for ever. */
// build: -O2 -g -rdynamic -fno-builtin
#include "allocates.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>

enum { CLASSES = 24, HEAD = 16, ARENA = 64 << 20, OFTEN = 64, BLOCKS = 64 };

struct head { /* before each block */
	size_t class;
	struct head *next;
};
_Static_assert(sizeof(struct head) == HEAD, "blocks are aligned");

static struct head *unused[CLASSES];
static char *arena, *arena_end;
static int locked;
static unsigned turns;

static void nap(long ns)
{
	struct timespec t = { 0, ns };

	nanosleep(&t, NULL);
}

static void lock(void)
{
	while (__atomic_exchange_n(&locked, 1, __ATOMIC_ACQUIRE))
		nap(100000);
	if (++turns % OFTEN == 0)
		nap(1000000);
}

static void unlock(void)
{
	__atomic_store_n(&locked, 0, __ATOMIC_RELEASE);
}

static struct head *carve(size_t class)
{
	size_t size = HEAD + ((size_t)16 << class);

	if (!arena || (size_t)(arena_end - arena) < size) {
		void *got = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				 -1, 0);
		if (got == MAP_FAILED)
			return NULL;
		arena = got;
		arena_end = arena + ARENA;
	}
	struct head *h = (struct head *)arena;
	arena += size;
	h->class = class;
	return h;
}

static __attribute__((noinline)) void *allocate(size_t size)
{
	size_t class = 0;

	while (class < CLASSES && (size_t)16 << class < size)
		class ++;
	if (class >= CLASSES - 2) {
		errno = ENOMEM;
		return NULL;
	}
	lock();
	struct head *h = unused[class];
	if (h)
		unused[class] = h->next;
	else
		h = carve(class);
	unlock();
	return h ? h + 1 : NULL;
}

static __attribute__((noinline)) void release(void *p)
{
	struct head *h = (struct head *)p - 1;

	lock();
	h->next = unused[h->class];
	unused[h->class] = h;
	unlock();
}

/* As from a separate file. */
#define OWN __attribute__((noipa))
OWN void *malloc(size_t size)
{
	return allocate(size);
}

OWN void free(void *p)
{
	if (p)
		release(p);
}

OWN void *calloc(size_t n, size_t size)
{
	size_t all;

	if (__builtin_mul_overflow(n, size, &all)) {
		errno = ENOMEM;
		return NULL;
	}
	void *p = allocate(all);
	return p ? memset(p, 0, all) : NULL;
}

OWN void *realloc(void *p, size_t size)
{
	void *to = allocate(size);

	if (p && to) {
		size_t had = (size_t)16 << ((struct head *)p - 1)->class;
		memcpy(to, p, had < size ? had : size);
		release(p);
	}
	return to;
}

/* The C library needs no more than the alignment of a block. */
OWN void *memalign(size_t align, size_t size)
{
	return align <= HEAD ? allocate(size) : NULL;
}

OWN void *aligned_alloc(size_t align, size_t size)
{
	return memalign(align, size);
}

OWN int posix_memalign(void **out, size_t align, size_t size)
{
	*out = memalign(align, size);
	return *out ? 0 : ENOMEM;
}

/* --- the program ------------------------------------------------------------------------------ */

static struct block {
	unsigned char *p;
	size_t size;
} blocks[BLOCKS];

static void work(void)
{
	static unsigned at = 1;

	for (int i = 0; i < 200; i++) {
		struct block *b = &blocks[(at = at * 1103515245 + 12345) >> 16 & (BLOCKS - 1)];
		unsigned char mark = (unsigned char)(b - blocks);

		if (b->p && (b->p[0] != mark || b->p[b->size - 1] != mark))
			allocates_wrong = "a block of malloc has changed";
		free(b->p);
		b->size = 1 + (at >> 8 & 2047);
		b->p = malloc(b->size);
		b->p[0] = b->p[b->size - 1] = mark;
		for (volatile int k = 0; k < 10000; k++)
			;
	}
}

int main(void)
{
	return allocates_run(work);
}
