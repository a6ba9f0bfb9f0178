/* collect/process/proc_scan.h: fills the process table from /proc, as of now. */
#ifndef CRESSET_COLLECT_PROCESS_PROC_SCAN_H
#define CRESSET_COLLECT_PROCESS_PROC_SCAN_H

#include <stdbool.h>
#include <stdint.h>

struct allowance;
struct process;
struct process_table;

/* Callers read the mappings of a process at most this often; SCAN_LATE_NS after a reading that got
 * no response in time. */
#define SCAN_AGAIN_NS 1000000000ull
#define SCAN_LATE_NS  100000000ull

/* Reads the name and the executable mappings of one process. Anything that can no longer be read
 * stays unchanged: samples of a moment ago may need it. A process that is gone is marked as ended
 * at now_ns. */
void proc_scan(struct process_table *t, struct process *p, uint64_t now_ns);

/* The same if that allowance has time left. */
void proc_scan_within(struct process_table *t, struct process *p, struct allowance *time,
		      uint64_t now_ns);

/* Reads every process of /proc; marks processes of the table that are no longer there as
 * ended. Calls between, unless NULL, after each: it takes long, and must not change the table. */
void proc_scan_all(struct process_table *t, uint64_t now_ns, void (*between)(void *ctx), void *ctx);

#endif
