/* collect/proc_scan.h: the process table filled from /proc, as of now. */
#ifndef CRESSET_COLLECT_PROC_SCAN_H
#define CRESSET_COLLECT_PROC_SCAN_H

#include "collect/process.h"

#include <stdbool.h>
#include <stdint.h>

/* Reads name and executable mappings of one process. What cannot be read any more stays as it was:
 * the table may be needed for samples of a moment ago. A process that is gone is marked as ended at
 * now_ns. */
void proc_scan(struct process_table *t, struct process *p, uint64_t now_ns);

/* Every process of /proc; processes of the table that are not there any more are marked as
 * ended. */
void proc_scan_all(struct process_table *t, uint64_t now_ns);

#endif
