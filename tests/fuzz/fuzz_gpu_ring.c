// tier: test
/* Any bytes as the ring of a GPU program. The first tells whether they stand over its control page and lanes, too
 * (1), or in a ring that is well laid out (0) over the names and what the two lanes hold; then follow the lanes'
 * heads, two bytes each. */
#include "base/err.h"
#include "gpu/ring/ring_look.h"
#include "gpu/ring/ring_write.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct ring_shape shape = { .buffer_lanes = 1,
					 .buffer_size = 4096,
					 .call_lanes = 1,
					 .call_size = 4096,
					 .names_size = 512 };

struct seen {
	struct ring_reader *r;
	size_t n;
};

static void check(void *ctx, const union ring_any *r, const char *name)
{
	static char image[CUBINS_SIZE];
	struct seen *s = ctx;

	if (r->r.type == RING_PAD || r->r.type >= RING_TYPES || r->r.words * 8u > sizeof *r ||
	    strlen(name) > RING_NAME_BYTES || ++s->n > 1 << 22)
		abort();
	if (r->r.type == RING_MODULE && r->module.size < 1 << 16)
		ring_module_copy(s->r, &r->module, image);
}

static void overlay(char *ring, const uint8_t *data, size_t size)
{
	struct ring_control *c = (void *)ring;
	struct ring_lane *lanes = (void *)(ring + RING_LANES_AT);
	size_t room = ring_size(&shape) - RING_NAMES_AT;

	if (*data & 1) {
		size_t n = size - 5 < sizeof *c + 2 * sizeof *lanes ? size - 5
								    : sizeof *c + 2 * sizeof *lanes;
		size_t control = n < sizeof *c ? n : sizeof *c;

		memcpy(ring, data + 5, control);
		memcpy(lanes, data + 5 + control, n - control);
		data += n;
		size -= n;
	}
	memcpy(ring + RING_NAMES_AT, data + 5, size - 5 < room ? size - 5 : room);
}

/* As one that is only looked at, and as what is left of one. */
static void look(int fd, char *ring)
{
	struct ring_control *c = (void *)ring;
	uint64_t magic = c->magic;

	for (int stub = 0; stub < 2; stub++) {
		struct ring_look now = { 0 };
		struct err err;

		if (stub && magic == RING_MAGIC)
			c->magic = RING_STUB_MAGIC;
		if (ring_look_fd(fd, 1, stub, 5000000000ull, &now, &err) == 0 &&
		    (now.detached != stub || strlen(now.now.other) >= sizeof now.now.other ||
		     !ring_state_text(now.now.state)))
			abort();
	}
	c->magic = magic;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char *ring;
	static int fd, cubins;
	struct ring_reader *r;
	struct err err;
	struct seen seen = { 0 };

	if (size < 5)
		return 0;
	if (!ring) {
		fd = memfd_create(RING_NAME, MFD_ALLOW_SEALING | MFD_CLOEXEC);
		cubins = memfd_create(CUBINS_NAME, MFD_ALLOW_SEALING | MFD_CLOEXEC);
		if (ftruncate(fd, ring_size(&shape)) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) ||
		    ftruncate(cubins, CUBINS_SIZE) || fcntl(cubins, F_ADD_SEALS, F_SEAL_SHRINK))
			abort();
		ring = mmap(NULL, ring_size(&shape), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	}
	memset(ring, 0, ring_size(&shape));
	ring_lay_out(ring, &shape, 1);
	((struct ring_control *)ring)->magic = RING_MAGIC;
	overlay(ring, data, size);
	look(fd, ring);
	if (ring_open_fd(fd, 1, 5000000000ull, &r, &err) == 0) {
		struct ring_lane *lanes = (void *)(ring + RING_LANES_AT);
		struct ring_state_now now;

		seen.r = r;
		if (ring_cubins_fd(r, cubins))
			abort();
		for (int i = 0; i < 2; i++)
			lanes[i].head =
				lanes[i].tail + (data[1 + 2 * i] | (data[2 + 2 * i] & 31) << 8);
		while (ring_poll(r, 512, check, &seen))
			;
		ring_now(r, &now);
		if (strlen(now.other) >= sizeof now.other || !ring_state_text(now.state) ||
		    !ring_part_text(now.error_part) || !ring_part_text(now.stall_part))
			abort();
		ring_close(r);
	}
	return 0;
}
