/* cmd/record.h: the parts of `cresset record`.
 *
 *     record.c         the options, and the run from beginning to end
 *     record_events.c  the kinds of events, and --list-events
 *     record_target.c  who is recorded
 *     record_threads.c --per-thread
 *     record_gpu.c     how GPUs are, by their driver
 *     child.c          `-- CMD`
 *     outputs.c        the files, opened before the start and written at the end
 *     interrupt.c      Ctrl-C and friends
 *     progress.c       the status line
 *     summary.c        what is said at the end */
#ifndef CRESSET_CMD_RECORD_H
#define CRESSET_CMD_RECORD_H

#include "cmd/child.h"
#include "cmd/cmd.h"
#include "cmd/cpu_time.h"
#include "cmd/machine.h"
#include "cmd/outputs.h"
#include "cmd/progress.h"
#include "collect/collect.h"
#include "format/thread_files.h"
#include "gpu/watch.h"
#include "profile/profile.h"

struct record_opts {
	bool all;
	struct str_list pids, tids;
	const char *comm, *cgroup;

	struct choice_list events;
	uint64_t freq_hz, duration_ns;
	int clock; /* enum collect_clock */
	bool no_kernel, no_user, list_events;
	int gpu; /* enum gpu_level */
	uint64_t max_depth;
	int unwind;        /* enum unwind_mode */
	int python_native; /* 1: show */
	int wait_hook;
	uint64_t unwind_bytes;

	uint64_t min_block_ns, max_block_ns, max_rate;
	bool kernel_threads, wakers, waker_stacks;

	struct str_list outputs;
	const char *format;
	struct choice_list by;
	struct text_opts text;
	const char *per_thread; /* a folder */

	uint64_t buffer_bytes;
	struct opt_number max_lost_percent;
	bool no_progress;
	const char *btf; /* a file */
};

/* Everything that lives from the start of a recording to its end. */
struct recording {
	struct cmd_line *line;
	const struct record_opts *opts;
	struct machine machine;
	struct collect_opts collect; /* points into machine */
	struct outputs outputs;
	struct thread_files per_thread;
	struct child child;
	uint32_t child_id; /* its pid, as target */
	struct progress progress;
	struct profile *profile;
	struct collector *collector;
	struct collect_stats stats;
	struct gpu_watch *gpus;              /* NULL: nothing of a GPU is recorded */
	uint64_t gpus_mono_ns;               /* from then on they are read */
	uint64_t start_mono_ns, end_mono_ns; /* of sampling */
	uint64_t all_on_ns; /* from here on nothing is left out; --duration counts from here */
	struct cpu_time start_cpus, end_cpus; /* of the machine */
	uint64_t start_cpu_ns, end_cpu_ns;    /* own CPU time, start-up and symbolizing apart */
};

/* --- record_events.c */
extern const char *const event_words[]; /* for -e; NULL-terminated */
/* Prints the table. Returns an exit status. */
int events_list(const struct cmd_line *line, const struct collect_opts *kernel);
/* Fills what to record into collect. CMD_OK, or the exit status with the error printed: a kind that this version does not record,
 * options that do not go together. */
int events_settle(const struct cmd_line *line, const struct record_opts *o,
		  struct collect_opts *collect);
/* GPU time was asked for, not only all that there is of a GPU: without the library in the command it cannot be. */
bool events_need_library(const struct record_opts *o);
/* Of what is asked for, the kinds that are recorded: "cpu 99 Hz", "off-cpu", appended to b, dot between them. */
void events_describe(struct buf *b, const char *dot, const struct record_opts *o,
		     uint32_t recorded);

/* --- record_target.c */
/* Fills the target members of collect (ids live in line's arena). CMD_OK, or the exit status with the error printed. */
int target_settle(struct cmd_line *line, const struct record_opts *o, struct collect_opts *collect);
/* "the whole machine", "pid 4242", "./prog": appended to b. */
void target_describe(struct buf *b, const struct cmd_line *line, const struct record_opts *o);

/* --- record_threads.c: nothing without --per-thread. */
/* Makes the folder before anything is recorded. CMD_OK, or the exit status with the error printed, as the other. */
int per_thread_open(const struct recording *r);
int per_thread_write(struct recording *r, const struct format_write_opts *opts);

/* --- record_gpu.c: all do nothing where nothing of a GPU is recorded. */
void record_gpu_start(struct recording *r);
/* Before anything runs that is called after a GPU; waits a second at most. */
void record_gpu_name(struct recording *r);
/* What was read since the last time, into the profile; never waits for a driver. */
void record_gpu_take(struct recording *r);
void record_gpu_stop(struct recording *r);

/* --- summary.c */
/* The most memory that this process ever had, in bytes; 0 = unknown. */
uint64_t own_peak_bytes(void);
/* After everything was written: to standard error, or with --json to standard output. Returns an exit status. */
int summary_print(struct recording *r);

#endif
