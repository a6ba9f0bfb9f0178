/* collect/collect.h: the collector: turns timer interrupts in the kernel into samples with frames
 * in a sink.
 *
 *     collect_open    loads the BPF programs, opens the side band and the process table; nothing
 *                     samples yet
 *     collect_start   opens the sampling events; from here on the sink fills
 *     collect_run     waits, reads new events, resolves what is safe to resolve; call it in a loop
 *     collect_stop    stops sampling, reads the rest
 *     collect_symbolize  gives every frame in the sink its names; call it last
 *
 * Always on, instead of stopping:
 *
 *     collect_cut         ends an interval: its data is in the sink
 *     collect_name_kernel gives the kernel's frames their names
 *     collect_set_sink    continues with an empty sink, so that memory stays bounded
 *
 * Single-threaded: everything happens inside these calls. A sample is resolved against the mappings
 * valid at its own time: side-band records and samples are pending until every CPU's ring has been
 * read past their time, then handed out in time order. */
#ifndef CRESSET_COLLECT_COLLECT_H
#define CRESSET_COLLECT_COLLECT_H

#include "bpf/event.h"
#include "collect/collect_opts.h"
#include "collect/kernel/gpu_stats.h"
#include "collect/kernel/missing.h"
#include "collect/worker/helper.h"
#include "collect/worker/proc_reader.h"
#include "profile/copy.h"
#include "profile/sink.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

struct collect_stats {
	uint64_t samples, truncated,
		unsymbolized;     /* truncated: samples whose stack ends in a marker */
	uint64_t below_main;      /* whole, though a C library without unwind rows calls main */
	uint64_t ends[WALK_ENDS]; /* samples, by why their stacks end (collect/kernel/walk_end.h) */
	uint64_t lost; /* samples so far; the reasons are in the sink's meta after collect_stop */
	uint64_t ring_bytes, kernel_map_bytes;
	uint64_t read_bytes; /* written by the kernel for samples and stacks */
	uint64_t bpf_ns;     /* time of BPF programs, except probes of libraries */
	uint64_t bpf_runs;   /* 0 unless kernel.bpf_stats_enabled */
	uint32_t cpus, processes, objects;
	struct name_failures names; /* after collect_symbolize */
	/* CPU time spent on kernel names, and how often kernel symbols were read for
	 * collect_name_kernel. */
	uint64_t kernel_names_ns, kernel_symbols_read;
	uint64_t first_sample_ns; /* CLOCK_MONOTONIC, 0 = none yet */
	/* what the last collect_cut reported is not in the sink yet: it waits for unwind tables, at
	 * most 10 s */
	bool cut_is_held;
	const char *clock;     /* "cpu-clock" or "cycles" */
	uint64_t uncounted_ns; /* CPU time while others had the cycle counter */
	const char *walker;    /* "unwind tables", "frame pointers" or "frame pointers (helper)" */
	uint64_t frames_by_table, frames_by_fp;
	uint64_t raw, raw_bytes; /* samples walked in user space; of read_bytes */
	/* Could not be: the ring was too full, or copying stacks took too long. */
	uint64_t raw_no_room, raw_no_time;
	uint32_t tables; /* in the kernel */
	uint64_t table_bytes, tables_evicted,
		tables_refused; /* refused: larger than all table memory */
	/* Read from disk; damaged ones were built again. */
	uint64_t tables_loaded, tables_damaged;
	const char *wait_hook;  /* "sched_exit_tp" or "sys_exit"; NULL: waits are not recorded */
	uint64_t waits;         /* samples that are waits */
	uint64_t waits_sampled; /* waits beyond max_rate; others stand for them */
	double wait_share;      /* current share of time in which switches are recorded; 1: all */
	double wait_load;       /* of a CPU: cost of recording all switches; 0: unknown */
	/* number of cuts that together report all pending waits: 1, or more if there are very
	 * many */
	uint32_t wait_turns;
	uint64_t fault_pauses; /* how often page faults were not watched: over the budget */
	/* Time of all waits too short (or long) for a stack, of all threads, after collect_stop;
	 * all blocked time if no waits were requested. */
	int64_t short_off_ns;
	struct gpu_time_stats gpu_time;
	struct gpu_stall_stats gpu_stall;
	struct heap_stats heap;         /* after collect_stop, except programs */
	struct gpu_probes_stats gpu;    /* zeros where no GPU event was requested */
	struct helper_stats workers;    /* processes that read of others */
	struct proc_reader_stats reads; /* of other processes, that failed */
};

struct collector;

