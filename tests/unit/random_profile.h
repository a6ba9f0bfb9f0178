/* tests/unit/random_profile.h: profiles with random content, for property tests; the same seed makes the same profile.
 *
 * Mappings, frames and names come from one small universe, so profiles of different seeds overlap: they share frames, but a frame may have no name,
 * one line or inlined lines in each. */
#ifndef CRESSET_TESTS_RANDOM_PROFILE_H
#define CRESSET_TESTS_RANDOM_PROFILE_H

#include "rand.h"

#include "profile/profile.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { UNIVERSE_FRAMES = 60, UNIVERSE_FUNCTIONS = 24, RANDOM_SERIES = 9, RANDOM_STACK_MAX = 24 };

struct random_shape {
	uint32_t n_stacks, n_samples;
	bool periods_differ;
	bool waits; /* some samples cover time, and there are threads */
	bool links; /* some samples belong to spans of traces */
};

struct random_profile {
	struct profile *p;
	struct rng rng;
	uint32_t frames[UNIVERSE_FRAMES];
	uint32_t cpu, alloc; /* types */
	uint32_t series[RANDOM_SERIES];
	bool links;
};

static inline uint32_t universe_mapping(struct sink *s, uint32_t i)
{
	static const char *const names[] = { "/usr/bin/server", "/usr/lib/libc.so.6", "[kernel]",
					     "/opt/app/plugin.so", "" };
	struct mapping m = { .name = sink_string(s, names[i]) };
	if (i % 2 == 0) {
		m.build_id_len = 20;
		m.build_id[0] = i;
	} else {
		m.identity = 1000 + i;
	}
	return s->ops->mapping(s, &m);
}

static inline uint32_t universe_function(struct sink *s, uint32_t i)
{
	char name[32], file[32] = "";
	snprintf(name, sizeof name, "fn_%02u", i);
	if (i % 3)
		snprintf(file, sizeof file, "src/file%u.c", i % 5);
	struct function f = { .name = sink_string(s, name), .file = sink_string(s, file) };
	return s->ops->function(s, &f);
}

/* Every third frame is known only by name, the others by address. */
static inline uint32_t universe_frame(struct sink *s, uint32_t i)
{
	static const uint8_t named[] = { FRAME_PYTHON, FRAME_JIT, FRAME_MARKER, FRAME_GPU_KERNEL };
	struct frame f = { .mapping = MAPPING_NONE };
	char name[32];
	if (i % 3 == 0) {
		snprintf(name, sizeof name, "named_%02u", i);
		f.kind = named[i / 3 % 4];
		f.function = i == 33 ? 0 : sink_string(s, name);
		f.file = sink_string(s, i % 2 ? "app.py" : "");
		f.line = i;
		if (f.kind == FRAME_PYTHON && i % 2) /* a kind that pprof keeps through the name */
			f.binary = sink_string(s, i % 4 == 1 ? "/srv/app.zip" : "[vdso]");
	} else {
		uint32_t mapping = i % 5;
		f.kind = mapping == 2 ? FRAME_KERNEL : FRAME_NATIVE;
		f.mapping = universe_mapping(s, mapping);
		f.offset = 0x1000 + 16 * i;
	}
	return s->ops->frame(s, &f);
}

/* The names of frame i, if it has any: n lines, the last of them the same for any n. */
static inline void universe_names(struct sink *s, uint32_t frame, uint32_t i, uint32_t n)
{
	struct line lines[3];
	for (uint32_t k = 0; k < n; k++)
		lines[n - 1 - k] = (struct line){
			.function = universe_function(s, (i * 7 + k * 5) % UNIVERSE_FUNCTIONS),
			.line = 10 + k,
		};
	s->ops->names(s, frame, lines, n);
}

static inline void random_series(struct random_profile *r, uint32_t i, bool periods_differ)
{
	static const char *const comms[] = { "web server", "redis", "bash" };
	struct sink *s = profile_sink(r->p);
	struct label labels[3] = {
		{ .key = sink_string(s, "comm"), .str = sink_string(s, comms[i % 3]) },
		{ .key = sink_string(s, "process"), .str = sink_string(s, comms[i / 3 % 3]) },
		{ .key = sink_string(s, "container_id"), .str = sink_string(s, "c0ffee") },
	};
	struct series series = {
		.type = i % 4 == 3 ? r->alloc : r->cpu,
		.period = i % 4 == 3       ? 0
			  : periods_differ ? 1000 * (1 + i % 2)
					   : 1000,
		.labels = s->ops->labels(s, labels, i % 4),
	};
	r->series[i] = s->ops->series(s, &series);
}

static inline void random_types(struct random_profile *r)
{
	struct sink *s = profile_sink(r->p);
	struct type cpu = { .name = sink_string(s, "cpu"),
			    .sample_type = sink_string(s, "samples"),
			    .unit = sink_string(s, "count"),
			    .period_type = sink_string(s, "cpu"),
			    .period_unit = sink_string(s, "nanoseconds") };
	struct type alloc = { .name = sink_string(s, "alloc"),
			      .sample_type = sink_string(s, "alloc_space"),
			      .unit = sink_string(s, "bytes") };
	r->cpu = s->ops->type(s, &cpu);
	r->alloc = s->ops->type(s, &alloc);
}

