/* A ring in memory, as the library of a GPU program makes it. */
#ifndef CRESSET_TESTS_UNIT_MADE_RING_H
#define CRESSET_TESTS_UNIT_MADE_RING_H

#include "unit.h"

#include "base/clock.h"
#include "base/err.h"
#include "gpu/ring/ring_read.h"
#include "gpu/ring/ring_write.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

struct made {
	int fd;
	char *ring;
	size_t size;
	struct ring_names names;
};
static const struct ring_shape small = { .buffer_lanes = 2,
					 .buffer_size = 8192,
					 .call_lanes = 4,
					 .call_size = 4096,
					 .names_size = 4096 };

static inline struct made make(const struct ring_shape *shape)
{
	struct made m = { .fd = memfd_create(RING_NAME, MFD_ALLOW_SEALING | MFD_CLOEXEC),
			  .size = ring_size(shape) };

	ck_assert_int_ge(m.fd, 0);
	ck_assert_int_eq(ftruncate(m.fd, m.size), 0);
	ck_assert_int_eq(fcntl(m.fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	m.ring = mmap(NULL, m.size, PROT_READ | PROT_WRITE, MAP_SHARED, m.fd, 0);
	ck_assert_ptr_ne(m.ring, MAP_FAILED);
	ring_lay_out(m.ring, shape, getpid());
	m.names = (struct ring_names){ .ring = m.ring, .n_slots = 1024 };
	m.names.slots = calloc(m.names.n_slots, sizeof *m.names.slots);
	((struct ring_control *)m.ring)->magic = RING_MAGIC;
	return m;
}
static inline void unmake(struct made *m)
{
	munmap(m->ring, m->size);
	close(m->fd);
	free(m->names.slots);
}
/* Freed at the end of its test. */
#define MADE __attribute__((cleanup(unmake))) struct made

static inline struct ring_reader *reader(const struct made *m)
{
	struct ring_reader *r = NULL;
	struct err err = { 0 };

	ck_assert_msg(ring_open_fd(m->fd, getpid(), clock_mono_ns(), &r, &err) == 0, "%s",
		      err.text);
	return r;
}

#endif
