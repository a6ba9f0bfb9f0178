/* agent/naming.h: names for the frames of a dictionary that grows, from files that somebody else opens: first it is said of which mapping
 * a file is needed, then it is there.
 *
 * To open a file's symbols costs much more than to look up a few addresses. So frames wait for each other: those of one file that come later
 * wait a thousand times as long as the file took before, and all files that were read before five hundred times as long as the last of them
 * took; who has waited longest is next. What was looked up is remembered beyond one dictionary, so that the same code is not read again when
 * the next one begins.
 *
 * Where the server names frames (symbols), a file goes to it in place of being read here, and frames whose file it has are left alone. */
#ifndef CRESSET_AGENT_NAMING_H
#define CRESSET_AGENT_NAMING_H

#include "agent/name_guard.h"
#include "agent/symbols_thread.h"
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
#define NAMING_GIVE_AGAIN_NS     120000000000ull
/* Of one CPU, what a file may cost on and on: 0.1 %; and all of them: 0.2 %. */
#define NAMING_WAIT_PER_COST     1000
#define NAMING_ALL_WAIT_PER_COST 500
#define NAMING_MIN_WAIT_NS       10000000000ull
#define NAMING_MAX_WAIT_NS       600000000000ull

struct naming_want {       /* of a file */
	uint64_t key;      /* hash of what the mapping is */
	uint32_t mapping;  /* of the dictionary at hand; MAPPING_NONE: it is not in there */
	struct map frames; /* offset → frame, without a name yet */
	uint64_t due_ns;
	bool was_read;
	bool was_given;     /* to symbols: due_ns is when it is given again */
	bool is_left_alone; /* which was said: name_guard.h */
};
struct naming {
	struct name_files files;
	struct symbols_thread *symbols; /* the caller's; NULL: all is named here */
	uint32_t seen_frames;           /* of the dictionary at hand */
	uint64_t again_ns; /* when the next one may be read that was read before; CLOCK_MONOTONIC */
	struct name_guard *guard; /* the caller's; NULL: none */
	struct map by_mapping;    /* of the dictionary at hand → index in wants */
	struct map by_key;        /* → index in wants */
	VEC(struct naming_want) wants;
	struct map done; /* hash of mapping and offset */
};

void naming_init(struct naming *n, const struct name_files_opts *files);
void naming_done(struct naming *n);

/* What a mapping is, the same in every dictionary. */
uint64_t naming_key(const struct profile *dict, uint32_t mapping);
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

#endif