/* Half of the stacks branch off an earlier one, as real ones do. Adjacent frames repeat at times. */
static inline uint32_t random_stack(struct random_profile *r, uint32_t n_before)
{
	uint32_t frames[RANDOM_STACK_MAX], n = 0, depth = rng_below(&r->rng, RANDOM_STACK_MAX);
	if (n_before && rng_below(&r->rng, 2)) {
		uint32_t base = rng_below(&r->rng, n_before);
		stack_frames(&r->p->stacks, base, frames);
		n = rng_below(&r->rng, stack_depth(&r->p->stacks, base) + 1);
	}
	while (n < depth) {
		bool repeat = n && rng_below(&r->rng, 5) == 0;
		frames[n] = repeat ? frames[n - 1] : r->frames[rng_below(&r->rng, UNIVERSE_FRAMES)];
		n++;
	}
	struct sink *s = profile_sink(r->p);
	return s->ops->stack(s, frames, n);
}

static inline void random_thread(struct random_profile *r, uint32_t i)
{
	struct sink *s = profile_sink(r->p);
	struct thread_times row = { .pid = 100 + i % 2,
				    .tid = 200 + i,
				    .name = sink_string(s, i % 2 ? "worker" : "main"),
				    .first_ns = -5 + rng_below(&r->rng, 10),
				    .last_ns = 5000,
				    .on_ns = rng_below(&r->rng, 5000),
				    .off_ns = rng_below(&r->rng, 5000),
				    .wait_ns = rng_below(&r->rng, 5000),
				    .stopped_ns = rng_below(&r->rng, 2) };
	s->ops->thread(s, &row);
}

/* From a few traces of a few spans each; some have only one of the two. */
static inline uint32_t random_link(struct random_profile *r)
{
	struct sink *s = profile_sink(r->p);
	struct trace_link link = { 0 };
	if (rng_below(&r->rng, 8))
		link.trace[rng_below(&r->rng, 2) * 15] = 1 + rng_below(&r->rng, 255);
	if (rng_below(&r->rng, 8))
		link.span[rng_below(&r->rng, 8)] = 1 + rng_below(&r->rng, 3);
	return s->ops->link(s, &link);
}

static inline void random_sample(struct random_profile *r, bool waits)
{
	struct sink *s = profile_sink(r->p);
	struct rng *rng = &r->rng;
	uint32_t pid = rng_below(rng, 4), tid = rng_below(rng, 4), cpu = rng_below(rng, 3);
	struct sample sample = {
		.time_ns = 5000 + rng_below(rng, 1000),
		.value = rng_below(rng, 20) == 0 ? -3 : (int64_t)rng_below(rng, 50),
		.series = r->series[rng_below(rng, RANDOM_SERIES)],
		.stack = rng_below(rng, r->p->stacks.stacks.n),
		.pid = pid == 3 ? SAMPLE_NO_ID : 100 + pid,
		.tid = tid == 3 ? SAMPLE_NO_ID : 200 + tid,
		.cpu = cpu == 2 ? SAMPLE_NO_ID : cpu,
	};
	if (waits && rng_below(rng, 2))
		sample.length_ns = rng_below(rng, 1000);
	if (r->links && rng_below(rng, 3))
		sample.link = random_link(r);
	s->ops->sample(s, &sample);
}

/* Free it with profile_free(r.p). */
static inline struct random_profile random_profile(uint64_t seed, struct random_shape shape)
{
	struct random_profile r = { .p = profile_new(),
				    .rng = { seed * 0x9e3779b97f4a7c15ull + 1 },
				    .links = shape.links };
	struct sink *s = profile_sink(r.p);
	uint32_t first =
		rng_below(&r.rng, UNIVERSE_FRAMES); /* so that ids differ between profiles */
	for (uint32_t k = 0; k < UNIVERSE_FRAMES; k++) {
		uint32_t i = (first + k) % UNIVERSE_FRAMES;
		r.frames[i] = universe_frame(s, i);
		uint32_t n = rng_below(&r.rng, 4);
		if (i % 3 && n)
			universe_names(s, r.frames[i], i, n);
	}
	random_types(&r);
	for (uint32_t i = 0; i < RANDOM_SERIES; i++)
		random_series(&r, i, shape.periods_differ);
	for (uint32_t i = 0; i < shape.n_stacks; i++)
		random_stack(&r, r.p->stacks.stacks.n);
	for (uint32_t i = 0; i < shape.n_samples; i++)
		random_sample(&r, shape.waits);
	for (uint32_t i = 0; shape.waits && i < 5; i++)
		random_thread(&r, i);
	s->ops->meta(s)->start_mono_ns = 5000;
	return r;
}

#endif
