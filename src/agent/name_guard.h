/* agent/name_guard.h: remembers files that crash the process that reads names from them.
 *
 * Files may be hostile, and readers have bugs. The process notes the file it is reading in memory
 * shared with the supervisor. After a crash its successor finds the file there. A file that was
 * being read in NAME_GUARD_ENDS crashes is skipped; a successful read before that resets its
 * count. */
#ifndef CRESSET_AGENT_NAME_GUARD_H
#define CRESSET_AGENT_NAME_GUARD_H

#include <stdbool.h>
#include <stdint.h>

struct err;

enum {
	NAME_GUARD_FILES = 64, /* more: the oldest is forgotten */
	NAME_GUARD_ENDS = 3,   /* a crash during a read may have another cause */
};

struct name_guard {
	uint64_t reading; /* key of the current file (name_mapping_key); 0: none */
	struct name_guard_file {
		uint64_t key; /* 0: free */
		uint32_t ends;
	} files[NAME_GUARD_FILES];
	uint32_t next; /* slot to use next, possibly overwriting one */
};

/* Shared with all processes forked after this. */
int name_guard_new(struct name_guard **out, struct err *err);
void name_guard_free(
	struct name_guard *g); /* NULL is fine, here and below: nothing is guarded then */

/* Call when a process starts: counts the file that its predecessor was reading. Returns the number
 * of files that are skipped from now on. */
uint32_t name_guard_look(struct name_guard *g);
/* Returns the number of files that are skipped now. Any process that shares it may call. */
uint32_t name_guard_left_alone(const struct name_guard *g);
/* Returns how many crashes happened while the file was being read. */
uint32_t name_guard_ends(const struct name_guard *g, uint64_t key);
static inline bool name_guard_allows(const struct name_guard *g, uint64_t key)
{
	return name_guard_ends(g, key) < NAME_GUARD_ENDS;
}

/* Call these around the reading of a file. */
void name_guard_begin(struct name_guard *g, uint64_t key);
void name_guard_end(struct name_guard *g);

#endif
