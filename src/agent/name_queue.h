/* agent/name_queue.h: names the frames of a growing dictionary, from files that another process
 * opens. It reports the mapping whose file it needs next, then receives the file.
 *
 * Opening a file's symbols costs much more than looking up a few addresses, so lookups are
 * batched. New frames of a file that was read before wait 200 times the CPU time that reading it
 * took, 2 to 15 s. All files that were read before share 0.2 % of a CPU, with bursts of up to
 * 0.4 s. A file that has waited 15 s may overdraw this by 0.3 s. A file that a query shows
 * (name_requests.h) does not wait, goes first, and may overdraw by another 0.3 s. So a frame of a
 * readable file is named within 15 s unless reading files again took more than 0.6 % of a CPU in
 * any five minutes. Looked-up addresses are remembered beyond one dictionary, so the next one does
 * not read the same code again.
 *
 * If the server names frames (symbols), a file's symbol table is uploaded instead of being read
 * here, and frames whose file the server has are skipped. */
#ifndef CRESSET_AGENT_NAME_QUEUE_H
#define CRESSET_AGENT_NAME_QUEUE_H

#include "agent/name_requests.h"
#include "base/cpu_budget.h"
#include "base/hash.h"
#include "base/vec.h"
#include "collect/process/elf_names.h"

#include <stdbool.h>
#include <stdint.h>

struct name_files_opts;
struct profile;

enum {
	/* limit: frames remembered to be named; then all are forgotten */
	NAME_QUEUE_MAX_DONE = 256 << 10,
	NAME_QUEUE_MAX_FILES = 8192, /* the same for files */
};
/* After the server failed on a table, all others go first. */
#define NAME_QUEUE_GIVE_AGAIN_NS 120000000000ull
/* For one file. All times but costs are CLOCK_MONOTONIC. */
#define NAME_QUEUE_WAIT_PER_COST 200
#define NAME_QUEUE_MIN_WAIT_NS   2000000000ull
#define NAME_QUEUE_MAX_WAIT_NS   15000000000ull
/* For all files that were read before. */
#define NAME_QUEUE_PER_S_NS      2000000ull
#define NAME_QUEUE_MOST_NS       400000000ull
#define NAME_QUEUE_LATE_NS       300000000ll
#define NAME_QUEUE_ASKED_NS      600000000ll

struct name_queue_want {   /* a file and its pending frames */
	uint64_t key;      /* identifies the mapping's file (name_mapping_key) */
	uint32_t mapping;  /* in the current dictionary; MAPPING_NONE: it is not there */
	struct map frames; /* offset → frame, still unnamed */
	uint64_t due_ns;
	uint64_t since_ns; /* when the first of frames was added */
	bool is_asked;     /* a query shows some of these frames */
	bool was_read;
	bool was_given;     /* to symbols; due_ns: when it is given again */
	bool is_left_alone; /* skipped by name_guard.h; this was logged */
};
struct name_queue_clock {
	uint64_t (*mono_ns)(void), (*cpu_ns)(void);
};
struct name_queue {
	struct name_files files;
	struct name_queue_clock clock;  /* CLOCK_MONOTONIC, and this thread's CPU time */
	struct symbols_thread *symbols; /* the caller's; NULL: all frames are named here */
	uint32_t seen_frames;           /* of the current dictionary */
	struct cpu_budget budget;       /* for reading files again */
	uint64_t spent_ns, reads;       /* total CPU time; how often a file was read */
	struct name_requests *asks;     /* the caller's; NULL: none */
	struct name_guard *guard;       /* the caller's; NULL: none */
	struct map by_mapping;          /* of the current dictionary → index in wants */
	struct map by_key;              /* → index in wants */
	VEC(struct name_queue_want) wants;
	struct map done;            /* name_frame_key */
	struct name_keys looked_up; /* frames not yet reported to asks */
	bool was_asked;             /* one of looked_up belongs to a requested file */
};

void name_queue_init(struct name_queue *n, const struct name_files_opts *files);
void name_queue_done(struct name_queue *n);

/* Forgets which frames were looked up: the next dictionary looks them up again. */
void name_queue_forget(struct name_queue *n);

/* Starts another dictionary. */
void name_queue_begin(struct name_queue *n);
/* Queues the frames that are new in dict. */
void name_queue_look(struct name_queue *n, const struct profile *dict);
/* Returns the mapping whose file is needed next; MAPPING_NONE: nothing is due. now_ns:
 * CLOCK_MONOTONIC; UINT64_MAX: whatever is pending is due. */
uint32_t name_queue_next(struct name_queue *n, const struct profile *dict, uint64_t now_ns);
/* Names the pending frames of a mapping in dict. fd: the mapping's file, which stays the caller's,
 * or -1. Returns true if any frame got a name. */
bool name_queue_file(struct name_queue *n, struct profile *dict, uint32_t mapping, int fd);
/* Call when asks->fd is readable: requested files go next. */
void name_queue_hear(struct name_queue *n);
/* Call once found names are visible to queries: wakes the callers that wait for them. */
void name_queue_settle(struct name_queue *n);

#endif
