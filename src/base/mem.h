/* base/mem.h: small allocations of our own. They abort the program when memory is exhausted. Sizes
 * from input must be limited by a named limit first. */
#ifndef CRESSET_BASE_MEM_H
#define CRESSET_BASE_MEM_H

#include <stddef.h>

void *xmalloc(size_t size);
void *xcalloc(size_t n, size_t size);
void *xrealloc(void *p, size_t size);

/* Also aborts if n * size overflows. */
void *xreallocarray(void *p, size_t n, size_t size);

void *xmemdup(const void *src, size_t size);
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t n);
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* For a long-running process: maps blocks of at least large_bytes separately, as in the heap any
 * small allocation after them would keep them in memory, and makes threads share one heap.
 * Measured with unwind tables of a whole machine: Pss 3.1 MB instead of 13.4. But each such block
 * costs page faults again. Call before the first thread. */
void mem_give_back(size_t large_bytes);
/* Also returns free memory in the heap. Walks the whole heap, so call it rarely. */
void mem_trim(void);

/* For a command: its heap shrinks only by mem_trim, so memory that is used again costs no page
 * faults again, and it stays at its largest size. Threads share one heap. Call before the first
 * thread. */
void mem_retain(void);

/* Gives the whole pages among these bytes back to the kernel: their contents are lost, and the
 * memory is still the caller's. For large buffers that are used up from their start. */
void mem_discard(void *p, size_t size);

/* Called by all of the above when memory is exhausted: prints one line to standard error and
 * aborts. */
_Noreturn void mem_exhausted(void);

#endif
