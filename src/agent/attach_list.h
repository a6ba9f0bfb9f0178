/* agent/attach_list.h: which programs get the GPU library by themselves (agent/attaching.h), and when: those with the driver's library in them
 * that somebody has chosen.
 *
 *     attach_list_mapped    a process has it in it          ┐
 *     attach_list_forked    so has a child of it            │ in the order in which it happened
 *     attach_list_exec      it runs another program         │
 *     attach_list_ended     it is gone                      ┘
 *     attach_list_next      whom to attach to now: one at a time, with pauses
 *     attach_list_told      what came of that
 *
 * Each is left to settle for ATTACH_SETTLE_NS. One that nobody has chosen is looked at again after 1, 2 … 64 s: its name or container may be known later. One
 * that is refused for what may pass is tried again after 5, 15, 45 … s, ATTACH_TRIES times in all; anything else, a failure too, is for good: until it runs
 * another program. A process is its number and its start, so one that has another's number is new. No clock and no process is asked here. */
#ifndef CRESSET_AGENT_ATTACH_LIST_H
#define CRESSET_AGENT_ATTACH_LIST_H

#include "base/hash.h"
#include "base/vec.h"
#include "gpu/attach.h"

#include <stdbool.h>
#include <stdint.h>

#define ATTACH_SETTLE_NS 2100000000ull  /* more than what is young */
#define ATTACH_PAUSE_NS  500000000ull   /* between two */
#define ATTACH_LOOK_NS   100000000ull   /* between two looks for one */
#define ATTACH_SWEEP_NS  10000000000ull /* a full list is looked through no sooner than that */
enum {
	ATTACH_LIST_MAX = 1024, /* processes that are known, and live */
	ATTACH_TRIES = 6,
	ATTACH_LOOKS = 16, /* at labels, each time */
};

struct attach_list_opts {
	bool (*takes)(void *ctx, uint32_t pid); /* somebody has chosen it */
	/* When it was started, in whatever unit; 0: it is not there. */
	uint64_t (*start_of)(void *ctx, uint32_t pid);
	void *ctx;
};
enum attach_state {
	ATTACH_WAITS, /* until next_ns: to be looked at */
	ATTACH_BUSY,  /* it is the one that is attached to now */
	ATTACH_OVER,  /* it has the library, or never will */
};
struct attach_entry {
	uint32_t pid; /* 0: free */
	enum attach_state state;
	uint64_t start, next_ns;
	uint32_t looks, tries;
	enum gpu_attach_refusal said; /* the refusal that was told of last */
};
struct attach_list {
	struct attach_list_opts opts;
	VEC(struct attach_entry) all;
	struct map by_pid; /* → index */
	uint32_t n, busy;  /* in use; pid that is attached to, 0: none */
	uint64_t next_ns;  /* nobody before then */
	uint64_t swept_ns;
	uint64_t left_out; /* processes for which there was no room */
};
void attach_list_init(struct attach_list *l, const struct attach_list_opts *opts);
void attach_list_done(struct attach_list *l);

void attach_list_mapped(struct attach_list *l, uint32_t pid, uint64_t now_ns);
void attach_list_forked(struct attach_list *l, uint32_t parent, uint32_t pid, uint64_t now_ns);
void attach_list_exec(struct attach_list *l, uint32_t pid, uint64_t now_ns);
void attach_list_ended(struct attach_list *l, uint32_t pid);

/* 0: nobody now. *start: of that process. Nobody else comes until it was told what came of it. */
uint32_t attach_list_next(struct attach_list *l, uint64_t now_ns, uint64_t *start);

enum attach_end {
	ATTACH_END_GONE,  /* the process is, or it has no such library any more */
	ATTACH_END_THERE, /* it had the library */
	ATTACH_END_LOADED,
	ATTACH_END_LATER,    /* it is tried again */
	ATTACH_END_GIVEN_UP, /* it was tried often enough */
	ATTACH_END_REFUSED,
	ATTACH_END_FAILED,
};
struct attach_told {
	enum attach_end end;
	uint64_t pause_ns; /* until it is tried again */
	bool is_news;      /* this refusal was not told of before */
};
/* rc and report: of gpu_attach, of the one that attach_list_next has named last. */
struct attach_told attach_list_told(struct attach_list *l, int rc,
				    const struct gpu_attach_report *report, uint64_t now_ns);

#endif
