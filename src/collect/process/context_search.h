/* collect/process/context_search.h: finds processes that publish what they are (process_context.h)
 * soon after they start to, however many others there are.
 *
 * Nothing announces the mapping that has it, and /proc/PID/maps is long. But each sample has the
 * number of mappings of its process (bpf/event.h), and a process that has published has one more.
 * So the mappings of a process are read
 *
 *     if it has had samples for ¼ s: shorter processes would be most of the work
 *     if their number differs from the last reading, or the last reading was too early
 *     ¼ s, ½ s, 1 s, and from then on 2 s after the last reading; later, if reading would take
 *     more than 0.05 % of a CPU
 *     again after two minutes without any of this: it may have unmapped one
 *
 * within a share of a CPU. First readings, those of young processes and those of old ones have a
 * share each. So processes that map and unmap all the time, or hundreds of old ones, do not delay a
 * new one. An unused share is saved up for a burst. */
#ifndef CRESSET_COLLECT_PROCESS_CONTEXT_SEARCH_H
#define CRESSET_COLLECT_PROCESS_CONTEXT_SEARCH_H

#include <stdint.h>

struct process;
struct proc_reader;

enum search_age { SEARCH_FIRST, SEARCH_YOUNG, SEARCH_OLD, SEARCH_AGES };

struct context_search {
	struct proc_reader *reader;   /* of mappings; the caller's; NULL: this process reads */
	uint64_t filled_ns;           /* when shares were last refilled; 0: never */
	int64_t left_ns[SEARCH_AGES]; /* of CPU time */
	uint64_t reads, found;        /* readings of mappings */
};

/* Takes a process with a sample at now_ns. mappings: its number of mappings (0: unknown). Sets
 * p->is_published when the context's mapping has been found. */
void context_search_look(struct context_search *s, struct process *p, uint32_t mappings,
			 uint64_t now_ns);

/* Call it if there is no context at p->context_addr, or not yet. */
void context_search_resume(struct process *p);

#endif
