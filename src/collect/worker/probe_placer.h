/* collect/worker/probe_placer.h: attaches BPF programs to library files. A worker process makes the
 * system calls, because they can block (collect/worker/probe_link.h), and holds the links.
 *
 * A process that holds its mmap_lock blocks the worker in the kernel, and the worker holds the lock
 * that every attach of a probe takes. A second worker would block on that lock. So a blocked worker
 * is not replaced: it continues when the process releases its mmap_lock, and then serves the
 * requests that have queued up. Only probe_placer_wait and probe_placer_detach wait for the worker,
 * both up to a limit. */
#ifndef CRESSET_COLLECT_WORKER_PROBE_PLACER_H
#define CRESSET_COLLECT_WORKER_PROBE_PLACER_H

#include "collect/worker/probe_link.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct helper;
struct probe_placer;

enum {
	/* limit: places in a file, and returns of its functions */
	PROBE_MAX_PLACES = 4096,
	/* limit: workers dying in PROBE_DEATHS_NS; until it is over no other starts */
	PROBE_MAX_DEATHS = 3,
};
#define PROBE_DEATHS_NS 600000000000ull

struct probe_deaths {
	uint64_t ns[PROBE_MAX_DEATHS]; /* the last ones, the oldest first; 0: none */
};

static inline void probe_deaths_add(struct probe_deaths *d, uint64_t now_ns)
{
	for (int i = 0; i + 1 < PROBE_MAX_DEATHS; i++)
		d->ns[i] = d->ns[i + 1];
	d->ns[PROBE_MAX_DEATHS - 1] = now_ns;
}

static inline bool probe_deaths_may_start(const struct probe_deaths *d, uint64_t now_ns)
{
	return !d->ns[0] || now_ns >= d->ns[0] + PROBE_DEATHS_NS;
}

struct probe_wish {
	int file, entry_program,
		return_program; /* stay the caller's; the same programs each time */
	bool is_multi;          /* all places with one link */
	const struct probe_place *entries, *returns;
	uint32_t n_entries, n_returns;
};
struct probe_done {
	uint32_t serial;
	int rc; /* 0; or -errno, and no place of this file is attached */
	uint64_t took_ns;
};

struct probe_placer *probe_placer_new(struct helper *helper); /* helper stays the caller's */
void probe_placer_free(struct probe_placer *p);               /* NULL is fine */

/* Requests places. Returns 0 and a serial that is not 0, or -errno if no worker can be started. */
int probe_placer_place(struct probe_placer *p, const struct probe_wish *wish, uint32_t *serial);
/* Takes a response; returns false if none has arrived. Call it some times a second. */
bool probe_placer_take(struct probe_placer *p, struct probe_done *out);
/* Returns true once after the worker has died, and all probes with it: earlier requests get no
 * response. */
bool probe_placer_take_lost(struct probe_placer *p);

/* Returns for how long the oldest request has been without a response; 0: all have one. */
uint64_t probe_placer_waits_ns(const struct probe_placer *p);
/* Waits until every request has a response, or the time is over. */
void probe_placer_wait(struct probe_placer *p, uint64_t max_ns);
/* Detaches all probes; none may be placed afterwards. Returns whether that was done in time. */
bool probe_placer_detach(struct probe_placer *p, uint64_t max_ns);

/* --- messages, over base/stream.h ------------------------------------------------------------- */

/*     collector → worker                                      worker → collector
 *     PROBE_PROGRAM  u32 enum probe_side, and a descriptor
 *     PROBE_PLACE    struct probe_place_head, places of the   PROBE_PLACED  struct probe_done
 *                    returns, places of the entries; with
 *                    a descriptor of the file
 *     PROBE_DETACH                                            PROBE_DETACHED */
enum probe_message { PROBE_PROGRAM = 1, PROBE_PLACE, PROBE_DETACH, PROBE_PLACED, PROBE_DETACHED };
enum probe_side { PROBE_AT_RETURN, PROBE_AT_ENTRY, PROBE_SIDES };
struct probe_place_head {
	uint32_t serial, is_multi, n[PROBE_SIDES];
};

#endif
