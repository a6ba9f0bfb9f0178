/* cmd/top_cpus.h: how busy each CPU is, from /proc/stat (proc(5)). */
#ifndef CRESSET_CMD_TOP_CPUS_H
#define CRESSET_CMD_TOP_CPUS_H

#include "base/buf.h"
#include "base/vec.h"
#include "tui/feed.h"

struct cpu_ticks {
	uint64_t user, sys, wait, idle;
};
struct top_cpus {
	VEC(struct cpu_ticks) last;  /* by CPU */
	VEC(struct feed_cpu) shares; /* since the look before */
	struct buf text;
};
void top_cpus_done(struct top_cpus *c);

/* From one look to the next. Of a CPU that was not there before it is all 0. */
void top_cpus_look(struct top_cpus *c);
void top_cpus_put(struct top_cpus *c, const char *stat); /* the file's text */

#endif
