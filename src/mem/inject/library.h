/* mem/inject/library.h: libcresset-mem.so, the part of the profiler inside a program that has
 * its memory watched.
 *
 *     entry.c    loading; the library's one thread, which the agent rings
 *     slots.c    finds where the loaded objects have the addresses of malloc and its family, and
 *                puts the library's functions there, or the real ones back
 *     hooks.c    those functions
 *     sample.c   which allocations are samples: by bytes, per thread
 *     table.c    the rows of sampled blocks that are in use (mem/live/live.h); a child of fork
 *
 * Blocks have no header and no other address. Between two samples an allocation costs one
 * comparison and a subtraction, a free one look at a byte: no lock, no system call, no memory.
 * While parked, each slot has its original address. The library is never unloaded: a thread may be
 * about to call its functions. */
#ifndef CRESSET_MEM_INJECT_LIBRARY_H
#define CRESSET_MEM_INJECT_LIBRARY_H

#include "mem/live/live.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIKELY(x)   __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* The state of a thread. Zeroed: the first allocation draws. */
struct mem_thread {
	uint64_t left; /* bytes to the next look, at most the mean: larger blocks always look */
	uint64_t rest; /* from there to the next sample */
	uint64_t random;
	uint64_t mean; /* of this draw */
};
extern _Thread_local struct mem_thread mem_thread
	__attribute__((visibility("hidden"), tls_model("initial-exec")));

enum mem_owner { MEM_CHILD = 0, MEM_OURS, MEM_COPYING, MEM_NONE };

struct mem_library {
	uint8_t *filter; /* never NULL */
	struct live_row *rows;
	struct live_control *live;
	/* enum mem_owner, in a page that is zeroed in a child of fork: until then the rows are the
	 * parent's */
	uint32_t *owner;
	uint64_t mean;
	/* of threads' random numbers, for tests; 0: the time and the thread's address */
	uint64_t seed;
	uint64_t last_number; /* of this process's samples: a child has that of its birth */
	uint32_t has_skipped; /* a child: unwanted samples; its rows are too old */
};
extern struct mem_library mem_library __attribute__((visibility("hidden")));

/* --- sample.c --------------------------------------------------------------------------------- */

/* For an allocation of at least mem_thread.left bytes: returns the weight of this sample; 0: it is
 * none. */
float sample_due(size_t size);

/* --- table.c ---------------------------------------------------------------------------------- */

bool table_make(void);
void table_clear(void);
/* The same, and frees their memory. */
void table_release(void);
/* Returns whether the rows are this process's; a child of fork copies them now. errno is
 * unchanged. */
bool table_is_ours(void);
/* Returns whether an agent that is alive wants samples, and the program is not detached. */
bool table_is_wanted(void);
/* Takes a block that was just allocated, and runs over the marker. */
void table_add(const void *p, size_t size, float weight, enum live_function by);
/* Takes a row again that was removed: its block is still there. */
void table_put_back(const void *p, const struct live_row *was);
/* Removes the row of a block that is about to be freed. Returns whether it had one. */
bool table_remove(const void *p, struct live_row *was);

/* --- slots.c ---------------------------------------------------------------------------------- */

/* Returns whether the program has the allocator of AddressSanitizer or one of its family. */
bool slots_has_sanitizer(void);
/* Finds the real functions. Returns false if malloc or free is not found. */
bool slots_resolve(void);
/* Puts the library's functions into all slots that hold the real ones, or are not bound yet; or the
 * real ones back. Returns false when some have to wait, as their object is being loaded. */
bool slots_patch(bool on);
/* Returns a number that changes when an object is loaded. */
uint64_t slots_loads(void);

/* --- hooks.c ---------------------------------------------------------------------------------- */

struct mem_function {
	const char *name;
	void *hook;
	void **real;
	bool is_operator; /* of C++: only where its object is not the C++ library */
};
extern const struct mem_function mem_functions[] __attribute__((visibility("hidden")));
extern const size_t mem_functions_n __attribute__((visibility("hidden")));

#endif
