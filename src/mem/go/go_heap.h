/* mem/go/go_heap.h: the profiles that Go's runtime makes of its heap and of mutexes, read from
 * outside. Nothing runs in the process.
 *
 *     runtime.mbuckets   the last bucket; each leads to the one before
 *     bucket             { next, allnext, typ, hash, size, nstk, stack[nstk],
 *                          4 × { allocs, frees, and to Go 1.26 alloc_bytes, free_bytes } }
 *
 * A bucket has the samples of one stack and size. Its first counters, as of the last completed
 * garbage collection, are in Go's own profiles; the others come after them. Buckets
 * are never freed nor moved, and do not change before their counters. runtime.xbuckets is the same
 * for mutexes, with other counters: waits (float64), and their length in cycles (int64).
 *
 * The stack has return addresses, the innermost first, and one for each inlined call as well.
 *
 * Source: the DWARF of programs by Go 1.19, 1.26 and 1.27. */
#ifndef CRESSET_MEM_GO_GO_HEAP_H
#define CRESSET_MEM_GO_GO_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file;
struct elf_layout;
struct err;
struct gopclntab;

enum {
	GO_HEAP_STACK = 1024, /* Go's own limit */
	/* limit: stacks and sizes of a Go program's allocations */
	GO_HEAP_BUCKETS = 1 << 16,
};

/* Addresses as linked; 0: unknown. */
struct go_heap {
	uint64_t buckets, rate;
	uint64_t locks, lock_rate;
	uint64_t text, text_end;
	/* Found in its code, as it has no symbols. Its profile is not switched on: that would write
	 * to an address that only its code confirms. */
	bool is_by_code;
	bool has_sampled_locks; /* counters of mutexes are of sampled waits, not of all */
};

struct go_bucket {
	uint64_t addr, size; /* size: bytes of a block */
	/* Sampled blocks, up to the last completed garbage collection; recent: allocated since
	 * then, or in its course. */
	uint64_t allocs, frees, recent_allocs;
	/* Of mutexes: waits that the stack has ended, and how long they were, in cycles of the
	 * CPU's clock. */
	double waits;
	uint64_t cycles;
	uint32_t n;
	uint64_t stack[GO_HEAP_STACK];
};

struct go_heap_memory {
	/* Returns 0, or negative if not all of it can be read. */
	int (*read)(void *ctx, uint64_t addr, void *out, size_t len);
	void *ctx;
	uint64_t bias; /* of the program: its address, less its address as linked */
};

enum { GO_FINDS_HEAP = 1, GO_FINDS_LOCKS = 2 };
/* Finds these profiles. Returns 0; -ENODATA: not a Go program; -ENOTSUP: none of them can be found,
 * with the reason in err. table: zeroed; it is opened if needed, and the caller closes it. */
int go_heap_find(const struct elf_file *f, const struct elf_layout *layout, uint32_t finds,
		 struct gopclntab *table, struct go_heap *out, struct err *err);

/* go_heap_code.c: sets buckets and rate, for a program of Go that has no symbols. Returns 0 or
 * -ENOTSUP. */
int go_heap_find_by_code(const struct elf_file *f, const struct elf_layout *layout,
			 struct gopclntab *table, struct go_heap *out, struct err *err);

/* Reads the mean distance of samples in bytes; 0: it does not sample. Returns 0, -EFAULT, or
 * -EBADMSG if it is impossible. */
int go_heap_rate(const struct go_heap *h, const struct go_heap_memory *m, uint64_t *out);

/* Passes on every bucket, the last one first, until on_bucket returns false. Whatever is in the
 * memory, the work is bounded; buckets that are impossible, or just written, are left out. Returns
 * 0; -EAGAIN: nothing is counted yet; -EFAULT: it cannot be
 * read; -EBADMSG: Go does not write this; -E2BIG: more buckets. */
int go_heap_read(const struct go_heap *h, const struct go_heap_memory *m,
		 bool (*on_bucket)(void *ctx, const struct go_bucket *b), void *ctx);

/* The same for mutexes: the list runtime.xbuckets, with the stacks that unlocked one. A rate of n
 * means that one wait in n is sampled. The counters are estimates of all waits from Go 1.20 on, and
 * of sampled ones before. Where several goroutines wait, Go 1.19 counts one at a time. */
int go_locks_rate(const struct go_heap *h, const struct go_heap_memory *m, uint64_t *out);
int go_locks_read(const struct go_heap *h, const struct go_heap_memory *m,
		  bool (*on_bucket)(void *ctx, const struct go_bucket *b), void *ctx);

/* --- go_clock.c: the clock of these cycles. */

struct go_clock { /* zeroed: to be set */
	uint64_t cycles, ns;
	double cycle_ns;
};
/* Returns the length of a cycle, by the time since the last call that had enough of it; 0: unknown
 * yet, or on this machine. */
double go_clock_cycle_ns(struct go_clock *c);
/* Whether this machine has it. */
bool go_clock_is_known(void);

/* Removes the addresses of inlined calls from a stack: the address in the function around them
 * names them as well. Addresses and table: as linked. Returns how many remain. */
uint32_t go_heap_physical(struct gopclntab *table, uint64_t *stack, uint32_t n);

/* The blocks that a sampled one of that size stands for, from 1 on. */
double go_heap_weight(uint64_t size, uint64_t rate);

#endif
