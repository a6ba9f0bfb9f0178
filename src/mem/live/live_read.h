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
/* Wakes a library that has parked although samples are requested: the heartbeat was late. Returns
 * the bell's new value. */
uint32_t live_ring(const struct live *l);
/* Returns whether it was wanted before. */
bool live_want(const struct live *l, bool on, uint64_t mean_bytes, uint64_t now_ns);

struct live_now {
	enum live_state state;
	enum live_refusal refused;
	enum live_by_hand by_hand;
	bool has_reader; /* live_peek only: another process holds its lock */
	uint32_t slots, slots_foreign, objects, seen;
	uint64_t mean_bytes, samples, inherited, removed, dropped, helper_ns;
};
struct live_now live_look(const struct live *l);
/* The same of a process, also while another one reads its rows. Returns as live_open, and never
 * -EBUSY. */
int live_peek(pid_t pid, struct live_now *out, struct err *err);

/* Maps what live_decided reads, of a memfd of that name. NULL: it is none, or not this process's
 * own yet; to be given to live_forget. */
const void *live_watch(pid_t pid, int fd);
void live_forget(const void *watched);
enum live_by_hand live_decided(const void *watched);

#define LIVE_ANSWER_NS 5000000000ull /* time that a library has to park */

/* Puts down what a person wants of the process; LIVE_DETACHED waits until it has parked, at most
 * LIVE_ANSWER_NS. A child of fork parks at its next sample, and is not waited for. Returns 0;
 * -EALREADY: it was so before; -ETIMEDOUT: it has not parked; -ECANCELED: another command has
 * attached it again; -ESRCH: it has ended, or runs another program; else as live_peek. */
int live_decide(pid_t pid, enum live_by_hand by_hand, struct err *err);
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
