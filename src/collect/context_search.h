/* collect/context_search.h: which processes publish what they are (process_context.h), soon after they begin to, however many others there are.
 *
 * Nothing announces the mapping that has it, and /proc/PID/maps is long. But each sample says how many mappings its process has
 * (bpf/event.h), and one that has published has one more. So mappings are read of a process
 *
 *     of which samples come for ¼ s: shorter ones would be most of the work
 *     that has more or fewer of them than when they were read, or whose were read too early the last time
 *     ¼ s, ½ s, 1 s, from then on 2 s after the last time; if reading takes so long that this is more than 0.05 % of a CPU, later
 *     again after two minutes without any of that: it may have given one back
 *
 * while the share of time for it lasts, a part of a CPU. Those that are read for the first time, those that are still young and old ones have
 * a share each: so processes that make and give back mappings all the time, or hundreds that were there already, do not make a new one
 * wait. A share that was not used lasts for a burst. */
#ifndef CRESSET_COLLECT_CONTEXT_SEARCH_H
#define CRESSET_COLLECT_CONTEXT_SEARCH_H

#include "collect/process.h"

#include <stdint.h>

enum search_age { SEARCH_FIRST, SEARCH_YOUNG, SEARCH_OLD, SEARCH_AGES };

struct context_search {
	uint64_t filled_ns;           /* when the shares were filled up; 0: not yet */
	int64_t left_ns[SEARCH_AGES]; /* of CPU time */
	uint64_t reads, found;        /* of mappings */
};

/* A process of which a sample came, taken now_ns, with so many mappings (0: not known). p->is_published is set when the context's has been
 * found. */
void context_search_look(struct context_search *s, struct process *p, uint32_t mappings,
			 uint64_t now_ns);

/* What is at p->context_addr is no context, or none yet. */
void context_search_resume(struct process *p);

#endif
