/* Allocation functions that print an error and abort when memory is exhausted. */
#include "base/mem.h"

#include <limits.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The only place where library code ends the program: there is no memory left for a better
 * report. */
void mem_exhausted(void)
{
	static const char text[] = "cresset: error: out of memory\n";
	if (write(STDERR_FILENO, text, sizeof text - 1) < 0)
		abort();
	abort();
}

static void *mem_check(void *p)
{
	if (!p)
		mem_exhausted();
	return p;
}

void *xmalloc(size_t size)
{
	return mem_check(malloc(size ? size : 1));
}

void *xcalloc(size_t n, size_t size)
{
	return mem_check(n && size ? calloc(n, size) : calloc(1, 1));
}

void *xrealloc(void *p, size_t size)
{
	return mem_check(realloc(p, size ? size : 1));
}

void *xreallocarray(void *p, size_t n, size_t size)
{
	size_t bytes;
	if (__builtin_mul_overflow(n, size, &bytes))
		mem_exhausted();
	return xrealloc(p, bytes);
}

void *xmemdup(const void *src, size_t size)
{
	return memcpy(xmalloc(size), src, size);
}

char *xstrdup(const char *s)
{
	return mem_check(strdup(s));
}

char *xstrndup(const char *s, size_t n)
{
	return mem_check(strndup(s, n));
}

char *xasprintf(const char *fmt, ...)
{
	char *s = NULL;
	va_list ap;
	va_start(ap, fmt);
	int len = vasprintf(&s, fmt, ap);
	va_end(ap);
	return mem_check(len < 0 ? NULL : s);
}

void mem_give_back(size_t large_bytes)
{
	mallopt(M_MMAP_THRESHOLD, (int)large_bytes);
	mallopt(M_ARENA_MAX, 1);
}

void mem_retain(void)
{
	enum { MAPPED_BYTES = 1 << 20, GROW_BYTES = 1 << 20 };

	mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
	mallopt(M_TOP_PAD, GROW_BYTES);
	mallopt(M_ARENA_MAX, 1);
}

void mem_trim(void)
{
	malloc_trim(0);
}

void mem_discard(void *p, size_t size)
{
	uintptr_t page = sysconf(_SC_PAGESIZE), mask = ~(page - 1);
	uintptr_t from = ((uintptr_t)p + page - 1) & mask, to = ((uintptr_t)p + size) & mask;
	if (to > from)
		madvise((void *)from, to - from, MADV_DONTNEED);
}
