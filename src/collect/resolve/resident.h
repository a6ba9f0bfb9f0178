/* collect/resolve/resident.h: pages of processes that were chosen at their faults
 * (bpf/fault_event.h), each with who wrote to it first since it was last without memory. The pages
 * that are in memory when a process is read stand for all others: one page in 2^bits is chosen.
 *
 * With more than resident.max pages one more bit of the hash must be 0: half of them are dropped,
 * and the kernel chooses half as many from then on. With few pages it chooses more again. Each
 * page has its own bits, from its last fault or, if they grew since, the table's: so sums stay
 * unbiased. */
#ifndef CRESSET_COLLECT_RESOLVE_RESIDENT_H
#define CRESSET_COLLECT_RESOLVE_RESIDENT_H

#include "base/hash.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	/* limit: chosen pages; beyond it half of them are dropped */
	RESIDENT_MAX_PAGES = 1 << 16,
	/* limit: chosen pages of up, agent */
	RESIDENT_ALWAYS_PAGES = 1 << 12,
};

struct resident_page {
	uint64_t address; /* of the fault */
	uint64_t life;    /* of the process: begun_ns of struct process */
	uint32_t pid;
	uint32_t origin; /* who touched it (collect/resolve/gpu_origins.h); 0: to be dropped */
	uint32_t bits;   /* it stands for 2^bits pages, or regions */
	bool is_region;  /* it stands for its region, if that is a huge page */
};
struct resident { /* zeroed = empty */
	struct map index;
	VEC(struct resident_page) all;
	uint32_t least_bits, bits;
	uint32_t max; /* 0: RESIDENT_MAX_PAGES */
};

/* Adds the page, or changes who touched it. page->bits: the kernel's at the fault. */
void resident_put(struct resident *r, const struct resident_page *page);
/* Changes bits: more with too many pages, one less with less than a quarter. Drops pages without
 * origin. Returns whether bits has changed. */
bool resident_fit(struct resident *r);
bool resident_is_full(const struct resident *r);
/* Drops pages without origin, and sorts the others by process and address. */
void resident_sort(struct resident *r);
void resident_done(struct resident *r);

#endif
