/* cmd/record/record_state.h: one run of `cresset record`, and its parts.
 *
 *     record.c         the options, the run from start to end, --per-thread
 *     record_events.c  the kinds of events, and --list-events
 *     record_target.c  the recorded processes
 *     record_gpu.c     readings of GPUs by their driver
 *     child.c          `-- CMD`
 *     outputs.c        the files, opened before the start and written at the end
 *     interrupt.c      Ctrl-C and similar signals
 *     progress.c       the status line
 *     summary.c        the summary at the end */
#ifndef CRESSET_CMD_RECORD_RECORD_STATE_H
#define CRESSET_CMD_RECORD_RECORD_STATE_H

#include "cmd/cli/cmd.h"
#include "cmd/files/kernel.h"
#include "cmd/files/outputs.h"
#include "collect/collect.h"
#include "collect/kernel/sampler_opts.h"
#include "format/threads/thread_files.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct buf;
struct err;

/* --- child.c: the program after "--". It is forked at once, so that its pid can be a target, and
 * waits on a pipe until the recording runs. It keeps our terminal, our standard streams and our
 * original signal settings. */

struct child {
	pid_t pid;  /* 0 = there is none */
	int gate;   /* closing it without a byte ends the child */
	int failed; /* read end: the errno of a failed exec; nothing if exec succeeded */
	bool ended;
	int status; /* as in a shell: exit status, or 128 + signal */
};

/* argv: NULL-terminated. Returns -errno if fork fails. */
int child_start(struct child *c, const char *const *argv, struct err *err);
/* Lets it exec, and waits for that. Returns -errno of exec, with err set. */
int child_release(struct child *c, struct err *err);
/* Returns true once it has ended; c->status is valid then. */
bool child_poll(struct child *c);
void child_wait(struct child *c);
/* A child that was not released ends without running the program. */
void child_done(struct child *c);

/* --- progress.c: the status line of a running recording: at most 4 times a second on a terminal,
 * one line per 10 s elsewhere. */

struct progress {
	const struct term *term;
	bool off, live;                      /* live: one line that is overwritten */
	uint64_t start_mono_ns, duration_ns; /* of the recording; 0 = no limit */
	uint64_t next_mono_ns;
	uint64_t last_mono_ns, last_cpu_ns; /* for the CPU use since the last line */
};

/* cpu_ns: own CPU time so far, also in progress_show. */
void progress_init(struct progress *p, const struct term *term, bool off, uint64_t now_mono_ns,
		   uint64_t duration_ns, uint64_t cpu_ns);
/* Whether progress_show would print something now. */
bool progress_due(const struct progress *p, uint64_t now_mono_ns);
void progress_show(struct progress *p, uint64_t now_mono_ns, uint64_t cpu_ns,
		   const struct collect_stats *s);
/* Removes the line from the terminal, or replaces it by the current activity. */
void progress_clear(struct progress *p);
void progress_say(struct progress *p, const char *text);

/* --- the recording --- */

struct cpu_time {
	double busy_s;  /* since boot; < 0: unknown */
	double steal_s; /* taken by the host in that time */
};

struct record_opts {
	bool all;
	struct str_list pids, tids;
	struct choice_list events;
	int gpu;                     /* enum gpu_level */
	struct collect_opts collect; /* settle adds the options above to it */
	uint64_t duration_ns;
	bool list_events;

	struct str_list outputs;
	const char *format;
	struct choice_list by;
	struct text_opts text;
	const char *per_thread; /* a directory */

	struct opt_number max_lost_percent;
	bool no_progress;
};

/* The state of a recording, from start to end. */
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
	size_t n_missing; /* features that were missing at its start */
	struct collect_stats stats;
	char heap_library[1024];             /* path of it; "": no allocations are recorded */
	const char *preload_before;          /* LD_PRELOAD; NULL: not set */
	struct gpu_watch *gpus;              /* NULL: no GPU events are recorded */
	uint64_t gpus_mono_ns;               /* they are read from then on */
	uint64_t start_mono_ns, end_mono_ns; /* of sampling */
	uint64_t all_on_ns; /* from then on nothing is left out; --duration starts here */
	struct cpu_time start_cpus, end_cpus; /* of the machine */
	uint64_t start_cpu_ns, end_cpu_ns;    /* own CPU time, without start-up and symbolizing */
};

/* --- record_events.c */
extern const char *const event_words[]; /* for -e; NULL-terminated */
/* Prints the table. Returns an exit status. */
int events_list(const struct cmd_line *line, const struct kernel_opts *kernel);
/* Sets what to record in asked. Returns CMD_OK, or the exit status with the error printed:
 * options that do not go together. */
int events_finalize(const struct cmd_line *line, const struct record_opts *o,
		    struct sampler_opts *asked);
/* Whether GPU time was requested by name, not only as part of all GPU events: then the command must
 * have the library. */
bool events_need_library(const struct record_opts *o);
/* Appends the requested kinds that are recorded: "cpu 99 Hz", "off-cpu", with dot between them. */
void events_describe(struct buf *b, const char *dot, const struct record_opts *o,
		     uint32_t recorded);

/* --- record_target.c */
/* Sets the target members of asked (ids are in line's arena). Returns CMD_OK, or the exit status
 * with the error printed. */
int target_finalize(struct cmd_line *line, const struct record_opts *o, struct sampler_opts *asked);
/* Appends "the whole machine", "pid 4242" or "./prog". */
void target_describe(struct buf *b, const struct cmd_line *line, const struct record_opts *o);

/* --- record_gpu.c: these do nothing if no GPU events are recorded. */
void record_gpu_start(struct recording *r);
/* Call it before anything is named after a GPU; waits a second at most. */
void record_gpu_name(struct recording *r);
/* Adds the readings since the last call to the profile; never waits for a driver. */
void record_gpu_take(struct recording *r);
void record_gpu_stop(struct recording *r);

/* --- record_heap.c: these do nothing if no allocations are recorded. */
/* Finds the library, and attaches it to processes, or refuses a command that cannot load it.
 * Returns an exit status. */
int record_heap_prepare(struct recording *r);
/* Sets and clears the variables by which a command loads the library. */
void record_heap_inject(const struct recording *r);
void record_heap_restore(const struct recording *r);

/* --- summary.c */
/* Returns the peak memory of this process in bytes; 0 = unknown. */
uint64_t own_peak_bytes(void);
/* Call it after everything was written. Prints to standard error, or with --json to standard
 * output. Returns an exit status. */
int summary_print(struct recording *r);

#endif
