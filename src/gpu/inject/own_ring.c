/* The library's ring: created, released when an agent detaches, created again when one returns.
 *
 * A thread of the program may still be about to write to a released ring. Such writes are harmless:
 * the ring's addresses stay mapped, with empty private memory in place of the shared memory, and
 * lanes without space. CUPTI's threads, which write buffers of records and their names, are waited
 * for; launches, some ten instructions, are given SETTLE_MS. A launch that is delayed for longer
 * than that, and until the next ring exists, corrupts at most the contents of one lane, which the
 * reader counts. */
#include "gpu/inject/library.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WRITERS_MS = 2000, SETTLE_MS = 20 };

static const struct ring_shape shape = {
	.buffer_lanes = RING_BUFFER_LANES,
	.buffer_size = RING_BUFFER_LANE_SIZE,
	.call_lanes = RING_CALL_LANES,
	.call_size = RING_CALL_LANE_SIZE,
	.names_size = RING_NAMES_SIZE,
};

bool own_ring_is_taken(void)
{
	static const char ring[] = "/memfd:" RING_NAME " ", stub[] = "/memfd:" RING_STUB_NAME " ";
	static char text[4096 + sizeof stub]; /* the longer name */
	size_t kept = 0;
	ssize_t n;
	bool found = false;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	while (fd >= 0 && !found && (n = read(fd, text + kept, sizeof text - kept)) > 0) {
		size_t len = kept + n;

		found = memmem(text, len, ring, sizeof ring - 1) ||
			memmem(text, len, stub, sizeof stub - 1);
		kept = len < sizeof stub ? len : sizeof stub - 1;
		memmove(text, text + len - kept, kept);
	}
	if (fd >= 0)
		close(fd);
	return found;
}

/* The descriptor stays open for the agent, which then needs fewer permissions to find the ring. */
struct ring_control *own_ring_make(void)
{
	void *ring = map_memfd(RING_NAME, ring_size(&shape), library.place, &library.ring_fd);

	if (!ring)
		return NULL;
	library.place = ring;
	library.number++;
	ring_lay_out(ring, &shape, getpid());
	return ring;
}

/* --- releasing the ring --- */

static void pause_ms(uint32_t ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

/* No further writer can enter. Returns whether those inside have left. */
static bool is_left_alone(void)
{
	for (uint32_t ms = 0; __atomic_load_n(&library.in_ring, __ATOMIC_SEQ_CST); ms++) {
		if (ms == WRITERS_MS)
			return false;
		pause_ms(1);
	}
	pause_ms(SETTLE_MS);
	return true;
}

static struct ring_lane *lanes_of(void *ring)
{
	return (struct ring_lane *)((char *)ring + RING_LANES_AT);
}

/* The descriptor is closed immediately: an agent finds the stub by its mapping. */
static struct ring_control *make_stub(const struct ring_control *ring)
{
	int fd = -1;
	struct ring_control *stub = map_memfd(RING_STUB_NAME, RING_NAMES_AT, NULL, &fd);

	if (!stub)
		return NULL;
	close(fd);
	memcpy((char *)stub + sizeof stub->magic, (const char *)ring + sizeof ring->magic,
	       RING_NAMES_AT - sizeof stub->magic);
	stub->size = RING_NAMES_AT;
	stub->names_at = RING_NAMES_AT;
	stub->names_size = stub->names_used = 0;
	stub->agent = 0;
	stub->state = RING_DETACHED;
	for (uint32_t i = 0; i < stub->lanes; i++)
		lanes_of(stub)[i].size = 0;
	__atomic_store_n(&stub->magic, RING_STUB_MAGIC, __ATOMIC_RELEASE);
	return stub;
}

/* Replaces shared memory, and clears private memory, as if never used. */
static bool empty_all(void)
{
	void *p = mmap(library.place, ring_size(&shape), PROT_READ | PROT_WRITE,
		       MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return false;
	close_memfd(library.ring_fd, RING_NAME);
	madvise(library.names.slots, NAME_SLOTS * sizeof *library.names.slots, MADV_DONTNEED);
	if (!__atomic_load_n(&library.buffers_used, __ATOMIC_ACQUIRE))
		madvise(library.buffers, (size_t)BUFFERS * BUFFER_SIZE, MADV_DONTNEED);
	return true;
}

/* Sums are since the library was loaded, so they are retained. */
static void carry_over(struct ring_control *to, const struct ring_control *from)
{
	struct ring_lane *new = lanes_of(to), *old = lanes_of((void *)from);
	size_t by_library = offsetof(struct ring_control, state);

	memcpy((char *)to + by_library, (const char *)from + by_library, sizeof *to - by_library);
	memcpy((char *)to + RING_DEVICES_AT, (const char *)from + RING_DEVICES_AT,
	       RING_DEVICES_MAX * sizeof(struct ring_device));
	to->names_used = 8;
	to->generation = to->seen = from->generation;
	for (uint32_t i = 0; i < to->lanes; i++) {
		new[i].dropped = old[i].dropped;
		new[i].calls = old[i].calls;
		new[i].probes = old[i].probes;
		new[i].busy_ns = old[i].busy_ns;
	}
	to->state = library.inert ? RING_INERT : library.muted ? RING_MUTED : RING_PARKED;
}

/* Waits for a request and creates a new ring; if that fails, the agent may request it again. */
static struct ring_control *wait_for_agent(struct ring_control *stub)
{
	struct ring_control *ring = NULL;

	while (!ring) {
		uint32_t bell = __atomic_load_n(&stub->bell, __ATOMIC_ACQUIRE);

		if (__atomic_load_n(&stub->detach, __ATOMIC_ACQUIRE)) {
			syscall(SYS_futex, &stub->bell, FUTEX_WAIT, bell, NULL, NULL, 0);
			continue;
		}
		ring = own_ring_make();
		if (!ring)
			__atomic_store_n(&stub->detach, 1, __ATOMIC_RELEASE);
	}
	return ring;
}

void own_ring_release(void)
{
	struct ring_control *ring = library.ring, *stub = NULL;

	bool is_done = pc_sampling_release() && cubins_close();

	__atomic_store_n(&library.ring, NULL, __ATOMIC_SEQ_CST);
	if (is_done && is_left_alone())
		stub = make_stub(ring);
	if (!stub || !empty_all()) {
		if (stub)
			munmap(stub, RING_NAMES_AT);
		ring->detach = 0;
		__atomic_store_n(&library.ring, ring, __ATOMIC_SEQ_CST);
		return;
	}
	library.stub = stub;
	ring = wait_for_agent(stub);
	carry_over(ring, stub);
	__atomic_store_n(&ring->magic, RING_MAGIC, __ATOMIC_RELEASE);
	__atomic_store_n(&library.ring, ring, __ATOMIC_SEQ_CST);
	library.stub = NULL;
	munmap(stub, RING_NAMES_AT);
}
