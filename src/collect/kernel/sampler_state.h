/* collect/kernel/sampler_state.h: state shared by the sampler's files. Only sampler*.c include
 * it. */
#ifndef CRESSET_COLLECT_KERNEL_SAMPLER_STATE_H
#define CRESSET_COLLECT_KERNEL_SAMPLER_STATE_H

#include "base/vec.h"
#include "collect/kernel/fault_limits.h"
#include "collect/kernel/kernel_features.h"
#include "collect/kernel/missing.h"
#include "collect/kernel/off_cpu.h"
#include "collect/kernel/refusal.h"
#include "collect/kernel/sampler_opts.h"
#include "collect/kernel/types_part.h"
#include "sample.skel.h"

struct err;

enum { SAMPLER_FOLLOW_PROGRAMS = 7, SAMPLER_FAULT_PROGRAMS = 2 };

struct sampler_reader;

struct cpu_event {
	uint32_t cpu;
	struct bpf_link *link; /* owns the perf event */
	int event_fd;          /* of link */
};
struct sampler {
	struct sample_bpf *bpf;
	struct bpf_program *program; /* sample_walk or sample_plain */
	struct ring_buffer *ring;
	struct bpf_link *follow[SAMPLER_FOLLOW_PROGRAMS];
	struct types_part types; /* of this kernel, unless opts name another file */
	struct kernel_features kernel;
	struct off_cpu off_cpu;
	struct fault_pace fault_pace;
	struct fault_budget fault_budget;
	struct bpf_link *faults[SAMPLER_FAULT_PROGRAMS];
	uint64_t faults_seen;
	bool is_unwatched;         /* faults are not watched: over the budget */
	uint64_t unwatched_times;  /* number of such times */
	uint64_t faults_unwatched; /* until watching started again; since the last report */
	uint64_t machine_faults;   /* of the machine, when they were last counted */
	uint32_t n_cpus;           /* online at the start */
	VEC(struct cpu_event) events;
	struct sampler_opts opts; /* without what is missing */
	struct collect_missing missing[COLLECT_GROUPS];
	size_t n_missing;
	const char *clock;
	bool by_cycles;
	uint64_t uncounted_ns; /* of closed events */
	uint64_t ring_bytes;
	bool use_tables;
	uint32_t max_segments;
	uint64_t read_bytes, raw_bytes;      /* so far; raw_bytes: those of EVENT_RAW */
	const struct sampler_reader *reader; /* during sampler_read only */
	void *reader_ctx;
};

/* sampler_load.c: loads what opts request and the kernel accepts. */
int sampler_load(struct sampler *s, struct err *err);
/* Sets err to why the kernel refused something; name: what it refused, NULL: unknown. */
int sampler_refused(const struct sampler *s, enum refusal_step step, int rc, const char *name,
		    struct err *err);
bool sampler_samples_cpus(const struct sampler *s);

/* sampler_stats.c: returns the sum of one counter over all CPUs. */
uint64_t sampler_count(struct sampler *s, enum counter which);

/* sampler_faults.c: sets the constants of page faults, before loading. */
void sampler_prepare_faults(struct sampler *s);
/* Returns 0, or -errno with *refused set to the program. */
int sampler_attach_faults(struct sampler *s, const char **refused);
void sampler_detach_faults(struct sampler *s);
/* Adapts the watched faults to their rate and to the budget. Call it some times a second. */
void sampler_pace_faults(struct sampler *s, uint64_t now_ns);

/* sampler_targets.c: adds the targets of opts. The exit program must be attached already. */
int sampler_add_targets(struct sampler *s, struct err *err);

#endif