/* Raises this process's soft limit of descriptors to what the machine's CPUs need, as far as its
 * hard limit allows; fork children that must keep the old limit first. -EPERM: permission missing;
 * -EOPNOTSUPP: kernel or feature missing; -ESRCH: target not found; -EINVAL: options. Succeeds when
 * at least one of the events can be recorded; collect_get_missing lists the rest. */
int collect_open(const struct collect_opts *opts, struct sink *sink, struct collector **out,
		 struct err *err);
/* Lists what cannot be recorded; valid until collect_free. Call it after collect_open; an entry for
 * GPUs may appear later, when a library is first seen, and one for interpreters. */
size_t collect_get_missing(struct collector *c, const struct collect_missing **out);
/* The requested events that are not missing. */
uint32_t collect_events(const struct collector *c);
int collect_start(struct collector *c, struct err *err);
/* Returns when collect_start opened the first event, CLOCK_MONOTONIC; no data is older. */
uint64_t collect_started_ns(const struct collector *c);
/* Waits at most timeout_ms (a signal ends the wait early). Returns 0, or -errno on an internal
 * failure. -ECHILD, of an always-on collector: start again with another one; collect_stop and what
 * follows it still work. */
int collect_run(struct collector *c, int timeout_ms, struct err *err);
/* Returns true once every target process or thread has ended (TARGET_PID, TARGET_TID only). */
bool collect_targets_gone(struct collector *c);
int collect_stop(struct collector *c, struct err *err);
/* Returns when collect_stop had closed the last event, CLOCK_MONOTONIC; no data is newer. */
uint64_t collect_stopped_ns(const struct collector *c);
void collect_symbolize(struct collector *c);

/* Makes collect_run return when fd is readable as well, until fd is closed; fd stays the caller's.
 * (collect_run's own descriptors cannot be polled elsewhere: polling a ring of perf events reports
 * only once that it is readable.) */
int collect_watch(struct collector *c, int fd, struct err *err);
/* The same, edge-triggered: only new data makes collect_run return, not data left unread. */
int collect_watch_news(struct collector *c, int fd, struct err *err);
/* Shows which GPUs this machine has, for their names. Call it before collect_start, or as soon as
 * it is known; an always-on collector waits for it, at most a second. m stays the caller's. */
struct gpu_machine;
void collect_gpu_named(struct collector *c, const struct gpu_machine *m);
/* Passes on what the driver reported about GPUs since the last call (gpu/device/watch.h), for
 * memory in use that was not counted. told stays the caller's. */
struct gpu_reading;
void collect_gpu_update(struct collector *c, const struct gpu_reading *told);
/* Returns the hook's result for the labels that samples of these events (enum collect_event: GPU
 * time, or memory) of the process would have now; false for an unknown process. */
bool collect_ask_labels(struct collector *c, uint32_t pid, uint32_t events,
			const struct series_hook *hook);
/* Ends an interval: reports pending waits up to now, releases samples that are held for names, and
 * passes the sink the losses since the last cut. No sample comes twice. With waits it takes 20 ms
 * more, so that everything older is in the sink, except what is held until unwind tables are built
 * (collect_stats.cut_is_held); that follows later. */
int collect_cut(struct collector *c, struct err *err);
/* The same without pending waits, for callers that want samples early and often: asking every
 * thread is most of the cost of a cut. */
int collect_catch_up(struct collector *c, struct err *err);
/* Requests the names that samples of code made at run time are held for. After wait_ms all these
 * samples are in the sink, some without names. */
void collect_settle(struct collector *c, uint32_t wait_ms);
/* Gives the kernel's frames their names; returns true if one had none. Without keep_kernel_names,
 * frames that were named for an earlier sink are left out. */
bool collect_name_kernel(struct collector *c);
/* Sends everything to another sink from here on; call it right after collect_cut. copy: copies from
 * the old sink to the new one what is in use on GPUs; NULL: that is forgotten. -EINVAL while `wall`
 * is recorded, because samples are held. */
int collect_set_sink(struct collector *c, struct sink *sink, struct profile_copy *copy,
		     struct err *err);
/* Returns a descriptor of the file behind a mapping of the sink, for reading; it stays the
 * collector's, until the next call. -ENOENT: none. */
int collect_file(struct collector *c, uint32_t mapping);

void collect_get_stats(struct collector *c, struct collect_stats *out);
/* CPU time of this process, all threads, and of the processes that read others for it. */
uint64_t collect_cpu_ns(const struct collector *c);
/* Only the GPU statistics, which costs less. */
void collect_get_gpu_stats(struct collector *c, struct gpu_probes_stats *probes,
			   struct gpu_time_stats *time);
void collect_free(struct collector *c);

#endif
