/* collect/sampler.h: the BPF programs of bpf/sample.bpf.c, loaded, with their maps and one timer event per CPU.
 *
 * sampler_open loads and fills the target tables, sampler_start opens the events, sampler_read empties the ring. */
#ifndef CRESSET_COLLECT_SAMPLER_H
#define CRESSET_COLLECT_SAMPLER_H

#include "base/err.h"
#include "bpf/event.h"
#include "bpf/gpu_event.h"
#include "collect/collect.h"
#include "collect/kernel_features.h"
#include "collect/space.h"
#include "collect/traced.h"
#include "runtime/runtime.h"

struct sampler;

/* tag: data.u64 of the ring's descriptor in epoll_fd. Errors as collect_open. */
int sampler_open(const struct collect_opts *opts, int epoll_fd, uint64_t tag, struct sampler **out,
		 struct err *err);
/* What is left of collect_opts.events; and what is missing, good until sampler_close. */
uint32_t sampler_events(const struct sampler *s);
size_t sampler_get_missing(const struct sampler *s, const struct collect_missing **out);
/* Opens the sampling events, each CPU at another phase of the period. */
int sampler_start(struct sampler *s, struct err *err);
/* Opens events on CPUs that came online, forgets those that went. */
int sampler_update_cpus(struct sampler *s, struct err *err);
/* Closes the events; what is in the ring stays readable. */
void sampler_stop(struct sampler *s);

struct sampler_reader {
	void (*sample)(void *ctx, const struct event_sample *ev);
	void (*stack)(void *ctx, const struct event_stack *st);
	void (*raw)(void *ctx, const struct event_raw *raw);
	void (*wait)(void *ctx, const struct event_wait *w);
	void (*thread)(void *ctx, const struct event_thread *t);
	void (*gpu)(void *ctx, const struct event_gpu *g);
};
int sampler_read(struct sampler *s, const struct sampler_reader *reader, void *ctx);

/* Where waits are recorded: puts the times of all threads and the waits that go on into the ring, a part at a time: 1: read the ring and
 * call again; 0: that was all; or -errno. */
int sampler_report(struct sampler *s);

/* The maps that tell the walker of address spaces. False: it follows frame pointers only. */
bool sampler_space_maps(const struct sampler *s, struct space_maps *out);

/* Puts into, and drops from, the maps of runtimes' walkers; good until the sampler is closed. */
struct runtime_maps sampler_runtime_maps(struct sampler *s);

/* The maps that tell where threads keep their spans. */
struct traced_maps sampler_traced_maps(const struct sampler *s);

/* ctx: the sampler. The stack of this thread's wait, which goes on, is copied again the next time that it is told; or need not be. */
void sampler_copy_again(void *ctx, uint32_t tid, bool again);

/* For another object of programs that shares its maps: what both have to agree on. */
struct sampler_knobs {
	uint32_t filter, max_user;
	uint64_t filter_cgroup_id, wake_bytes, epoch;
	bool want_user, use_tables, use_python;
};
struct sampler_knobs sampler_get_knobs(const struct sampler *s);
const struct kernel_features *sampler_kernel(const struct sampler *s);
struct bpf_object;
struct bpf_object *sampler_object(const struct sampler *s);

/* Makes every CPU send the contents of stacks anew. */
void sampler_new_epoch(struct sampler *s);
/* Whether a process is one (TARGET_PID). */
bool sampler_is_target(struct sampler *s, uint32_t pid);
/* No target is left (TARGET_PID and TARGET_TID). */
bool sampler_targets_gone(struct sampler *s);

struct sampler_stats {
	uint64_t counters[COUNTERS];
	uint64_t busy;         /* ticks skipped because a BPF program was running on the CPU */
	uint64_t run_ns, runs; /* of all programs, 0 unless kernel.bpf_stats_enabled */
	uint64_t kernel_map_bytes, ring_bytes;
	uint64_t read_bytes,
		raw_bytes; /* through the ring so far; those of samples with their stacks */
	uint32_t cpus;
	uint64_t uncounted_ns; /* as in collect_stats */
	const char *clock, *walker;
	const char *wait_hook; /* NULL: no waits */
};
void sampler_get_stats(struct sampler *s, struct sampler_stats *out);
void sampler_close(struct sampler *s);

/* Opens a sampling event on a CPU, disabled: cycles with NMI where there is a PMU, else cpu-clock; or the one that is asked for. Returns the
 * descriptor or -errno; *clock names it. */
int sampler_open_event(uint32_t cpu, uint32_t freq_hz, enum collect_clock which,
		       const char **clock);
/* The time that an event could have counted and did not, as others had the counter. */
uint64_t sampler_uncounted_ns(int event_fd);

#endif
