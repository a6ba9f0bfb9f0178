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

/* The ring of a running process. -ENOENT when it has none, -EBUSY when another agent has it, -EACCES when it is kept for another one
 * (gpu/agent_name.h), -EPROTO when it is none of this version or not well-formed, -EXDEV when its clock cannot be told (gpu/time_space.h); err says more. Times
 * given and taken are of this process's clock. Needs what ptrace needs; a ring whose descriptor the program
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
/* Has the library give the ring back, which only ring_close follows. */
void ring_give_back(struct ring_reader *r, uint64_t now_ns);
/* At least every RING_AGENT_GONE_MS / 2 while a window is open. */
void ring_beat(struct ring_reader *r, uint64_t now_ns);

/* name: of a kernel, a function or a reason, NUL-terminated, valid until the next call; "" when it is not known. The record is the reader's
 * copy. */
typedef void ring_record_fn(void *ctx, const union ring_any *record, const char *name);

/* Reads at most max_bytes of every lane. Returns the number of records handed on. */
size_t ring_poll(struct ring_reader *r, size_t max_bytes, ring_record_fn *fn, void *ctx);

/* Device code of the program is within reach from here on, also once it has ended. False: it has none yet. */
bool ring_has_cubins(struct ring_reader *r);
/* The image that a record tells of, copied: out has room for its size, at most CUBINS_SIZE. False: there is none. The bytes
 * are the program's. */
bool ring_module_copy(struct ring_reader *r, const struct ring_module *m, void *out);
/* Where they are, for a ring that was opened by its descriptor; fd stays the caller's. 0, or -errno. */
int ring_cubins_fd(struct ring_reader *r, int fd);
/* Nothing is wanted or read for a while: another agent may have it, and its pages are the program's alone. ring_again ends that: 0, -EBUSY while
 * another one reads it, or -EPROTO. It goes on where the last reader stopped. */
void ring_rest(struct ring_reader *r);
int ring_again(struct ring_reader *r, uint64_t now_ns, struct err *err);
/* Its pages are not this process's until they are read again. */
void ring_give_pages(struct ring_reader *r);

/* Which GPU has this number in the program. False: the library does not say, or not yet. */
bool ring_device(const struct ring_reader *r, uint32_t number, struct ring_device *out);

/* What the library says of itself, and what was lost; sums since it was loaded. */
struct ring_state_now {
	enum ring_state state;
	enum ring_part error_part;
	uint32_t error_code, cupti_version;
	uint32_t generation_asked, generation_seen;
	uint64_t opened_ns, closed_ns;
	uint64_t calls, probes, busy_ns, helper_ns, overhead_ns;
	uint64_t dropped, cupti_dropped, names_lost, unknown_records;
	uint64_t bad_bytes;        /* not read: they cannot be records */
	char other[64];            /* printable */
	bool taken;                /* by another agent: this one reads and asks no more */
	bool given_back;           /* or about to be: it will not answer any more */
	bool knows_stalls;         /* a library that can be asked for them */
	enum ring_part stall_part; /* why there are none in this window, or no more */
	uint32_t stall_code, contexts;
	uint64_t stall_dropped, stall_other, cubins_lost;
};
void ring_now(struct ring_reader *r, struct ring_state_now *out);
/* The same of a ring that one only looks at, by the program's clock; without what only a reader knows. */
void ring_state_of(const void *ring, uint32_t lanes, struct ring_state_now *out);

/* For people: "parked", "another tool has CUPTI" …; a state that cannot be is "unknown". */
const char *ring_state_text(enum ring_state state);
const char *ring_part_text(enum ring_part part);
/* What a record stands for that has no name: "[copy host to device]", "[set]", "[graph]". */
const char *ring_work_text(const union ring_any *record);

#endif
