/* gpu/inject/library.h: libcresset-cuda.so, the part of the profiler that runs inside a GPU program.
 *
 *     entry.c     being loaded, fork
 *     helper.c    the library's one thread: sleeps until the agent rings, opens and closes windows
 *     session.c   CUPTI switched on and off
 *     locate.c    which CUPTI
 *     calls.c     the program's threads at a launch: a record, now and then the probe that a stack is taken at
 *     buffers.c   CUPTI's records, into the ring
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
	void *ring;      /* NULL: not there yet, or a child of fork */
	uint32_t muted;  /* records are thrown away */
	uint32_t window; /* number of the window that is open; 0: none */
	struct cupti cupti;
	uint32_t version;
	void *subscriber;
	bool found, registered, inert;
	uint32_t enabled;  /* RING_WANT_* in force */
	uint32_t in_cupti; /* somebody is inside; see session_enter */
	struct ring_names names;
	uint8_t *buffers;      /* BUFFERS of BUFFER_SIZE */
	uint32_t buffers_used; /* bits */
};
extern struct library library __attribute__((visibility("hidden")));

enum { BUFFERS = 16, BUFFER_SIZE = 256 << 10, NAME_SLOTS = 1 << 15 };

static inline struct ring_control *ring_control(void)
{
	return library.ring;
}
static inline uint64_t monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}
uint32_t thread_id(void); /* asked once for each thread */

/* The body of the helper's thread. */
void *helper_main(void *unused);

/* Looks for CUPTI and its functions. 0, or what is missing. */
enum ring_part locate_cupti(struct cupti *out, uint32_t *version);

/* Opens a window: 0, or the part that failed with *code. Closes it; flush hands over what has not been. */
enum ring_part session_open(uint32_t want, uint32_t *code);
void session_flush(bool forced);
void session_close(void);
/* For threads of the program: hands over what is complete, but not while the helper is inside CUPTI. */
void session_flush_now(bool forced);

/* CUPTI's callbacks. */
void on_call(void *user, uint32_t domain, uint32_t cbid, const void *data);
void on_buffer_request(uint8_t **buffer, size_t *size, size_t *max_records);
void on_buffer_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
			 size_t valid);

#endif
