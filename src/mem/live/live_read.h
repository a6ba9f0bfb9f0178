/* mem/live/live_read.h: the agent's side of mem/live/live.h: opens the memory of a program,
 * requests samples, and reads the rows. The program may write anything there at any time: the work
 * and memory of a read are bounded, and a row that cannot be true is counted and left out. */
#ifndef CRESSET_MEM_LIVE_LIVE_READ_H
#define CRESSET_MEM_LIVE_LIVE_READ_H

#include "mem/live/live.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

struct live {
	void *memory; /* LIVE_SIZE bytes; NULL: not open */
	int lock;     /* descriptor with a lock on it: one reader at a time; valid with memory */
	pid_t pid;
};

/* Returns 0, to be closed; -ENOENT: the process has no own memory, or not yet; -EBUSY: another
 * process reads it; -EPROTO: a wrong file; -errno. */
int live_open(pid_t pid, struct live *out, struct err *err);
/* The same for one memfd of that name that it has mapped; fd stays the caller's. */
int live_open_fd(pid_t pid, int fd, struct live *out, struct err *err);
void live_close(struct live *l); /* a zeroed one is fine */

/* Requests samples, one in mean_bytes on average (0: the default), or none. A library that samples
 * already continues unchanged. Repeat live_beat every second: without, the library parks after
 * LIVE_AGENT_GONE_MS. */
void live_beat(const struct live *l, uint64_t now_ns);
/* Wakes a library that has parked although samples are requested: the heartbeat was late. */
void live_ring(const struct live *l);
void live_want(const struct live *l, bool on, uint64_t mean_bytes, uint64_t now_ns);

struct live_now {
	enum live_state state;
	enum live_refusal refused;
	uint32_t slots, slots_foreign, objects;
	uint64_t mean_bytes, samples, inherited, removed, dropped, helper_ns;
};
struct live_now live_look(const struct live *l);
/* "it has the allocator of a sanitizer"; NULL: it is not refused. */
const char *live_refusal_text(enum live_refusal refused);

struct live_block {
	uint64_t pointer, size, number;
	double weight; /* blocks that it stands for, from 1 on */
	uint32_t born_s;
};
const char *live_function_text(uint32_t by); /* NULL: no such number */
/* Whether a sample can be: for values that a program has sent another way. */
bool live_is_possible(uint64_t number, uint64_t size, double weight);
/* Calls fn with each row. Returns the number of rows that cannot be true. */
typedef void live_block_fn(void *ctx, const struct live_block *b);
uint32_t live_rows(const struct live *l, live_block_fn *fn, void *ctx);

#endif
