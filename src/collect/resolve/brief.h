/* collect/resolve/brief.h: brief lives (collect/resolve/lives.h) that are still unread in the rings
 * of the side band.
 *
 * A program that starts and ends between two readings has some ten records there, and mostly no
 * sample meets it. Its forks and exits are counted before anything is read; then all of its
 * records are skipped in place. So it costs a microsecond.
 *
 *     brief_clear, brief_add for each unread FORK, EXIT and LOST, brief_need for each process
 *     with an event, brief_find; then brief_has for each record that is read
 *
 * Records may be added in any order. In doubt a life is not brief: if its process id is used twice,
 * or a record of it is lost. */
#ifndef CRESSET_COLLECT_RESOLVE_BRIEF_H
#define CRESSET_COLLECT_RESOLVE_BRIEF_H

#include "base/hash.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct side_record;

struct brief_life {
	uint64_t begin_ns, end_ns; /* times of its fork and last exit */
	uint64_t first_exit_ns;
	uint32_t parent;
	uint32_t starts;         /* forks of the process */
	uint32_t threads, exits; /* started, and ended */
	bool is_brief;
};
struct brief {             /* zeroed = empty */
	struct map by_pid; /* → index in lives */
	struct map needed; /* pids with events */
	VEC(struct brief_life) lives;
	size_t n_brief;
	bool has_lost; /* records of threads may be missing */
};

void brief_clear(struct brief *b);
void brief_done(struct brief *b);

void brief_add(struct brief *b, const struct side_record *r);
void brief_need(struct brief *b, uint32_t pid);
void brief_find(struct brief *b);

/* Whether the record is of a brief life. */
bool brief_has(const struct brief *b, const struct side_record *r);

#endif
