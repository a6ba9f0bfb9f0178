/* gpu/ring/ring_read.h: the agent's side of a ring (gpu/ring/ring.h), which is written by a program
 * of any user.
 *
 *     ring_open(pid)            finds it in the process's maps
 *     ring_window(want, until)  opens or closes a window; ring_beat keeps it open
 *     ring_poll                 reads what was written; each record is checked and copied before
 *                               it is passed on
 *     ring_close                the library parks, the memory is unmapped
 *
 * Nothing in the ring is trusted: places and sizes are read once, when it is opened. An impossible
 * position or length costs the contents of that lane (counted in bad_bytes), never more. Names are
 * cut at RING_NAME_BYTES, and RING_READ_NAMES of them are retained. */
#ifndef CRESSET_GPU_RING_RING_READ_H
#define CRESSET_GPU_RING_RING_READ_H

#include "gpu/ring/ring.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

enum { RING_READ_NAMES = 1 << 16 }; /* limit: names kept of a ring */

struct ring_reader;

/* Opens the ring of a running process. Returns -ENOENT if it lacks one, -EBUSY if another agent has
 * it, -EACCES if it is reserved for another agent (gpu/device/agent_name.h), -EPROTO if it has
 * another version or is malformed, -EXDEV if its clock is unknown (gpu/ring/time_space.h); err has
 * the details. Times passed in and out are on this process's clock. Needs the permission to ptrace;
 * also CAP_SYS_ADMIN for a ring whose descriptor the program closed. */
int ring_open(pid_t pid, uint64_t now_ns, struct ring_reader **out, struct err *err);

/* The same for a caller that must not wait: a program can delay every process that reads its
 * mappings, so another process reads them. fits: as agent_name_fits; -errno: unknown. open: opens
 * the nth memfd of that name, or returns -errno. f is copied. */
struct ring_finder {
	int (*fits)(void *ctx, pid_t pid);
	int (*open)(void *ctx, pid_t pid, const char *name, int flags, uint32_t nth);
	void *ctx;
};
int ring_open_by(const struct ring_finder *f, pid_t pid, uint64_t now_ns, struct ring_reader **out,
		 struct err *err);
/* The same for a memfd, which stays the caller's. owner: the pid that it must belong to, in that
 * process's namespace; 0: any. */
int ring_open_fd(int fd, uint32_t owner, uint64_t now_ns, struct ring_reader **out,
		 struct err *err);
/* Parks the library. NULL is fine. */
void ring_close(struct ring_reader *r);

/* want: RING_WANT_*; 0 closes. Wakes the library's thread. */
void ring_window(struct ring_reader *r, uint32_t want, uint32_t stacks_per_s, uint64_t now_ns,
		 uint64_t until_ns);
/* Requests that the library release the ring. Only ring_close may follow. */
void ring_give_back(struct ring_reader *r, uint64_t now_ns);
/* Must be called at least every RING_AGENT_GONE_MS / 2 while a window is open. Another thread may
 * call it. */
void ring_beat(struct ring_reader *r, uint64_t now_ns);

/* name: of a kernel, a function or a reason, NUL-terminated, valid until the next call; "" if
 * unknown. The record is the reader's copy. */
typedef void ring_record_fn(void *ctx, const union ring_any *record, const char *name);

/* Reads at most max_bytes of every lane. Returns the number of records passed to fn. */
size_t ring_poll(struct ring_reader *r, size_t max_bytes, ring_record_fn *fn, void *ctx);

/* Maps the program's device code, which from then on can be read even after the program has ended.
 * Returns false if it lacks one yet. */
bool ring_has_cubins(struct ring_reader *r);
/* Copies the image of a record. out can hold its size, at most CUBINS_SIZE. Returns false if
 * there is none. The bytes are untrusted. */
bool ring_module_copy(struct ring_reader *r, const struct ring_module *m, void *out);
/* Sets the device code's memfd, for a ring that was opened by descriptor; fd stays the caller's.
 * Returns 0 or -errno. */
int ring_cubins_fd(struct ring_reader *r, int fd);
/* Suspends reading: another agent may take the ring, and its pages count only for the program.
 * ring_again resumes: returns 0, -EBUSY while another agent reads the ring, or -EPROTO. It
 * continues where the last reader stopped. */
void ring_rest(struct ring_reader *r);
int ring_again(struct ring_reader *r, uint64_t now_ns, struct err *err);
/* Drops the ring's pages from this process until they are read again. */
void ring_give_pages(struct ring_reader *r);

/* Finds the GPU with this number in the program. Returns false if the library does not say, or not
 * yet. */
bool ring_device(const struct ring_reader *r, uint32_t number, struct ring_device *out);

/* The state that the library reports, and losses; sums since it was loaded. */
struct ring_state_now {
	enum ring_state state;
	enum ring_part error_part;
	uint32_t error_code, cupti_version;
	uint32_t generation_asked, generation_seen;
	uint64_t opened_ns, closed_ns;
	uint64_t calls, probes, busy_ns, helper_ns, overhead_ns;
	uint64_t dropped, cupti_dropped, names_lost, unknown_records;
	uint64_t bad_bytes;        /* skipped, as they cannot be records */
	char other[64];            /* printable */
	bool taken;                /* by another agent: this one reads and requests no more */
	bool given_back;           /* or about to be released: it will no longer respond */
	bool knows_stalls;         /* the library can sample stalls */
	enum ring_part stall_part; /* why stalls are not, or no longer, sampled in this window */
	uint32_t stall_code, contexts;
	uint64_t stall_dropped, stall_other, cubins_lost;
};
void ring_now(struct ring_reader *r, struct ring_state_now *out);
/* The same for a ring that is only inspected, on the program's clock; without the fields known only
 * to a reader. */
void ring_state_of(const void *ring, uint32_t lanes, struct ring_state_now *out);

/* Descriptions: "parked", "another tool has CUPTI" …; "unknown" for an invalid value. */
const char *ring_state_text(enum ring_state state);
const char *ring_part_text(enum ring_part part);
/* The name of a record that has none of its own: "[copy host to device]", "[set]", "[graph]". */
const char *ring_work_text(const union ring_any *record);

#endif
