/* format/firefox/firefox_tables.h: the parts of the reader, from the tables of a thread as stored
 * in the file, which are columns of integers, to the whole profile. */
#ifndef CRESSET_FORMAT_FIREFOX_FIREFOX_TABLES_H
#define CRESSET_FORMAT_FIREFOX_FIREFOX_TABLES_H

#include "base/hash.h"
#include "base/vec.h"
#include "format/common/stack_tree.h"
#include "profile/strtab.h"

#include <stdbool.h>
#include <stdint.h>

struct err;
struct json_reader;
struct json_value;
struct sink;

/* Columns of indexes and small numbers. null, non-numbers and values out of range are -1. Gecko's
 * frames have a location (a string) instead of a func. */
enum fx_column {
	FX_STACK_PREFIX,
	FX_STACK_FRAME,
	FX_FRAME_FUNC,
	FX_FRAME_LOCATION,
	FX_FRAME_ADDRESS,
	FX_FRAME_CATEGORY,
	FX_FRAME_LINE,
	FX_FUNC_NAME,
	FX_FUNC_IS_JS,
	FX_FUNC_RESOURCE,
	FX_FUNC_FILE,
	FX_FUNC_SOURCE,
	FX_FUNC_LINE,
	FX_RESOURCE_NAME,
	FX_RESOURCE_LIB,
	FX_SOURCE_FILE,
	FX_SAMPLE_STACK,
	FX_COLUMNS
};
/* Columns of the samples with fractions. Values that are not numbers are 0, in FX_CPU_DELTA NaN. */
enum fx_measure { FX_TIME, FX_TIME_DELTA, FX_WEIGHT, FX_CPU_DELTA, FX_MEASURES };

enum fx_weight { FX_SAMPLES, FX_TRACING_MS, FX_BYTES };

enum { FX_TABLES = 6 };

struct fx_tables { /* zeroed = empty */
	VEC(int32_t) columns[FX_COLUMNS];
	VEC(double) measures[FX_MEASURES];
	VEC(uint32_t) strings; /* in the reader's strtab */
	enum fx_weight weight_type;
	uint8_t seen; /* bit per table of fx_table_names */
	bool has_strings;
};
void fx_tables_done(struct fx_tables *t);

/* The remaining limit, and the number of skipped items. */
struct fx_budget {
	uint64_t cells_left, skipped;
};

/* Reads a member of a thread (or of shared) if key is a table. Returns 1, or 0 if it is not a
 * table; its value is then still unread. */
int fx_read_table(struct fx_tables *t, const struct json_value *key, struct json_reader *r,
		  struct strtab *texts, struct fx_budget *budget, struct err *err);

static inline int32_t fx_cell(const struct fx_tables *t, enum fx_column column, int32_t row)
{
	return row >= 0 && (size_t)row < t->columns[column].n ? t->columns[column].v[row] : -1;
}

/* The tables of the columns: bits of fx_tables.seen. */
enum fx_table {
	FX_SAMPLES_TABLE,
	FX_STACK_TABLE,
	FX_FRAME_TABLE,
	FX_FUNC_TABLE,
	FX_RESOURCE_TABLE,
	FX_SOURCE_TABLE
};

/* --- firefox_cpu.c ---
 *
 * CPU time of samples. threadCPUDelta of a sample is the time that its thread was on a CPU since
 * the previous one. Samplers take samples of blocked threads, too, so without it they tell where
 * threads were, not where CPU time went.
 *
 * With it there are two types in ns: cpu, that time, and wall, weight * meta.interval, with
 * [off-CPU] where the thread was on a CPU for less than half of it. The unit is in
 * meta.sampleUnits; if unknown, or `variable CPU cycles`, the most that any thread used per ms
 * counts as a whole CPU. A thread without the column gives wall alone. */

/* Whether any sample has a threadCPUDelta. */
bool fx_has_cpu_deltas(const struct fx_tables *t);

