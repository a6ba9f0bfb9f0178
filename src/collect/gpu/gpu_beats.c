/* Beats for each program at a fixed interval. */
#include "collect/gpu/gpu_beats.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/vec.h"
#include "gpu/ring/ring_read.h"

#include <stdbool.h>
#include <stdlib.h>

#define BEAT_NS (RING_AGENT_GONE_MS * 1000000ull / 4)

struct beat {
	gpu_beat_fn *fn;
	void *of;
};
struct gpu_beats {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	VEC(struct beat) all;
	bool is_ending;
};

static void *beat_all(void *arg)
{
	struct gpu_beats *b = arg;

	pthread_mutex_lock(&b->lock);
	while (!b->is_ending) {
		uint64_t now_ns = clock_mono_ns();

		for (size_t i = 0; i < b->all.n; i++)
			b->all.v[i].fn(b->all.v[i].of, now_ns);
		if (b->all.n)
			cond_wait_until(&b->changed, &b->lock, now_ns + BEAT_NS);
		else
			pthread_cond_wait(&b->changed, &b->lock);
	}
	pthread_mutex_unlock(&b->lock);
	return NULL;
}

static void change(struct gpu_beats *b)
{
	pthread_cond_signal(&b->changed);
	pthread_mutex_unlock(&b->lock);
}

static void done(struct gpu_beats *b)
{
	vec_done(&b->all);
	pthread_cond_destroy(&b->changed);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

struct gpu_beats *gpu_beats_new(void)
{
	struct gpu_beats *b = xcalloc(1, sizeof *b);

	pthread_mutex_init(&b->lock, NULL);
	cond_init(&b->changed);
	if (thread_start(&b->thread, beat_all, b) == 0)
		return b;
	done(b);
	return NULL;
}

void gpu_beats_free(struct gpu_beats *b)
{
	if (!b)
		return;
	pthread_mutex_lock(&b->lock);
	b->is_ending = true;
	change(b);
	pthread_join(b->thread, NULL);
	done(b);
}

void gpu_beats_add(struct gpu_beats *b, gpu_beat_fn *fn, void *of)
{
	if (!b)
		return;
	pthread_mutex_lock(&b->lock);
	vec_push(&b->all, ((struct beat){ fn, of }));
	change(b);
}

void gpu_beats_remove(struct gpu_beats *b, const void *of)
{
	size_t kept = 0;

	if (!b)
		return;
	pthread_mutex_lock(&b->lock);
	for (size_t i = 0; i < b->all.n; i++)
		if (b->all.v[i].of != of)
			b->all.v[kept++] = b->all.v[i];
	b->all.n = kept;
	change(b);
}
