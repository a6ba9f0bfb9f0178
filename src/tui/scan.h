/* tui/scan.h: one pass over the samples in scope: sums by process or thread, by wait, by CPU, or
 * over time. */
#ifndef CRESSET_TUI_SCAN_H
#define CRESSET_TUI_SCAN_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct err;
struct grid;
struct look;
struct profile;

enum scan_by { SCAN_PROCESS, SCAN_THREAD };

/* A process or a thread. */
struct scan_task {
	uint32_t pid, tid;     /* SAMPLE_NO_ID: unknown; tid is not set for processes */
	const char *name;      /* owned by the scan; "" */
	const char *process;   /* for threads: the name of their process */
	int64_t value, kernel; /* in the unit of the type; kernel: the part in the kernel */
	const char *hottest;   /* the leaf function with the largest sum; "" */
	int64_t hottest_value;
	uint32_t threads; /* for processes: the number seen */
};
/* Waits for one reason by one process, ended by the same waker. */
struct scan_wait {
	const char *reason, *process, *waker; /* "": unknown */
	uint32_t pid;
	int64_t value, longest;
	uint64_t n;
};
/* A heatmap of samples: cells[column * rows + row]. */
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
	VEC(struct scan_cpu) cpus; /* by CPU number */
	struct scan_heat heat;
	int64_t total;      /* of everything in scope */
	const char *unit;   /* of the values; "nanoseconds" given a period; owned by the catalog */
	struct arena arena; /* all text */
};

/* Each fills its own part of s, and total and unit. s must be zeroed; call scan_done also on
 * failure. */
int scan_tasks(struct scan *s, const struct look *l, enum scan_by by, struct err *err);
int scan_waits(struct scan *s, const struct look *l, struct err *err);
int scan_cpus(struct scan *s, const struct look *l, struct err *err);
/* columns: the maximum number; rows: per column. The newest column is the last. */
int scan_heat(struct scan *s, const struct look *l, uint32_t columns, uint32_t rows,
	      struct err *err);
void scan_done(struct scan *s);

/* --- facts about a stack for the tables of tasks and waits, found once per stack --- */

/* Equal texts are the same pointer. */
struct stack_words {
	const char *leaf;   /* the leaf function, not counting markers; "" */
	const char *reason; /* of the wait; "" */
	const char *waker;  /* the task that ended the wait; "" */
	bool in_kernel;     /* the leaf is */
	bool has_function;  /* contains the requested function; true if none is requested */
};
struct stack_words_table {
	struct arena *arena;  /* of the texts */
	const char *function; /* the requested function; NULL: none */
	VEC(struct stack_words) all;
	struct map by_stack; /* hash of dictionary and stack → index in all */
	VEC(const char *) texts;
	struct map by_text;
	VEC(uint32_t) frames; /* of the current stack */
};
void stack_words_done(struct stack_words_table *t);

/* Valid until the next call. */
const struct stack_words *stack_words_get(struct stack_words_table *t, struct profile *dict,
					  uint32_t stack);
/* Returns a copy of text; equal texts share one copy. */
const char *stack_words_text(struct stack_words_table *t, const char *text, size_t len);

/* --- function_sums.c: self and total of every function in scope. The result equals that of
 * profile/tree/top.h for the same tree, but no tree is built: a refresh each second must be cheap.
 * Samples are summed by stack, and each stack's sum goes to its functions. */

struct function_sum {
	const char *name, *binary, *file; /* owned by the source */
	uint8_t kind;                     /* enum frame_kind */
	int64_t self, total;              /* in the type's unit, as in trees */
	uint64_t place;                   /* dictionary and number in it */
	uint32_t seen;                    /* in the current stack: the stack's number + 1 */
};
struct function_sums {                /* zeroed = empty */
	VEC(struct function_sum) all; /* unordered */
	/* Those with a value: by self, then total, both descending, then by place. */
	VEC(uint32_t) order; /* indices in all */
	int64_t total;
	char unit[32];
	struct arena arena;
	struct function_room *room; /* scratch memory, reused by the next function_sums_make */
};

/* Rebuilds out; the previous content is freed. Call function_sums_done also on failure. */
int function_sums_make(struct function_sums *out, const struct look *l, struct err *err);
/* Empties f but retains its memory. */
void function_sums_clear(struct function_sums *f);
void function_sums_done(struct function_sums *f);

/* --- heat.c: samples over time: a column for each second, divided from top to bottom. With colours
 * a character shows two cells, one above the other. */

struct heat {
	struct scan scan;
	uint32_t column, row; /* the selected cell */
};
struct heat_place {
	int y, rows, cols;
	bool has_colour;
	bool since_start; /* times are relative to the start, not wall clock */
};
enum { HEAT_LEFT = 8 }; /* columns for the scale */

/* Returns the number of columns and rows of cells that fit. */
void heat_cells(const struct heat_place *p, uint32_t *columns, uint32_t *rows);
void heat_draw(const struct heat *h, struct grid *g, const struct heat_place *p);
/* Selects the cell at a position of the grid. */
void heat_select_at(struct heat *h, const struct heat_place *p, int y, int x);
void heat_done(struct heat *h);

#endif
