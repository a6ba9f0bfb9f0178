/* collect/kernel/sampler.h: loads the BPF programs of bpf/sample.bpf.c with their maps, and opens
 * one timer event per CPU.
 *
 * sampler_open loads the programs and fills the target tables, sampler_start opens the events,
 * sampler_read empties the ring. */
#ifndef CRESSET_COLLECT_KERNEL_SAMPLER_H
#define CRESSET_COLLECT_KERNEL_SAMPLER_H

#include "bpf/event.h"
#include "bpf/fault_event.h"
#include "bpf/gpu_event.h"
#include "collect/kernel/kernel_features.h"
#include "collect/kernel/missing.h"
#include "collect/kernel/program_news.h"
#include "collect/kernel/sampler_opts.h"
#include "collect/kernel/switch_windows.h"
#include "collect/kernel/walker_maps.h"
#include "runtime/runtime.h"

struct err;
struct sampler;

/* opts are settled. tag: data.u64 of the ring's descriptor in epoll_fd. Errors as collect_open. */
int sampler_open(const struct sampler_opts *opts, int epoll_fd, uint64_t tag, struct sampler **out,
		 struct err *err);
/* The remaining sampler_opts.events, and the missing groups; valid until sampler_close. */
uint32_t sampler_events(const struct sampler *s);
size_t sampler_get_missing(const struct sampler *s, const struct collect_missing **out);
/* Opens the sampling events, with the phases of the CPUs spread over the period. */
int sampler_start(struct sampler *s, struct err *err);
/* Opens events on CPUs that came online, closes those of CPUs that went offline. */
int sampler_update_cpus(struct sampler *s, struct err *err);
/* Closes the events; the ring's contents stay readable. */
void sampler_stop(struct sampler *s);

struct sampler_reader {
	void (*sample)(void *ctx, const struct event_sample *ev);
	void (*stack)(void *ctx, const struct event_stack *st);
	void (*raw)(void *ctx, const struct event_raw *raw);
	void (*wait)(void *ctx, const struct event_wait *w);
	void (*thread)(void *ctx, const struct event_thread *t);
	void (*gpu)(void *ctx, const struct event_gpu *g);
	void (*fault)(void *ctx, const struct event_fault *f);
	void (*function)(void *ctx, const struct event_function *f);
};
int sampler_read(struct sampler *s, const struct sampler_reader *reader, void *ctx);

/* Puts the times of all threads and the pending waits into the ring, if waits are recorded, a part
 * at a time. Returns 1: read the ring and call again; 0: complete; or -errno. is_last: there is no
 * later report; otherwise pending waits may be reported in turns (collect/kernel/off_cpu.h). */
int sampler_report(struct sampler *s, bool is_last);

/* Shows what to do now about programs that are attached in windows
 * (collect/kernel/switch_windows.h). SWITCH_OPEN: call sampler_open_window. SWITCH_CLOSE: send a
 * complete report, then call sampler_close_window. */
enum switch_step sampler_window_step(struct sampler *s, uint64_t now_ns);
uint64_t sampler_window_due_ns(const struct sampler *s); /* UINT64_MAX: never */
int sampler_open_window(struct sampler *s, struct err *err);
void sampler_close_window(struct sampler *s);
/* The windows in use, and the end of a period of them. NULL: waits are recorded all the time, or
 * not at all. */
const struct switch_windows *sampler_windows(const struct sampler *s);
void sampler_cut_windows(struct sampler *s, uint64_t now_ns);

/* Returns the maps that describe address spaces to the walker; false: it follows frame pointers
 * only. */
bool sampler_space_maps(const struct sampler *s, struct space_maps *out);

/* Opens the news of programs that begin. */
int sampler_watch_programs(const struct sampler *s, int epoll_fd, uint64_t tag,
			   struct program_news **out, struct err *err);

/* Returns the functions that add rows to the maps of the runtimes' walkers, and drop them; valid
 * until sampler_close. */
struct runtime_maps sampler_runtime_maps(struct sampler *s);

/* Returns the maps with the places of the spans of threads. */
struct traced_maps sampler_traced_maps(const struct sampler *s);

/* Sets whether the next report copies the stack of this thread's pending wait again. ctx: the
 * sampler. */
void sampler_copy_again(void *ctx, uint32_t tid, bool again);

/* Settings that another object of programs, which shares the sampler's maps, must have as well. */
struct sampler_knobs {
	uint32_t filter, max_user;
	uint64_t filter_cgroup_id, wake_bytes, epoch;
	bool want_user, use_tables, use_runtimes;
};
struct sampler_knobs sampler_get_knobs(const struct sampler *s);
const struct kernel_features *sampler_kernel(const struct sampler *s);
struct bpf_object;
struct bpf_object *sampler_object(const struct sampler *s);

/* Sets which pages' faults are sent: one page in 2^bits (bpf/fault_event.h). ctx: the sampler. */
void sampler_choose_pages(void *ctx, uint32_t bits);
uint32_t sampler_page_bits(const struct sampler *s);
/* Returns the page faults of the machine since the last call that were not watched because of
 * sampler_opts.fault_budget. */
uint64_t sampler_take_unwatched_faults(struct sampler *s);

/* Makes every CPU send the contents of stacks again. */
void sampler_new_epoch(struct sampler *s);
/* Returns whether a process is a target (TARGET_PID). */
bool sampler_is_target(struct sampler *s, uint32_t pid);
/* Returns whether no target is left (TARGET_PID and TARGET_TID). */
bool sampler_targets_gone(struct sampler *s);

struct sampler_stats {
	uint64_t counters[COUNTERS];
	uint64_t busy;   /* ticks skipped because a BPF program was running on the CPU */
	uint64_t run_ns; /* of all programs but probes */
	uint64_t runs;   /* 0 unless kernel.bpf_stats_enabled */
	uint64_t kernel_map_bytes, ring_bytes;
	uint64_t read_bytes,
		raw_bytes; /* through the ring so far; raw_bytes: samples with stack copies */
	uint32_t cpus;
	uint64_t uncounted_ns; /* as in collect_stats */
	const char *clock, *walker;
	const char *wait_hook; /* NULL: no waits */
	uint32_t wait_turns;   /* reports that together have all pending waits */
	uint64_t fault_pauses; /* how often page faults were not watched: over the budget */
};
void sampler_get_stats(struct sampler *s, struct sampler_stats *out);
void sampler_close(struct sampler *s);

/* Opens a sampling event on a CPU, disabled: cycles with NMI if there is a PMU, else cpu-clock; or
 * the requested one. Returns the descriptor or -errno; *clock names it. */
int sampler_open_event(uint32_t cpu, uint32_t freq_hz, enum collect_clock which,
		       const char **clock);
/* Returns the time that an event could have counted but did not, because others had the counter. */
uint64_t sampler_uncounted_ns(int event_fd);

#endif
