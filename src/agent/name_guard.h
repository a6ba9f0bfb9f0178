/* agent/name_guard.h: files that end the process that reads their names.
 *
 * Files are hostile, and readers have bugs. Which file is being read stands in memory that the supervisor shares with the process, one at a
 * time: so the process that comes after one that died knows what that was at. A file that was it NAME_GUARD_ENDS
 * times is left alone; one that is read well before that begins anew. */
#ifndef CRESSET_AGENT_NAME_GUARD_H
#define CRESSET_AGENT_NAME_GUARD_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	NAME_GUARD_FILES = 64, /* more: the oldest is forgotten */
	NAME_GUARD_ENDS = 3,   /* others end processes, too, in the middle of a file */
};

struct name_guard {
	uint64_t reading; /* key of the file at hand (naming_key); 0: none */
	struct name_guard_file {
		uint64_t key; /* 0: free */
		uint32_t ends;
	} files[NAME_GUARD_FILES];
	uint32_t next; /* to be used, or used again */
};

/* Shared with all processes that fork from here. */
int name_guard_new(struct name_guard **out, struct err *err);
void name_guard_free(
	struct name_guard *g); /* NULL is fine, and for all below: nothing is guarded */

/* A process begins: what the one before was at counts. How many files are left alone from now on. */
uint32_t name_guard_look(struct name_guard *g);
/* How many files are now. By any process that shares it. */
uint32_t name_guard_left_alone(const struct name_guard *g);
/* How often a file has ended a process. */
uint32_t name_guard_ends(const struct name_guard *g, uint64_t key);
static inline bool name_guard_allows(const struct name_guard *g, uint64_t key)
{
	return name_guard_ends(g, key) < NAME_GUARD_ENDS;
}

/* Around the reading of one. */
void name_guard_begin(struct name_guard *g, uint64_t key);
void name_guard_end(struct name_guard *g);

#endif
