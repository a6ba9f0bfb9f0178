/* agent/naming.h: names for the frames of a dictionary that grows, from files that somebody else opens: first it is said of which mapping
 * a file is needed, then it is there.
 *
 * To open a file's symbols costs much more than to look up a few addresses. So frames wait for each other: those of one file that come
 * later wait two hundred times as long as it took to read it, in CPU time, 2 to 15 s, and all files that were read before have
 * 0.2 % of a CPU together, with 0.4 s of it at once. Who has waited for 15 s may spend 0.3 s more, and who is looked at (name_asks.h)
 * does not wait, goes first, and may spend another 0.3 s. So a frame of a file that can be read is named within 15 s unless
 * reading files again took more than 0.6 % of a CPU in any five minutes. What was looked up is remembered beyond one dictionary, so that
 * the same code is not read again when the next one begins.
 *
 * Where the server names frames (symbols), a file goes to it in place of being read here, and frames whose file it has are left alone. */
#ifndef CRESSET_AGENT_NAMING_H
#define CRESSET_AGENT_NAMING_H

#include "agent/name_asks.h"
#include "agent/name_guard.h"
#include "agent/symbols_thread.h"
#include "base/cpu_budget.h"
#include "base/hash.h"
#include "base/vec.h"
#include "collect/elf_names.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	NAMING_MAX_DONE = 256 << 10, /* frames remembered; then all are forgotten */
	NAMING_MAX_FILES = 8192,     /* so are these */
};
/* A table that the server breaks on lets all others go first. */
#define NAMING_GIVE_AGAIN_NS 120000000000ull
/* Of one file; all times but costs are CLOCK_MONOTONIC. */
#define NAMING_WAIT_PER_COST 200
#define NAMING_MIN_WAIT_NS   2000000000ull
#define NAMING_MAX_WAIT_NS   15000000000ull
/* Of all that were read before. */
#define NAMING_PER_S_NS      2000000ull
#define NAMING_MOST_NS       400000000ull
#define NAMING_LATE_NS       300000000ll
#define NAMING_ASKED_NS      600000000ll

struct naming_want {       /* of a file */
	uint64_t key;      /* hash of what the mapping is */
	uint32_t mapping;  /* of the dictionary at hand; MAPPING_NONE: it is not in there */
	struct map frames; /* offset → frame, without a name yet */
	uint64_t due_ns;
	uint64_t since_ns; /* the first of frames is there */
	bool is_asked;     /* somebody looks at some of frames */
	bool was_read;
	bool was_given;     /* to symbols: due_ns is when it is given again */
	bool is_left_alone; /* which was said: name_guard.h */
};
struct naming_clock {
	uint64_t (*mono_ns)(void), (*cpu_ns)(void);
};
struct naming {
	struct name_files files;
	struct naming_clock clock;      /* the machine's, and this thread's CPU time */
	struct symbols_thread *symbols; /* the caller's; NULL: all is named here */
	uint32_t seen_frames;           /* of the dictionary at hand */
	struct cpu_budget budget;       /* to read files that were read before */
	uint64_t spent_ns, reads;       /* CPU time so far, for all; how often a file was read */
	struct name_asks *asks;         /* the caller's; NULL: nobody asks */
	struct name_guard *guard;       /* the caller's; NULL: none */
	struct map by_mapping;          /* of the dictionary at hand → index in wants */
	struct map by_key;              /* → index in wants */
	VEC(struct naming_want) wants;
	struct map done;            /* naming_frame_key */
	struct name_keys looked_up; /* frames, of which asks is not told yet */
	bool was_asked;             /* one of them is of a file that was asked for */
};

void naming_init(struct naming *n, const struct name_files_opts *files);
void naming_done(struct naming *n);

/* What a mapping is, the same in every dictionary. */
uint64_t naming_key(const struct profile *dict, uint32_t mapping);
static inline uint64_t naming_frame_key(uint64_t mapping_key, uint64_t offset)
{
	return hash_mix(mapping_key, offset);
}
/* What was looked at is looked at again in the next dictionary. */
void naming_forget(struct naming *n);

/* Another dictionary begins. */
void naming_begin(struct naming *n);
/* Looks at the frames that are new in it. */
void naming_look(struct naming *n, const struct profile *dict);
/* The mapping whose file is needed next; MAPPING_NONE: nothing is to be named by now. now_ns: CLOCK_MONOTONIC; UINT64_MAX: whatever waits. */
uint32_t naming_next(struct naming *n, const struct profile *dict, uint64_t now_ns);
/* Its file, which stays the caller's, or -1: names what it wants in dict. True when anything got a name. */
bool naming_file(struct naming *n, struct profile *dict, uint32_t mapping, int fd);
/* asks->fd is readable: what was asked for is next. */
void naming_hear(struct naming *n);
/* The names that were found are where they are looked for: who asked goes on. */
void naming_settle(struct naming *n);

#endif
