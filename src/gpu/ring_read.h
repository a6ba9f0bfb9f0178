/* gpu/ring_read.h: the agent's side of a ring (gpu/ring.h), which a program of any user writes.
 *
 *     ring_open(pid)            finds it in the process's maps
 *     ring_window(want, until)  opens or closes a window; ring_beat while it shall go on
 *     ring_poll                 what has been written, each record checked and copied before it is handed on
 *     ring_close                the library parks, the memory is given back
 *
 * Nothing in the ring is believed: places and sizes are read once, when it is opened; a position or a length that
 * cannot be costs what that lane holds (counted in bad_bytes), never more. Names are cut at RING_NAME_BYTES, and
 * RING_READ_NAMES of them are kept. */
#ifndef CRESSET_GPU_RING_READ_H
#define CRESSET_GPU_RING_READ_H

#include "base/err.h"
#include "gpu/ring.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { RING_READ_NAMES = 1 << 16 };

struct ring_reader;

/* The ring of a running process. -ENOENT when it has none, -EBUSY when another agent has it, -EPROTO when it is none
 * of this version or not well-formed; err says more. Needs what ptrace needs; a ring whose descriptor the program
 * closed, CAP_SYS_ADMIN too. */
int ring_open(pid_t pid, uint64_t now_ns, struct ring_reader **out, struct err *err);
/* The same of a memfd, which stays the caller's. owner: the pid it must be of in its own namespace; 0: any. */
int ring_open_fd(int fd, uint32_t owner, uint64_t now_ns, struct ring_reader **out,
		 struct err *err);
/* Parks the library. NULL is fine. */
void ring_close(struct ring_reader *r);

/* want: RING_WANT_*, 0 closes. Wakes the library's thread. */
void ring_window(struct ring_reader *r, uint32_t want, uint32_t stacks_per_s, uint64_t now_ns,
		 uint64_t until_ns);
/* At least every RING_AGENT_GONE_MS / 2 while a window is open. */
void ring_beat(struct ring_reader *r, uint64_t now_ns);

/* name: of a kernel, NUL-terminated, valid until the next call; "" when it is not known. The record is the reader's
 * copy. */
typedef void ring_record_fn(void *ctx, const union ring_any *record, const char *name);

/* Reads at most max_bytes of every lane. Returns the number of records handed on. */
size_t ring_poll(struct ring_reader *r, size_t max_bytes, ring_record_fn *fn, void *ctx);

/* What the library says of itself, and what was lost; sums since it was loaded. */
struct ring_state_now {
	enum ring_state state;
	enum ring_part error_part;
	uint32_t error_code, cupti_version;
	uint32_t generation_asked, generation_seen;
	uint64_t opened_ns, closed_ns;
	uint64_t calls, probes, busy_ns, helper_ns, overhead_ns;
	uint64_t dropped, cupti_dropped, names_lost, unknown_records;
	uint64_t bad_bytes; /* not read: they cannot be records */
	char other[64];     /* printable */
	bool taken;         /* by another agent: this one reads and asks no more */
};
void ring_now(struct ring_reader *r, struct ring_state_now *out);

/* For people: "parked", "another tool has CUPTI" …; a state that cannot be is "unknown". */
const char *ring_state_text(enum ring_state state);
const char *ring_part_text(enum ring_part part);
/* What a record stands for that has no name: "[copy host to device]", "[set]", "[graph]". */
const char *ring_work_text(const union ring_any *record);

#endif
