/* collect/sampler_state.h: what the files of the sampler share. Only sampler*.c include it. */
#ifndef CRESSET_COLLECT_SAMPLER_STATE_H
#define CRESSET_COLLECT_SAMPLER_STATE_H

#include "collect/kernel_features.h"
#include "collect/off_cpu.h"
#include "collect/refusal.h"
#include "collect/sampler.h"
#include "sample.skel.h"

enum { SAMPLER_FOLLOW_PROGRAMS = 6 };

struct cpu_event {
	uint32_t cpu;
	struct bpf_link *link; /* owns the perf event */
	int event_fd;          /* of it */
};
struct sampler {
	struct sample_bpf *bpf;
	struct bpf_program *program; /* the one of sample_walk, sample_plain in use */
	struct ring_buffer *ring;
	struct bpf_link *follow[SAMPLER_FOLLOW_PROGRAMS];
	struct kernel_features kernel;
	struct off_cpu off_cpu;
	VEC(struct cpu_event) events;
	struct collect_opts opts; /* without what is missing */
	struct collect_missing missing[COLLECT_GROUPS];
	size_t n_missing;
	const char *clock;
	bool by_cycles;
	uint64_t uncounted_ns; /* of events that are closed */
	uint64_t ring_bytes;
	bool use_tables;
	uint32_t max_segments;
	uint64_t read_bytes, raw_bytes;      /* of events so far, raw_bytes those of EVENT_RAW */
	const struct sampler_reader *reader; /* during sampler_read only */
	void *reader_ctx;
};

/* sampler_load.c: all that opts ask for and the kernel takes. */
int sampler_load(struct sampler *s, struct err *err);
/* Says why the kernel refused something; name: of what, NULL: not known. */
int sampler_refused(const struct sampler *s, enum refusal_step step, int rc, const char *name,
		    struct err *err);
bool sampler_samples_cpus(const struct sampler *s);

/* sampler_targets.c: those of opts. The exit program has to be attached by then. */
int sampler_add_targets(struct sampler *s, struct err *err);

#endif
