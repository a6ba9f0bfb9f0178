/* The rows of sampled blocks: threads add and remove them without a lock. */
#include "mem/inject/library.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef MFD_ALLOW_SEALING
#define MFD_ALLOW_SEALING 2U
#define MFD_CLOEXEC       1U
#endif
#ifndef F_ADD_SEALS
#define F_ADD_SEALS   1033
#define F_SEAL_SEAL   1
#define F_SEAL_SHRINK 2
#define F_SEAL_GROW   4
#endif
#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

enum { PAGE = 4096, COUNTER_MAX = 255 };

static uint8_t empty_filter[LIVE_FILTER]; /* before there is any */
struct mem_library mem_library = { .filter = empty_filter, .mean = LIVE_MEAN_BYTES };

/* --- memory ----------------------------------------------------------------------------------- */

/* The agent finds the memory by its mapping: no descriptor stays open. */
static void *map_live(void *at)
{
	int fd = syscall(SYS_memfd_create, LIVE_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *p = MAP_FAILED;

	if (fd < 0)
		return NULL;
	if (ftruncate(fd, LIVE_SIZE) == 0 &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		p = mmap(at, LIVE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | (at ? MAP_FIXED : 0),
			 fd, 0);
	close(fd);
	return p == MAP_FAILED ? NULL : p;
}

bool table_make(void)
{
	uint32_t *owner =
		mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (owner == MAP_FAILED || madvise(owner, PAGE, MADV_WIPEONFORK) < 0)
		return false;
	char *live = map_live(NULL);
	if (!live)
		return false;
	*owner = MEM_OURS;
	mem_library.owner = owner;
	mem_library.live = (struct live_control *)live;
	mem_library.rows = (struct live_row *)(live + LIVE_ROWS_AT);
	__atomic_store_n(&mem_library.filter, (uint8_t *)live + LIVE_FILTER_AT, __ATOMIC_RELEASE);
	return true;
}

void table_clear(void)
{
	memset(mem_library.filter, 0, LIVE_FILTER);
	for (size_t i = 0; i < LIVE_ROWS; i++)
		if (mem_library.rows[i].pointer)
			mem_library.rows[i] = (struct live_row){ 0 };
}

void table_release(void)
{
	char *live = (char *)mem_library.live;

	if (madvise(live + LIVE_ROWS_AT, LIVE_SIZE - LIVE_ROWS_AT, MADV_REMOVE) < 0)
		table_clear();
}

/* --- a child of fork -------------------------------------------------------------------------- */

/* Rows that the parent has added since are not the child's. */
static bool copy_rows(char *from)
{
	char *to = map_live(NULL);

	if (!to)
		return false;
	memcpy(to, from, LIVE_SIZE);
	struct live_row *rows = (struct live_row *)(to + LIVE_ROWS_AT);
	for (size_t i = 0; i < LIVE_ROWS; i++)
		if (rows[i].pointer > LIVE_ROW_GONE && rows[i].number > mem_library.last_number)
			rows[i].pointer = LIVE_ROW_GONE;
	struct live_control *c = (struct live_control *)to;
	c->pid = getpid();
	c->state = LIVE_CHILD;
	c->samples = c->inherited = mem_library.last_number;
	c->removed = c->dropped = 0;
	return mremap(to, LIVE_SIZE, LIVE_SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, from) != MAP_FAILED;
}

static bool become_owner(void)
{
	uint32_t child = MEM_CHILD;
	int saved = errno;

	if (!__atomic_compare_exchange_n(mem_library.owner, &child, MEM_COPYING, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return false;
	bool is = copy_rows((char *)mem_library.live);
	__atomic_store_n(mem_library.owner, is ? MEM_OURS : MEM_NONE, __ATOMIC_RELEASE);
	errno = saved;
	return is;
}

bool table_is_ours(void)
{
	uint32_t owner =
		mem_library.owner ? __atomic_load_n(mem_library.owner, __ATOMIC_ACQUIRE) : MEM_NONE;

	return owner == MEM_OURS || (owner == MEM_CHILD && become_owner());
}

/* --- counters --------------------------------------------------------------------------------- */

/* A counter that is full stays full: it only costs looks. */
static void count(uint64_t pointer, int by)
{
	uint8_t *at = &mem_library.filter[live_filter_of(pointer)];
	uint8_t now = __atomic_load_n(at, __ATOMIC_RELAXED);

	while (now < COUNTER_MAX && (now || by > 0) &&
	       !__atomic_compare_exchange_n(at, &now, (uint8_t)(now + by), false, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
}

/* --- wishes ----------------------------------------------------------------------------------- */

bool table_is_wanted(void)
{
	const struct live_control *c = mem_library.live;
	uint64_t beat = __atomic_load_n(&c->heartbeat_ns, __ATOMIC_RELAXED);
	struct timespec t;

	if (__atomic_load_n(&c->want, __ATOMIC_RELAXED) != 1 ||
	    __atomic_load_n(&c->by_hand, __ATOMIC_RELAXED) == LIVE_DETACHED)
		return false;
	clock_gettime(CLOCK_MONOTONIC, &t);
	uint64_t now = t.tv_sec * 1000000000ull + t.tv_nsec;
	return now < beat || now - beat < LIVE_AGENT_GONE_MS * 1000000ull;
}

/* Other threads may add and remove rows at the same time. */
static void remove_all(void)
{
	for (size_t i = 0; i < LIVE_ROWS; i++) {
		struct live_row *r = &mem_library.rows[i];
		uint64_t pointer = __atomic_load_n(&r->pointer, __ATOMIC_ACQUIRE), now = pointer;

		if (pointer > LIVE_ROW_TAKEN &&
		    __atomic_compare_exchange_n(&r->pointer, &now, LIVE_ROW_GONE, false,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			count(pointer, -1);
	}
}

/* A child has no thread that parks it, so it looks at each sample. Frees are always seen, but rows
 * of samples before a pause are of another recording. */
static bool takes_samples(void)
{
	if (__atomic_load_n(&mem_library.live->state, __ATOMIC_RELAXED) != LIVE_CHILD)
		return true;
	if (!table_is_wanted()) {
		__atomic_store_n(&mem_library.has_skipped, 1, __ATOMIC_RELAXED);
		return false;
	}
	if (__atomic_load_n(&mem_library.has_skipped, __ATOMIC_RELAXED) &&
	    __atomic_exchange_n(&mem_library.has_skipped, 0, __ATOMIC_ACQ_REL))
		remove_all();
	return true;
}

/* --- rows ------------------------------------------------------------------------------------- */

static struct live_row *row_at(uint64_t pointer, uint32_t i)
{
	return &mem_library.rows[(live_row_of(pointer) + i) & (LIVE_ROWS - 1)];
}

/* Finds a row that is not used, and marks it. A row of the same address is stale: the free of
 * its block was not seen. */
static struct live_row *take_row(uint64_t pointer)
{
	for (uint32_t i = 0; i < LIVE_PROBES; i++) {
		struct live_row *r = row_at(pointer, i);
		uint64_t now = __atomic_load_n(&r->pointer, __ATOMIC_RELAXED);

		if ((now == LIVE_ROW_FREE || now == LIVE_ROW_GONE) &&
		    __atomic_compare_exchange_n(&r->pointer, &now, LIVE_ROW_TAKEN, false,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return r;
	}
	return NULL;
}

/* The agent's program takes the stack here: one instruction that does nothing, and a word that
 * states whether anyone is interested (the note of SystemTap's probes). */
__extension__ uint16_t mem_alloc_semaphore
	__attribute__((visibility("hidden"), section(".probes"), used));

static __attribute__((noinline)) void marker(uint64_t number, uint64_t size, uint64_t told)
{
#ifdef __x86_64__
	__asm__ volatile("990: .byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
			 ".pushsection .note.stapsdt, \"\", \"note\"\n"
			 ".balign 4\n"
			 ".4byte 992f - 991f, 994f - 993f, 3\n"
			 "991: .asciz \"stapsdt\"\n"
			 "992: .balign 4\n"
			 "993: .8byte 990b\n"
			 ".8byte _.stapsdt.base\n"
			 ".8byte mem_alloc_semaphore\n"
			 ".asciz \"cresset\"\n"
			 ".asciz \"alloc\"\n"
			 ".asciz \"8@%0 8@%1 8@%2\"\n"
			 "994: .balign 4\n"
			 ".popsection\n"
			 ".ifndef _.stapsdt.base\n"
			 ".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n"
			 ".weak _.stapsdt.base\n"
			 ".hidden _.stapsdt.base\n"
			 "_.stapsdt.base: .space 1\n"
			 ".size _.stapsdt.base, 1\n"
			 ".popsection\n"
			 ".endif\n"
			 :
			 : "D"(number), "S"(size), "d"(told)
			 : "memory");
#else
	(void)number, (void)size, (void)told;
#endif
}

static uint32_t coarse_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (uint32_t)t.tv_sec;
}

static void put_row(const void *p, size_t size, float weight, uint64_t number)
{
	uint64_t pointer = (uintptr_t)p;

	if (mem_library.filter[live_filter_of(pointer)])
		table_remove(p, NULL);
	struct live_row *r = take_row(pointer);
	if (!r) {
		__atomic_add_fetch(&mem_library.live->dropped, 1, __ATOMIC_RELAXED);
		return;
	}
	r->size = size;
	r->number = number;
	r->weight = weight;
	r->born_s = coarse_s();
	count(pointer, 1);
	__atomic_store_n(&r->pointer, pointer, __ATOMIC_RELEASE);
}

void table_add(const void *p, size_t size, float weight, enum live_function by)
{
	uint64_t told = (uint64_t)((double)weight * LIVE_WEIGHT_1) | (uint64_t)by << LIVE_BY_SHIFT;

	if (!table_is_ours() || !takes_samples())
		return;
	uint64_t number = __atomic_add_fetch(&mem_library.live->samples, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&mem_library.last_number, number, __ATOMIC_RELAXED);
	put_row(p, size, weight, number);
	if (*(volatile uint16_t *)&mem_alloc_semaphore)
		marker(number, size, told);
}

void table_put_back(const void *p, const struct live_row *was)
{
	if (table_is_ours())
		put_row(p, was->size, was->weight, was->number);
}

bool table_remove(const void *p, struct live_row *was)
{
	uint64_t pointer = (uintptr_t)p;

	if (pointer <= LIVE_ROW_TAKEN || !table_is_ours())
		return false;
	for (uint32_t i = 0; i < LIVE_PROBES; i++) {
		struct live_row *r = row_at(pointer, i);
		uint64_t now = __atomic_load_n(&r->pointer, __ATOMIC_ACQUIRE);

		if (now == LIVE_ROW_FREE)
			return false;
		if (now != pointer)
			continue;
		if (was)
			*was = *r;
		if (!__atomic_compare_exchange_n(&r->pointer, &now, LIVE_ROW_GONE, false,
						 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return false;
		count(pointer, -1);
		__atomic_add_fetch(&mem_library.live->removed, 1, __ATOMIC_RELAXED);
		return true;
	}
	return false;
}
