/* format/firefox/firefox_read.h: a profile being read: firefox_read.c fills a struct fx_reader from
 * the JSON, then firefox_give.c passes it to the sink. */
#ifndef CRESSET_FORMAT_FIREFOX_FIREFOX_READ_H
#define CRESSET_FORMAT_FIREFOX_FIREFOX_READ_H

#include "base/vec.h"
#include "format/firefox/firefox_tables.h"
#include "profile/strtab.h"

#include <stdbool.h>
#include <stdint.h>

struct err;
struct json_reader;
struct sink;

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
