/* tests/unit/waits_profile.h: a recording of waits whose truth is known: 10 s of process 100 with four threads.
 *
 *     tid  name         life   on-CPU   off-CPU                                            waiting for a CPU
 *     100  app          10 s   1 s      8 s poll, 0.8 s lock, 0.1 s in short waits          0.1 s
 *     101  worker/1 ☃   10 s   6 s      2.5 s disk I/O, 0.5 s in short waits                1 s
 *     102  late          1 s   0.2 s    0.8 s sleep                                         -
 *     103  idle         10 s   -        10 s poll, not over at the end                      -
 *
 * Thread 102 got no sample on the CPU. Times start at WAITS_START_NS. */
#ifndef CRESSET_TESTS_WAITS_PROFILE_H
#define CRESSET_TESTS_WAITS_PROFILE_H

#include "profile/profile.h"

#include <string.h>

#define WAITS_START_NS 1000000000000ll
#define WAITS_MS       1000000ll

enum waits_with {
	WAITS_CPU = 1,
	WAITS_OFF_CPU = 2,
	WAITS_SCHED_WAIT = 4,
	WAITS_WALL = 8,
	WAITS_EXACT = 16, /* the threads' times */
};

struct waits_maker {
	struct profile *p;
	unsigned with;
	uint32_t cpu, off_cpu, sched_wait, wall; /* types */
	uint32_t tid;
	const char *comm;
};

static inline uint32_t waits_type(struct profile *p, const char *name)
{
	struct sink *s = profile_sink(p);
	bool is_cpu = strcmp(name, "cpu") == 0;
	struct type t = { .name = sink_string(s, name),
			  .sample_type = sink_string(s, is_cpu ? "samples" : name),
			  .unit = sink_string(s, is_cpu ? "count" : "nanoseconds"),
			  .period_type = is_cpu ? sink_string(s, "cpu") : 0,
			  .period_unit = is_cpu ? sink_string(s, "nanoseconds") : 0 };
	return s->ops->type(s, &t);
}

static inline void waits_types(struct waits_maker *m)
{
	m->cpu = m->with & WAITS_CPU ? waits_type(m->p, "cpu") : UINT32_MAX;
	m->off_cpu = m->with & WAITS_OFF_CPU ? waits_type(m->p, "off-cpu") : UINT32_MAX;
	m->sched_wait = m->with & WAITS_SCHED_WAIT ? waits_type(m->p, "sched-wait") : UINT32_MAX;
	m->wall = m->with & WAITS_WALL ? waits_type(m->p, "wall") : UINT32_MAX;
}

/* "main;read_[k];[sched-wait]": kernel frames and markers are told by their spelling. */
static inline uint32_t waits_stack(struct profile *p, const char *text)
{
	struct sink *s = profile_sink(p);
	uint32_t frames[16], n = 0;
	while (*text) {
		size_t len = strcspn(text, ";"), name = len;
		struct frame f = { .mapping = MAPPING_NONE };
		if (len > 4 && strncmp(text + len - 4, "_[k]", 4) == 0) {
			f.kind = FRAME_KERNEL;
			name -= 4;
		} else if (text[0] == '[') {
			f.kind = FRAME_MARKER;
		}
		f.function = s->ops->string(s, text, name);
		frames[n++] = s->ops->frame(s, &f);
		text += len + (text[len] == ';');
	}
	return s->ops->stack(s, frames, n);
}

static inline void waits_sample(struct waits_maker *m, uint32_t type, int64_t at_ms,
				int64_t length_ms, int64_t value, const char *stack)
{
	struct sink *s = profile_sink(m->p);
	struct label comm = { .key = sink_string(s, "comm"), .str = sink_string(s, m->comm) };
	struct series series = { .type = type,
				 .period = type == m->cpu ? 10 * WAITS_MS : 0,
				 .labels = s->ops->labels(s, &comm, 1) };
	struct sample sample = { .time_ns = WAITS_START_NS + at_ms * WAITS_MS,
				 .length_ns = length_ms * WAITS_MS,
				 .value = value,
				 .series = s->ops->series(s, &series),
				 .stack = waits_stack(m->p, stack),
				 .pid = 100,
				 .tid = m->tid,
				 .cpu = 0 };
	s->ops->sample(s, &sample);
}

