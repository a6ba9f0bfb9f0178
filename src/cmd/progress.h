/* cmd/progress.h: the status line of a running recording: at most 4 times a second on a terminal, one line per 10 s elsewhere. */
#ifndef CRESSET_CMD_PROGRESS_H
#define CRESSET_CMD_PROGRESS_H

#include "cmd/term.h"
#include "collect/collect.h"

#include <stdbool.h>
#include <stdint.h>

struct progress {
	const struct term *term;
	bool off, live;                      /* live: one line that is written over */
	uint64_t start_mono_ns, duration_ns; /* of the recording; 0 = open end */
	uint64_t next_mono_ns;
	uint64_t last_mono_ns, last_cpu_ns; /* for the CPU use since the last line */
};

void progress_init(struct progress *p, const struct term *term, bool off, uint64_t now_mono_ns,
		   uint64_t duration_ns);
/* Whether progress_show would say something now. */
bool progress_due(const struct progress *p, uint64_t now_mono_ns);
void progress_show(struct progress *p, uint64_t now_mono_ns, const struct collect_stats *s);
/* Removes the line from the terminal, or writes what is done now in its place. */
void progress_clear(struct progress *p);
void progress_say(struct progress *p, const char *text);

/* "00:12/00:30 · 2,143 samples · 0 lost · 0.2 % truncated · self 0.6 % of a CPU": appended to b. */
void progress_line(struct buf *b, const char *dot, uint64_t elapsed_ns, uint64_t duration_ns,
		   const struct collect_stats *s, double own_percent);

#endif
