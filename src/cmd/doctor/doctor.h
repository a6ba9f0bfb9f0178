/* cmd/doctor/doctor.h: the parts of `cresset doctor`. Recording uses the first. */
#ifndef CRESSET_CMD_DOCTOR_DOCTOR_H
#define CRESSET_CMD_DOCTOR_DOCTOR_H

#include "base/err.h"
#include "cmd/cli/cmd.h"
#include "collect/collect.h"
#include "collect/kernel/check.h"
#include "collect/kernel/missing.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct json;
struct term;

/* --- probe_recording.c: tests whether this user can record on this machine now, by a trial
 * recording that is thrown away. */

struct probe_recording {
	int rc;                     /* 0 or -errno of the collector */
	struct err err;             /* why not */
	struct collect_stats stats; /* up to the failure: clock and walker */
	struct collect_missing missing[COLLECT_GROUPS];
	size_t n_missing;
};
/* Records cpu, off-cpu and page-fault. kernel: after kernel_finalize
 * (cmd/files/kernel.h). */
void probe_recording_run(const struct kernel_opts *kernel, struct probe_recording *t);
/* Returns NULL if the group is not missing. */
const struct collect_missing *probe_recording_missing(const struct probe_recording *t,
						      enum collect_group group);
/* Whether everything that cresset up records by default works, whatever else is missing. */
bool probe_recording_is_whole(const struct probe_recording *t);

/* The exit status for an error of the collector. */
enum cmd_status collect_status(int rc);

/* --- results of checks as text and as JSON --- */

/* "ok", "limited", "missing"; and as a mark before a line, two columns wide. */
const char *check_word(enum check_state state);
void term_check(struct buf *b, const struct term *term, enum check_state state);

/* Appends one line: mark, name, detail. */
void check_row(struct buf *b, const struct term *term, enum check_state state, const char *name,
	       const char *detail);
/* Appends a hint, line by line, except a line that names this command. */
void hint_text(struct buf *b, const char *indent, const char *hint);
/* Appends checks with their remedies. */
void checks_text(struct buf *b, const struct term *term, const struct check *checks, size_t n);
/* Appends checks [{name, state, detail, remedy}] to the current object. */
void checks_json(struct json *j, const struct check *checks, size_t n);

/* --- other checks: doctor_pid.c, doctor_data.c, doctor_self.c --- */

/* cresset doctor PID. JSON:
 *
 *     pid, comm, bits (64 or 32), files [{path, deleted, state, build_id, names_from, functions,
 *     debug_file, go, frames_from, frame_rows,
 *     error, remedy}], jit {bytes, perf_map (null: none), remedy},
 *     memory {state, go, go_why_not, java, java_why_not, library, library_loaded,
 *     library_why_not}
 *
 * state is "ok", "limited" or "missing"; unknown or absent values are null. Returns the exit
 * status. */
int doctor_pid(struct cmd_line *line, const char *pid);

/* --- doctor_memory.c: how allocations of a process can be recorded; changes nothing in it. */
struct doctor_memory {
	/* 0: Go's heap profile; -ENOTSUP: a Go program without symbols, by go_err; others: no Go
	 * program. */
	int go, java; /* java: the same for HotSpot's sampler, by java_err */
	int library;  /* 0: it can have the memory library, or has it; others: why not, in … */
	bool is_loaded;
	bool go_by_code; /* it has no symbols: its profile cannot be turned on */
	struct err go_err, java_err, library_err;
};
void doctor_memory_find(uint32_t pid, struct doctor_memory *out);
void doctor_memory_text(struct buf *b, const struct term *term, const struct doctor_memory *m);
void doctor_memory_json(struct json *j, const struct doctor_memory *m);

/* cresset doctor --data. JSON:
 *
 *     dir, sound, bytes, rows, blocks, bad_blocks, series, days, batches, bad_batches, from, to,
 *     kept_from (days; null: not known),
 *     files [{name, sound, bytes, problem, day, sealed, detail, blocks, rows, bad_blocks}]
 *
 * The last six are for partitions; null elsewhere. Returns the exit status: CMD_BAD_INPUT if
 * anything is damaged. */
int doctor_data(struct cmd_line *line, const char *dir);

/* cresset doctor --self. JSON:
 *
 *     version, build_id, sound, verified, checksums (path; null: none),
 *     files [{name, state, error}], checks
 *
 * state is "same", "changed", "missing", "not_a_file", "outside" or "not_readable". sound: nothing
 * is wrong; verified: the program and every listed file have the listed checksums. Returns the
 * exit status. */
int doctor_self(struct cmd_line *line);

#endif
