/* gpu/inject/library.h: libcresset-cuda.so, the part of the profiler that runs inside a GPU
 * program.
 *
 *     entry.c     loading, fork
 *     helper.c    the library's one thread: sleeps until the agent rings, opens and closes windows
 *     own_ring.c  creates the ring, releases it when the agent detaches, and creates it again
 *     session.c   finds CUPTI, and switches it on and off
 *     calls.c     launches by the program's threads: a record, and for some the probe at which a
 *                 stack is taken
 *     buffers.c   writes CUPTI's records into the ring
 *     pc_sampling.c   stall sampling: in which contexts, and until when
 *     devices.c   identifies the GPUs
 *     cubins.c    the device code loaded in the meantime, for readers of the samples
 *     memory.c    private pages, and memfds
 *     version.c   its version, as a note in the file
 *
 * The library uses none of the program's memory: the ring, its arena and its thread's stack are
 * mapped, and only CUPTI itself calls malloc. While parked, nothing is enabled and the thread
 * sleeps without a timeout. It is never unloaded. The program's threads never wait for it.
 *
 * It needs libc 2.17 or later only, has static TLS, one visible symbol (InitializeInjection), and
 * blocks all signals in its thread. A child of fork unmaps the ring and stays inert. When
 * detached, a memfd of 8 KiB remains, in which the thread sleeps. */
#ifndef CRESSET_GPU_INJECT_LIBRARY_H
#define CRESSET_GPU_INJECT_LIBRARY_H

#include "gpu/inject/cupti_abi.h"
#include "gpu/ring/ring_write.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* One per process. */
struct library {
	void *ring;  /* NULL: not created yet, released, or a child of fork */
	void *place; /* address of the ring: a new one gets the same */
	/* counts the rings created, so that no thread retains a lane of an earlier ring */
	uint32_t number;
	uint32_t in_ring; /* number of buffers being copied into it */
	int ring_fd;
	struct ring_control *stub; /* in place of the ring while that is released */
	uint32_t muted;            /* records are discarded */
	uint32_t window;           /* number of the open window; 0: none */
	struct cupti cupti;
	uint32_t version;
	void *subscriber;
	bool found, registered, inert;
	uint32_t enabled;  /* RING_WANT_* enabled now */
	uint32_t in_cupti; /* a thread is inside CUPTI; see session_enter */
	struct ring_names names;
	uint8_t *buffers;      /* BUFFERS of BUFFER_SIZE */
	uint32_t buffers_used; /* bits */
	uint32_t stalls;       /* sampled in this window */
	uint32_t graphs;       /* the program launches graphs: stalls are no longer sampled */
	struct cubins {
		uint8_t *memory; /* CUBINS_SIZE; NULL: none */
		uint64_t used;
		struct cubin_kept {
			uint64_t crc, at, size; /* at 0: not written yet */
		} * kept;
		uint32_t n;       /* entries in use */
		uint32_t keepers; /* threads that may be writing to memory */
		int fd;
	} cubins;
	struct ring_control nowhere; /* receives writes while there is no ring */
};
extern struct library library __attribute__((visibility("hidden")));

enum { CUBINS_MAX = 1024 }; /* limit: device code images a program retains for the agent */
enum { BUFFERS = 16, BUFFER_SIZE = 256 << 10, NAME_SLOTS = 1 << 15 };

static inline struct ring_control *ring_control(void)
{
	return library.ring;
}
/* For threads of the program, which may call while the ring is released, or in a child of fork. */
static inline struct ring_control *ring_control_or_nowhere(void)
{
	struct ring_control *c = __atomic_load_n(&library.ring, __ATOMIC_ACQUIRE);

	return c ? c : &library.nowhere;
}
static inline uint64_t monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}
uint32_t thread_id(void); /* cached per thread */

/* Returns zeroed pages, NULL if memory is exhausted. */
void *map_private(size_t size);
/* Maps a new memfd of a fixed size, at place or anywhere. Returns NULL, without a descriptor, on
 * failure. */
void *map_memfd(const char *name, size_t size, void *place, int *fd);
/* Closes the memfd if fd still is the one of that name: the program may have closed it and opened
 * another file with its number. */
void close_memfd(int fd, const char *name);

/* The body of the helper's thread. */
void *helper_main(void *unused);

/* Whether another copy of this library got here first. */
bool own_ring_is_taken(void);
/* Creates the ring at its address; the caller stores magic. Returns NULL if there is no memory or
 * descriptor. */
struct ring_control *own_ring_make(void);
/* Between windows: releases the ring's memory and descriptor, and returns when an agent has
 * requested a new ring and it exists. If it cannot be released, the ring stays and detach is 0
 * again. */
void own_ring_release(void);
/* session_open opens a window: returns 0, or the part that failed, with *code. session_flush hands
 * over pending records. session_close closes the window. */
enum ring_part session_open(uint32_t want, uint32_t *code);
void session_flush(bool forced);
void session_close(void);
/* For threads of the program: hands over completed records, unless the helper is inside CUPTI. */
void session_flush_now(bool forced);

/* Starts and stops sampling in the contexts of this window. */
void pc_sampling_open(void);
void pc_sampling_close(void);
/* For the helper, at each tick: starts sampling in contexts that were seen, and hands over
 * samples. */
void pc_sampling_run(void);
/* For threads of the program: a context launched something, was created, or is being destroyed. */
void pc_sampling_seen(void *context, uint32_t id);
void pc_sampling_created(void *context);
void pc_sampling_destroying(void *context);
/* For threads of the program: a graph is launched. PC sampling nearly stops graphs (seen on an
 * H100), so stalls are no longer sampled in this program. */
void pc_sampling_forbid(void);
/* Between windows: stops sampling in all contexts and releases its memory. Returns false if a
 * context cannot be taken; then all of it stays. */
bool pc_sampling_release(void);
/* At the program's exit. */
void pc_sampling_exit(void);

/* For the helper: fills in the GPUs, and which have contexts. Returns false if the driver does not
 * say yet. */
bool devices_tell(void);
/* Something ran on this device. */
void devices_ran(void *ring, uint32_t number);

bool cubins_open(void);
/* Releases the memory and its descriptor, and forgets what was retained. Returns false, with
 * nothing released, if a thread is writing there. */
bool cubins_close(void);
/* Retains a loaded image and writes its record. */
void cubins_loaded(const void *image, size_t size);
/* Writes records of all images kept. */
void cubins_announce(void);

/* Writes a record into this thread's lane. */
void write_here(struct ring_record *record, size_t size);

/* CUPTI's callbacks. */
void on_call(void *user, uint32_t domain, uint32_t cbid, const void *data);
void on_buffer_request(uint8_t **buffer, size_t *size, size_t *max_records);
void on_buffer_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
			 size_t valid);

#endif
