/* tui/scan.h: one pass over the samples that are looked at: by process or thread, by what threads waited for, by CPU, and when. */
#ifndef CRESSET_TUI_SCAN_H
#define CRESSET_TUI_SCAN_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "tui/look.h"

enum scan_by { SCAN_PROCESS, SCAN_THREAD };

/* A process or a thread. */
struct scan_task {
	uint32_t pid, tid;     /* SAMPLE_NO_ID: not known; tid: of processes not set */
	const char *name;      /* the scan's; "" */
	const char *process;   /* of threads: that of the process */
	int64_t value, kernel; /* in the unit of the type; of it in the kernel */
	const char *hottest;   /* the leaf function with the greatest sum; "" */
	int64_t hottest_value;
	uint32_t threads; /* of processes: that were seen */
};
/* Waits for one thing by one process, ended by one. */
struct scan_wait {
	const char *reason, *process, *waker; /* "": not known */
	uint32_t pid;
	int64_t value, longest;
	uint64_t n;
};
/* Samples of the columns of a heatmap: cells[column * rows + row]. */
struct scan_heat {
	int64_t start_ns, column_ns; /* of the first column */
	uint32_t columns, rows;
	int64_t *cells;
	int64_t max;
};

struct scan_cpu {
	int64_t user, sys;
};

struct scan {
	VEC(struct scan_task) tasks;
	VEC(struct scan_wait) waits;
	VEC(struct scan_cpu) cpus; /* by number */
	struct scan_heat heat;
	int64_t total;      /* of all that was looked at */
	const char *unit;   /* of the values: "nanoseconds" where a period tells; the catalog's */
	struct arena arena; /* all text */
};

/* Each fills the part it is called after, and total and unit. s is zeroed, and to be done in any case. */
int scan_tasks(struct scan *s, const struct look *l, enum scan_by by, struct err *err);
int scan_waits(struct scan *s, const struct look *l, struct err *err);
int scan_cpus(struct scan *s, const struct look *l, struct err *err);
/* As many columns as there may be at most, with so many rows each; the newest column is the last. */
int scan_heat(struct scan *s, const struct look *l, uint32_t columns, uint32_t rows,
	      struct err *err);
void scan_done(struct scan *s);

#endif
