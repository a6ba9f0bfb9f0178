/* collect/process/traced.h: passes to the reader in the kernel (bpf/trace_read.h) which processes'
 * threads publish the span that they work for, and where.
 *
 * A process is examined when its process context states that they do, when its labels are looked up
 * again (labels.h), and when it has mapped more code: the library with the variable may be loaded
 * late. The kernel side itself forgets a process that calls exec or ends. */
#ifndef CRESSET_COLLECT_PROCESS_TRACED_H
#define CRESSET_COLLECT_PROCESS_TRACED_H

#include "collect/kernel/walker_maps.h"
#include "collect/process/user_shares.h"

#include <stdbool.h>
#include <stdint.h>

struct object_table;
struct process;

struct traced {
	struct traced_maps maps;
	struct user_shares users; /* of the n that are there */
	uint32_t n;
	uint64_t refused; /* processes: the table, or the user's share of it, was full */
};

/* Takes a process with a sample. */
void traced_look(struct traced *t, struct process *p, struct object_table *objects,
		 uint64_t now_ns);
/* Takes a process that calls exec, or has ended. */
void traced_forget(struct traced *t, struct process *p);
void traced_done(struct traced *t);
/* Call it now and then: the kernel may have forgotten the last process. */
void traced_sweep(struct traced *t);

#endif
