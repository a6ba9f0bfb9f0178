/* collect/resolve/lives.h: the lives of processes within a batch of side-band records: from a fork
 * to the exit of the last thread.
 *
 * On a host that starts hundreds of programs a second, most processes start and end between two
 * readings, and no sample meets them. Such a life is brief: its mappings need not be followed. A
 * life is not brief if
 *
 *     an event refers to it (lives_need)
 *     it has children that are not brief: they start with its mappings
 *     it started before the batch, or has a thread that has not ended in it
 *
 * Records are added newest first. */
#ifndef CRESSET_COLLECT_RESOLVE_LIVES_H
#define CRESSET_COLLECT_RESOLVE_LIVES_H

#include "base/hash.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct side_record;

struct life {
	int32_t threads; /* number that have ended, less number that have started */
	bool is_needed, has_started;
};
struct lives {             /* zeroed = empty */
	struct map by_pid; /* → life that later calls add to */
	VEC(struct life) all;
	VEC(uint32_t) of; /* by record: its life; LIFE_NONE */
};

enum { LIFE_NONE = UINT32_MAX };

void lives_clear(struct lives *l);
void lives_done(struct lives *l);

/* Adds the record before all others. */
void lives_add(struct lives *l, const struct side_record *r);
/* An event, before all records so far, needs the process. */
void lives_need(struct lives *l, uint32_t pid);

/* Call these when all records are added. i: the number of records that were added before it. */
bool lives_is_brief(const struct lives *l, size_t i);
/* Whether its process has ended within the batch, brief or not. */
bool lives_is_over(const struct lives *l, size_t i);

#endif
