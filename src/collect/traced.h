/* collect/traced.h: tells the reader in the kernel (bpf/trace_read.h) which processes' threads publish the span that they work for, and
 * where.
 *
 * A process is looked at when it says in its process context that they do, when its labels are looked at again (labels.h), and when it
 * has mapped other code: the library with the variable may come late. The kernel side forgets a process that calls exec or ends by itself. */
#ifndef CRESSET_COLLECT_TRACED_H
#define CRESSET_COLLECT_TRACED_H

#include "collect/process.h"

#include <stdbool.h>
#include <stdint.h>

/* Of bpf/sample.bpf.c; stays the caller's. */
struct traced_maps {
	int recipes;
	volatile uint32_t *is_any; /* processes are there */
};
struct traced {
	struct traced_maps maps;
	uint64_t refused; /* processes: the table was full */
};

/* A process of which a sample came. */
void traced_look(struct traced *t, struct process *p, struct object_table *objects,
		 uint64_t now_ns);
/* One that calls exec, or has ended. */
void traced_forget(struct traced *t, struct process *p);
/* Now and then: the kernel may have forgotten the last one. */
void traced_sweep(struct traced *t);

#endif