/* n samples of 10 ms each. */
static inline void waits_on(struct waits_maker *m, int64_t at_ms, int n, const char *stack)
{
	for (int i = 0; i < n; i++) {
		if (m->with & WAITS_CPU)
			waits_sample(m, m->cpu, at_ms + 10 * i, 0, 1, stack);
		if (m->with & WAITS_WALL)
			waits_sample(m, m->wall, at_ms + 10 * i, 0, 10 * WAITS_MS, stack);
	}
}

static inline void waits_off(struct waits_maker *m, enum waits_with kind, int64_t at_ms,
			     int64_t length_ms, const char *stack)
{
	uint32_t type = kind == WAITS_OFF_CPU ? m->off_cpu : m->sched_wait;
	if (m->with & kind)
		waits_sample(m, type, at_ms, length_ms, length_ms * WAITS_MS, stack);
	if (m->with & WAITS_WALL)
		waits_sample(m, m->wall, at_ms, length_ms, length_ms * WAITS_MS, stack);
}

/* Content that only `wall` has, at the end. */
static inline void waits_rest(struct waits_maker *m, int64_t ms, const char *stack)
{
	if (m->with & WAITS_WALL)
		waits_sample(m, m->wall, 10000, 0, ms * WAITS_MS, stack);
}

static inline void waits_thread(struct waits_maker *m, uint32_t tid, const char *comm,
				int64_t life_ms, int64_t on_ms, int64_t off_ms, int64_t wait_ms)
{
	struct sink *s = profile_sink(m->p);
	struct thread_times t = { .pid = 100,
				  .tid = tid,
				  .name = sink_string(s, comm),
				  .first_ns = WAITS_START_NS + (10000 - life_ms) * WAITS_MS,
				  .last_ns = WAITS_START_NS + 10000 * WAITS_MS,
				  .on_ns = on_ms * WAITS_MS,
				  .off_ns = off_ms * WAITS_MS,
				  .wait_ns = wait_ms * WAITS_MS };
	m->tid = tid;
	m->comm = comm;
	if (m->with & WAITS_EXACT)
		s->ops->thread(s, &t);
}

static inline void waits_fill(struct waits_maker *m)
{
	waits_thread(m, 103, "idle", 10000, 0, 10000, 0);
	waits_off(m, WAITS_OFF_CPU, 0, 10000, "start;wait;epoll_wait_[k];[blocked: poll/epoll]");

	waits_thread(m, 101, "worker/1 \xe2\x98\x83", 10000, 6000, 3000, 1000);
	waits_on(m, 0, 500, "start;work;parse");
	waits_on(m, 5000, 100, "start;work;memcpy_[k]");
	for (int i = 0; i < 5; i++)
		waits_off(m, WAITS_OFF_CPU, 6000 + 600 * i, 500,
			  "start;work;read;pread64_[k];[blocked: disk I/O]");
	waits_off(m, WAITS_SCHED_WAIT, 9000, 700, "start;work;read;pread64_[k];[sched-wait]");
	waits_off(m, WAITS_SCHED_WAIT, 9700, 300, "[sched-wait]");
	waits_rest(m, 500, "[off-CPU below 1ms]");

	waits_thread(m, 100, "app", 10000, 1000, 8900, 100);
	waits_on(m, 0, 100, "main;loop;dispatch");
	for (int i = 0; i < 4; i++)
		waits_off(m, WAITS_OFF_CPU, 1000 + 2000 * i, 2000,
			  "main;loop;poll_[k];[blocked: poll/epoll]");
	waits_off(m, WAITS_OFF_CPU, 9000, 800,
		  "main;loop;lock;futex_[k];[blocked: futex/lock];[woken by: worker/1 (101)]");
	waits_off(m, WAITS_SCHED_WAIT, 9800, 100, "main;loop;lock;futex_[k];[sched-wait]");
	waits_rest(m, 100, "[off-CPU below 1ms]");

	waits_thread(m, 102, "late", 1000, 200, 800, 0);
	waits_off(m, WAITS_OFF_CPU, 9000, 800, "start;nap;nanosleep_[k];[blocked: sleep/timer]");
	waits_rest(m, 200, "[on-CPU, not sampled]");
}

/* To be freed with profile_free. */
static inline struct profile *waits_profile(unsigned with)
{
	struct waits_maker m = { .p = profile_new(), .with = with };
	waits_types(&m);
	waits_fill(&m);
	m.p->meta.start_mono_ns = WAITS_START_NS;
	m.p->meta.duration_ns = 10000 * WAITS_MS;
	return m.p;
}

#endif
