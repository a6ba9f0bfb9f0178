/* Device code loaded while stalls are sampled: each image once, by CUPTI's CRC of it, in a memfd
 * that the agent reads. It is copied while it is loaded, which takes longer than the copy and is
 * not a launch. Threads of the program do not wait here. */
#include "gpu/inject/library.h"

#include <string.h>
#include <sys/mman.h>

enum { KEEPERS_MS = 2000 };

bool cubins_open(void)
{
	struct cubins *c = &library.cubins;

	if (!c->kept)
		c->kept = map_private(CUBINS_MAX * sizeof *c->kept);
	if (c->kept && !c->memory) {
		void *memory = map_memfd(CUBINS_NAME, CUBINS_SIZE, NULL, &c->fd);

		c->used = CUBINS_AT;
		__atomic_store_n(&c->memory, memory, __ATOMIC_RELEASE);
	}
	return c->memory;
}

static void tell(const struct cubin_kept *k)
{
	struct ring_module m = {
		.r = { .type = RING_MODULE }, .crc = k->crc, .at = k->at, .size = k->size
	};

	write_here(&m.r, sizeof m);
}

void cubins_announce(void)
{
	const struct cubins *c = &library.cubins;

	for (uint32_t i = 0; i < CUBINS_MAX && i < __atomic_load_n(&c->n, __ATOMIC_ACQUIRE); i++)
		if (__atomic_load_n(&c->kept[i].at, __ATOMIC_ACQUIRE))
			tell(&c->kept[i]);
}

static bool is_kept(uint64_t crc)
{
	const struct cubins *c = &library.cubins;
	uint32_t n = __atomic_load_n(&c->n, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < n && i < CUBINS_MAX; i++)
		if (c->kept[i].crc == crc && __atomic_load_n(&c->kept[i].at, __ATOMIC_ACQUIRE))
			return true;
	return false;
}

/* Reserves space for size bytes. Returns 0 if none exists. */
static uint64_t take_room(size_t size)
{
	uint64_t *used = &library.cubins.used, at = __atomic_load_n(used, __ATOMIC_RELAXED), need;

	do {
		need = (size + 15) & ~(size_t)15;
		if (need < size || need > CUBINS_SIZE || at > CUBINS_SIZE - need)
			return 0;
	} while (!__atomic_compare_exchange_n(used, &at, at + need, true, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	return at;
}

/* Two threads that load the same image at the same time may keep it twice: either copy is right. */
static void keep(struct cubins *c, uint8_t *memory, const void *image, size_t size)
{
	struct cupti_cubin_crc crc = { .size = sizeof crc, .cubin_size = size, .cubin = image };

	if (library.cupti.GetCubinCrc(&crc) || is_kept(crc.crc))
		return;
	uint32_t i = __atomic_load_n(&c->n, __ATOMIC_RELAXED) < CUBINS_MAX
			     ? __atomic_fetch_add(&c->n, 1, __ATOMIC_ACQ_REL)
			     : CUBINS_MAX;
	uint64_t at = i < CUBINS_MAX ? take_room(size) : 0;

	if (!at) {
		__atomic_fetch_add(&ring_control_or_nowhere()->cubins_lost, 1, __ATOMIC_RELAXED);
		return;
	}
	memcpy(memory + at, image, size);
	c->kept[i].crc = crc.crc;
	c->kept[i].size = size;
	__atomic_store_n(&c->kept[i].at, at, __ATOMIC_RELEASE);
	tell(&c->kept[i]);
}

void cubins_loaded(const void *image, size_t size)
{
	struct cubins *c = &library.cubins;

	if (!image || !size)
		return;
	__atomic_fetch_add(&c->keepers, 1, __ATOMIC_SEQ_CST);
	uint8_t *memory = __atomic_load_n(&c->memory, __ATOMIC_SEQ_CST);

	if (memory)
		keep(c, memory, image, size);
	__atomic_fetch_sub(&c->keepers, 1, __ATOMIC_RELEASE);
}

/* No thread can still start writing. Returns whether the ones that had are done. */
static bool is_left_alone(const struct cubins *c)
{
	struct timespec one = { .tv_nsec = 1000000 };

	for (int ms = 0; __atomic_load_n(&c->keepers, __ATOMIC_SEQ_CST); ms++) {
		if (ms == KEEPERS_MS)
			return false;
		nanosleep(&one, NULL);
	}
	return true;
}

bool cubins_close(void)
{
	struct cubins *c = &library.cubins;
	uint8_t *memory = c->memory;

	if (!memory)
		return true;
	__atomic_store_n(&c->memory, NULL, __ATOMIC_SEQ_CST);
	if (!is_left_alone(c)) {
		__atomic_store_n(&c->memory, memory, __ATOMIC_SEQ_CST);
		return false;
	}
	munmap(memory, CUBINS_SIZE);
	close_memfd(c->fd, CUBINS_NAME);
	madvise(c->kept, CUBINS_MAX * sizeof *c->kept, MADV_DONTNEED);
	c->n = 0;
	return true;
}