/* Returns the ns of one unit of threadCPUDelta, or 0 if the unit is relative: cycles of a CPU of
 * varying speed, or a unit that the file does not name. */
double fx_cpu_unit_ns(const char *unit);

/* The most units that the thread used per ms between two samples. Of a relative unit, the most of
 * any thread are a thread that was always on a CPU. */
double fx_most_cpu_per_ms(const struct fx_tables *t, double interval_ms);

/* --- firefox_stacks.c ---
 *
 * Converts the tables of a thread to the sink's frames and stacks. Used only by the reader. */

/* A loaded library. Its addresses are in the process; only Gecko's format has them. */
struct fx_lib {
	uint64_t start, end;
	uint32_t name, path, code_id; /* in the reader's strtab */
	uint32_t order;               /* in the file */
	uint32_t id;                  /* of this file in the profile */
};

/* A list of libraries, by index in struct fx_process.libs. */
struct fx_libs {
	uint32_t first, n;
};

/* The source of frames. If a thread has no strings or sources, the shared ones are used. */
struct fx_stacks {
	const struct fx_tables *own, *shared;
	const struct fx_lib *libs; /* of the thread, or else of its process, in the file's order */
	size_t n_libs;
	const struct fx_lib *by_start; /* all of the process, then in the file's order */
	size_t n_by_start;
	const uint8_t *kinds; /* by category: enum frame_kind, or FRAME_KINDS if unknown */
	size_t n_kinds;
	const struct strtab *texts;
	struct sink *sink;
	const struct format_here *here; /* NULL: frames without names are known by name */
	struct map frames;              /* row of the frame table → the sink's frame */
	struct stack_tree tree;
	bool planted;
};

/* Returns the sink's stack of a row of the stack table, like stack_tree_stack. */
uint32_t fx_stack(struct fx_stacks *s, int32_t row);
void fx_stacks_done(struct fx_stacks *s);

/* --- firefox_read.c ---
 *
 * A profile being read: firefox_read.c fills a struct fx_reader from the JSON, then firefox_give.c
 * passes it to the sink. */

struct fx_thread {
	uint32_t process; /* index */
	uint32_t name, process_name;
	uint32_t pid, tid;
	struct fx_libs libs; /* n = 0: the process has them */
	struct fx_tables tables;
};
/* The file itself, and each process nested in it. */
struct fx_process {
	uint32_t index;
	double start_ms, interval_ms;
	uint32_t cpu_unit;           /* of threadCPUDelta */
	VEC(struct fx_lib) libs;     /* of the process and of its threads, in the file's order */
	VEC(struct fx_lib) by_start; /* filled by fx_give */
	struct fx_libs own;          /* of the process */
	VEC(uint8_t) kinds;
	struct fx_tables shared;
	struct fx_stacks shared_stacks; /* for threads without their own tables */
};
/* The type in meta.extra of our own writer; 0 if missing. */
struct fx_type {
	uint32_t name, sample_type, unit, period_type, period_unit;
	bool is_said;
	int64_t period;
};

struct fx_reader {
	struct sink *sink;
	const struct format_here *here;
	struct json_reader *json;
	struct err *err;
	struct strtab texts;
	uint32_t n_libs; /* of all processes */
	struct fx_budget budget;
	VEC(struct fx_thread *) threads;
	VEC(struct fx_process *) processes;
	struct fx_type type;
	bool has_cpu_time;      /* a thread has threadCPUDelta */
	uint64_t too_large;     /* samples with more than the time that had passed … */
	double too_large_ns;    /* … by this, in all */
	double most_cpu_per_ms; /* of the threads with a relative unit */
	uint32_t origin;        /* meta.importedFrom */
	uint64_t given;
	int64_t first_ns, last_ns;
};

/* --- firefox_give.c --- */

/* Passes all samples to the sink. Returns -EBADMSG if no thread has one; name is the file's. */
int fx_give(struct fx_reader *f, const char *name);

#endif
