/* mem/live/live.h: the memory that a program with libcresset-mem.so shares with the agent: the
 * wishes of the agent, and one row for each sampled block that is not freed yet.
 *
 *     0          struct live_control
 *     4096       LIVE_ROWS of struct live_row: open addressing by the block's address, at most
 *                LIVE_PROBES rows from its place on
 *     2 101 248  LIVE_FILTER counters by the same hash: 0 means that an address has no row
 *
 * It is a memfd of a fixed, sealed size. The program can write anything there: a reader believes
 * nothing. The agent writes the first part of the control only. */
#ifndef CRESSET_MEM_LIVE_LIVE_H
#define CRESSET_MEM_LIVE_LIVE_H

#include <stddef.h>
#include <stdint.h>

#define LIVE_NAME      "cresset-mem"
#define LIVE_MAGIC     0x3165764c6d654d43ull /* "CMemLve1" */
#define LIVE_ROW_FREE  0ull                  /* never used: a search ends here */
#define LIVE_ROW_GONE  1ull                  /* its block was freed */
#define LIVE_ROW_TAKEN 2ull                  /* is being written */

enum {
	LIVE_VERSION = 1,
	LIVE_ROWS_BITS = 16,
	LIVE_ROWS = 65536, /* limit: sampled blocks of a program that are in use */
	LIVE_PROBES = 32,
	LIVE_FILTER_BITS = 18,
	LIVE_FILTER = 1 << LIVE_FILTER_BITS,
	LIVE_ROWS_AT = 4096,
	LIVE_MEAN_BYTES = 512 << 10, /* between two samples, at first */
	LIVE_RATE_MAX = 1000,        /* samples per second, above which the mean doubles */
	/* A recording beats ahead of time, so that a busy machine does not end it; a program that
	 * starts with the library waits as long for its agent. */
	LIVE_AHEAD_MS = 8000,
	LIVE_AGENT_GONE_MS = 2000, /* without a heartbeat for so long, the library parks */
	/* The marker's third argument: the weight, where this is one block, and from this bit on
	 * enum live_function. */
	LIVE_WEIGHT_1 = 1 << 16,
	LIVE_BY_SHIFT = 58,
	LIVE_TICK_MS = 50, /* a library that the program loads is seen as late */
};

/* A child of fork has no thread of the library: it looks at each sample whether any is wanted, and
 * its slots stay as they are. */
enum live_state { LIVE_PARKED, LIVE_RUNNING, LIVE_CHILD, LIVE_STATES };
/* What a person wants of this program (cresset mem attach, cresset mem detach). It stands until
 * changed; a child of fork also has it. */
enum live_by_hand {
	LIVE_UNDECIDED, /* its agent's configuration decides */
	LIVE_ATTACHED,  /* an agent that is always on takes it */
	LIVE_DETACHED,  /* it stays parked, whatever an agent wants */
	LIVE_BY_HANDS,
};
/* What the program called. */
enum live_function {
	LIVE_MALLOC,
	LIVE_CALLOC,
	LIVE_REALLOC,
	LIVE_REALLOCARRAY,
	LIVE_MEMALIGN,
	LIVE_ALIGNED_ALLOC,
	LIVE_POSIX_MEMALIGN,
	LIVE_VALLOC,
	LIVE_PVALLOC,
	LIVE_NEW,
	LIVE_NEW_ARRAY,
	LIVE_FUNCTIONS,
};
/* Why the library never samples. */
enum live_refusal {
	LIVE_NOT_REFUSED,
	LIVE_SANITIZER, /* its allocator has to be alone */
	LIVE_NO_MALLOC, /* no object defines it */
	LIVE_REFUSALS,
};

struct live_control {
	uint64_t magic; /* stored last */
	uint32_t version, pid;
	uint64_t size; /* of all of it */
	/* Written by the agent. */
	uint32_t bell; /* a futex: rung after each change */
	uint32_t want; /* 1: sample */
	uint64_t heartbeat_ns;
	uint64_t mean_wanted; /* 0: LIVE_MEAN_BYTES */
	/* Written by the library. */
	uint32_t state;                /* enum live_state */
	uint32_t slots, slots_foreign; /* that lead to the library; that lead elsewhere */
	uint32_t objects;
	uint64_t mean_bytes;
	uint64_t samples;          /* so far: also the number of the last one */
	uint64_t removed, dropped; /* rows of freed blocks; samples that found no row */
	uint64_t helper_ns;
	uint32_t refused;   /* enum live_refusal */
	uint32_t by_hand;   /* enum live_by_hand: written by a person's command */
	uint64_t inherited; /* samples of the process that it is a child of */
	uint32_t seen;      /* the bell as the library parked, or stayed so */
	uint32_t reserved;
};
_Static_assert(sizeof(struct live_control) == 128, "shared by two programs");

struct live_row {
	uint64_t pointer; /* or LIVE_ROW_…; stored last */
	uint64_t size;    /* as requested */
	uint64_t number;  /* of the sample; it increases */
	float weight;     /* blocks that it stands for, from 1 on */
	uint32_t born_s;  /* CLOCK_MONOTONIC, coarse */
};
_Static_assert(sizeof(struct live_row) == 32, "shared by two programs");

_Static_assert(LIVE_ROWS == 1 << LIVE_ROWS_BITS, "its hash has these bits");
enum { LIVE_FILTER_AT = LIVE_ROWS_AT + LIVE_ROWS * 32, LIVE_SIZE = LIVE_FILTER_AT + LIVE_FILTER };

static inline uint64_t live_hash(uint64_t pointer)
{
	return (pointer >> 4) * 0x9e3779b97f4a7c15ull;
}
static inline uint32_t live_row_of(uint64_t pointer)
{
	return live_hash(pointer) >> (64 - LIVE_ROWS_BITS);
}
static inline uint32_t live_filter_of(uint64_t pointer)
{
	return live_hash(pointer) >> (64 - LIVE_FILTER_BITS);
}

#endif
