/* agent/attach_list.h: decides which programs get the GPU library automatically
 * (agent/attaching.h), and when: programs that have the driver's library mapped and that the
 * configuration selects.
 *
 *     attach_list_mapped    a process mapped the driver     ┐
 *     attach_list_forked    a process forked                │ in the order of the events
 *     attach_list_exec      a process called exec           │
 *     attach_list_ended     a process exited                ┘
 *     attach_list_next      returns the process to attach to: one at a time, with pauses
 *     attach_list_update    records the result
 *
 * Each process is left to settle for ATTACH_SETTLE_NS. One that is not selected is checked again
 * after 1, 2 … 64 s, as its name or container may be known later. After a temporary refusal it
 * is tried again after 5, 15, 45 … s, ATTACH_TRIES times in all. Any other result, failures
 * included, is final until the process runs another program. A process is identified by its pid
 * and start time, so a reused pid is a new process. This module reads no clock and no process. */
#ifndef CRESSET_AGENT_ATTACH_LIST_H
#define CRESSET_AGENT_ATTACH_LIST_H

#include "attach/attach.h"
#include "base/hash.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

#define ATTACH_SETTLE_NS 2100000000ull  /* longer than a process counts as young */
#define ATTACH_PAUSE_NS  500000000ull   /* between two attaches */
#define ATTACH_LOOK_NS   100000000ull   /* between two searches for a process */
#define ATTACH_SWEEP_NS  10000000000ull /* shortest time between two sweeps of a full list */
enum {
	/* limit: processes --gpu-attach remembers; others are counted */
	ATTACH_LIST_MAX = 1024,
	ATTACH_TRIES = 6,  /* limit: tries of --gpu-attach at one process */
	ATTACH_LOOKS = 16, /* limit: processes whose labels --gpu-attach reads, each 0.1 s */
};

struct attach_list_opts {
	bool (*takes)(void *ctx, uint32_t pid); /* whether it is selected */
	/* Start time, in any unit; 0: no such process. */
	uint64_t (*start_of)(void *ctx, uint32_t pid);
	void *ctx;
};
enum attach_state {
	ATTACH_WAITS, /* to be checked at next_ns */
	ATTACH_BUSY,  /* an attach is running */
	ATTACH_OVER,  /* it has the library, or never will have */
};
struct attach_entry {
	uint32_t pid; /* 0: free */
	enum attach_state state;
	uint64_t start, next_ns;
	uint32_t looks, tries;
	enum gpu_attach_refusal said; /* the last refusal that was reported */
};
struct attach_list {
	struct attach_list_opts opts;
	VEC(struct attach_entry) all;
	struct map by_pid; /* → index */
	uint32_t n, busy;  /* entries in use; pid of the running attach, 0: none */
	uint64_t next_ns;  /* no attach before this time */
	uint64_t swept_ns;
	uint64_t left_out; /* processes for which there was no space */
};
void attach_list_init(struct attach_list *l, const struct attach_list_opts *opts);
void attach_list_done(struct attach_list *l);

void attach_list_mapped(struct attach_list *l, uint32_t pid, uint64_t now_ns);
void attach_list_forked(struct attach_list *l, uint32_t parent, uint32_t pid, uint64_t now_ns);
void attach_list_exec(struct attach_list *l, uint32_t pid, uint64_t now_ns);
void attach_list_ended(struct attach_list *l, uint32_t pid);

/* Returns a pid, or 0 when none is due. *start: its start time. Returns no other process until
 * attach_list_update has been called. */
uint32_t attach_list_next(struct attach_list *l, uint64_t now_ns, uint64_t *start);

enum attach_end {
	ATTACH_END_GONE,  /* the process exited, or has no such library any more */
	ATTACH_END_THERE, /* it already had the library */
	ATTACH_END_LOADED,
	ATTACH_END_LATER,    /* it will be tried again */
	ATTACH_END_GIVEN_UP, /* tried ATTACH_TRIES times */
	ATTACH_END_REFUSED,
	ATTACH_END_FAILED,
};
struct attach_told {
	enum attach_end end;
	uint64_t pause_ns; /* until the next try */
	bool is_news;      /* this refusal was not reported before */
};
/* rc and report: result of gpu_attach on the process that attach_list_next returned last. */
struct attach_told attach_list_update(struct attach_list *l, int rc,
				      const struct gpu_attach_report *report, uint64_t now_ns);

#endif
