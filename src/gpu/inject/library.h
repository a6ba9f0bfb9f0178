/* gpu/inject/library.h: libcresset-cuda.so, the part of the profiler that runs inside a GPU program.
 *
 *     entry.c     being loaded, fork
 *     helper.c    the library's one thread: sleeps until the agent rings, opens and closes windows
 *     own_ring.c  the ring made, given back when the agent detaches, and made anew
 *     session.c   CUPTI switched on and off
 *     locate.c    which CUPTI
 *     calls.c     the program's threads at a launch: a record, now and then the probe that a stack is taken at
 *     buffers.c   CUPTI's records, into the ring
 *     pc_sampling.c   where kernels stall: in which contexts, and until when
 *     pc_switch.c     … of one context, switched on and off
 *     devices.c   which GPU is which
 *     cubins.c    the device code that is loaded meanwhile, for who reads the samples
 *
 * It takes nothing of the program's memory: the ring and its arena are mapped, its thread's stack is too, nothing
 * calls malloc but CUPTI itself. Parked, nothing is enabled and the thread sleeps without a timeout. It is never
 * unloaded. The program's threads never wait for it. */
#ifndef CRESSET_GPU_INJECT_LIBRARY_H
#define CRESSET_GPU_INJECT_LIBRARY_H

#include "gpu/inject/cupti_abi.h"
#include "gpu/ring_write.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* There is one of them for each process. */
struct library {
	void *ring;  /* NULL: not there yet, given back, or a child of fork */
	void *place; /* of the ring: a new one comes to the same */
	uint32_t
		number; /* of rings there have been, so that nobody keeps a lane of the one before */
	uint32_t in_ring; /* buffers that are being read into it */
	int ring_fd;
	struct ring_control *stub; /* in its place while it is given back */
	uint32_t muted;            /* records are thrown away */
	uint32_t window;           /* number of the window that is open; 0: none */
	struct cupti cupti;
	uint32_t version;
	void *subscriber;
	bool found, registered, inert;
	uint32_t enabled;  /* RING_WANT_* in force */
	uint32_t in_cupti; /* somebody is inside; see session_enter */
	struct ring_names names;
	uint8_t *buffers;      /* BUFFERS of BUFFER_SIZE */
	uint32_t buffers_used; /* bits */
	uint32_t stalls;       /* they are sampled in this window */
	struct cubins {
		uint8_t *memory; /* CUBINS_SIZE; NULL: there is none */
		uint64_t used;
		struct cubin_kept {
			uint64_t crc, at, size; /* at 0: not there yet */
		} * kept;
		uint32_t n;       /* taken */
		uint32_t keepers; /* threads that may be writing there */
		int fd;
	} cubins;
	struct ring_control nowhere; /* for what comes while there is no ring */
};
extern struct library library __attribute__((visibility("hidden")));

enum { CUBINS_MAX = 1024 };
enum { BUFFERS = 16, BUFFER_SIZE = 256 << 10, NAME_SLOTS = 1 << 15 };

static inline struct ring_control *ring_control(void)
{
	return library.ring;
}
/* For threads of the program, which may come while the ring is given back, and in a child of fork. */
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
uint32_t thread_id(void); /* asked once for each thread */
void *map_private(size_t size);

/* The body of the helper's thread. */
void *helper_main(void *unused);

/* Whether another copy of this library got here first. */
bool own_ring_is_taken(void);
/* The ring, at its place; magic is left to be stored. NULL: no memory or descriptor for it. */
struct ring_control *own_ring_make(void);
/* Gives the ring's memory and descriptor back, between windows, and returns when an agent has asked for a new one, and
 * it is there. When that cannot be done the ring stays, and detach is 0 again. */
void own_ring_leave(void);
/* Of that name: the program may have closed it, and have another one of that number. */
void close_memfd(int fd, const char *name);

/* Looks for CUPTI and its functions. 0, or what is missing. */
enum ring_part locate_cupti(struct cupti *out, uint32_t *version);

/* Opens a window: 0, or the part that failed with *code. Closes it; flush hands over what has not been. */
enum ring_part session_open(uint32_t want, uint32_t *code);
void session_flush(bool forced);
void session_close(void);
/* For threads of the program: hands over what is complete, but not while the helper is inside CUPTI. */
void session_flush_now(bool forced);

/* Samples in the contexts of this window, from here on or no more. */
void pc_sampling_open(void);
void pc_sampling_close(void);
/* The helper's, at each tick: begins with contexts that were seen, hands over what was sampled. */
void pc_sampling_run(void);
/* For threads of the program: a context that launches; one that is made, or goes. */
void pc_sampling_seen(void *context, uint32_t id);
void pc_sampling_created(void *context);
void pc_sampling_going(void *context);
/* Between windows: no context is sampled any more, and its memory is given back. False: one cannot be had, and it all stays. */
bool pc_sampling_leave(void);
/* The program ends. */
void pc_sampling_exit(void);

/* The helper's: says which GPU is which, and where there are contexts. False: the driver does not say yet. */
bool devices_tell(void);
/* Something ran there. */
void devices_ran(void *ring, uint32_t number);

bool cubins_open(void);
/* Gives the memory and its descriptor back, and forgets what was kept. False: somebody is writing there, and it stays. */
bool cubins_close(void);
/* An image that was loaded: kept, and told of. */
void cubins_loaded(const void *image, size_t size);
/* Tells of all that are kept. */
void cubins_announce(void);

/* Writes into a lane of this thread. */
void write_here(struct ring_record *record, size_t size);

/* CUPTI's callbacks. */
void on_call(void *user, uint32_t domain, uint32_t cbid, const void *data);
void on_buffer_request(uint8_t **buffer, size_t *size, size_t *max_records);
void on_buffer_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
			 size_t valid);

#endif
