#include "day.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "batches.h"
#include "profile/frame.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "store/codec/store.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	HOSTS = 20,
	PROCESSES = 40,
	MINUTES = 24 * 60,
	AT_ONCE = 10,
	PER_SERIES = 6,
	STACKS = 3000,
	DEPTH = 12
};
#define MINUTE_NS 60000000000ll

static int64_t now_ns(void *ctx)
{
	return *(int64_t *)ctx;
}

static void check(int rc, const struct err *err)
{
	if (rc < 0)
		bench_fail("%s", err->text);
}

static void put_series(struct sink *s, uint32_t *ids)
{
	char host[32], process[32];
	struct type cpu = { .name = sink_string(s, "cpu"),
			    .sample_type = sink_string(s, "samples"),
			    .unit = sink_string(s, "count") };
	for (uint32_t i = 0; i < HOSTS * PROCESSES; i++) {
		snprintf(host, sizeof host, "node-%03u", i / PROCESSES);
		snprintf(process, sizeof process, "service-%02u", i % PROCESSES);
		struct label labels[] = {
			{ .key = sink_string(s, "host"), .str = sink_string(s, host) },
			{ .key = sink_string(s, "process"), .str = sink_string(s, process) },
		};
		struct series series = { .type = s->ops->type(s, &cpu),
					 .labels = s->ops->labels(s, labels, 2) };
		ids[i] = s->ops->series(s, &series);
	}
}

static void put_stacks(struct sink *s, uint32_t *ids)
{
	struct mapping m = { .name = sink_string(s, "/usr/bin/service"), .build_id_len = 20 };
	uint32_t mapping = s->ops->mapping(s, &m), frames[DEPTH];
	for (uint32_t i = 0; i < STACKS; i++) {
		for (uint32_t k = 0; k < DEPTH; k++) {
			struct frame f = { .kind = FRAME_NATIVE,
					   .mapping = mapping,
					   .offset = 0x1000 +
						     hash_mix(i >> (DEPTH - k) / 2, k) % 900 * 16 };
			frames[k] = s->ops->frame(s, &f);
		}
		ids[i] = s->ops->stack(s, frames, DEPTH);
	}
}

static void put_minute(struct sink *s, uint32_t minute, const uint32_t *series,
		       const uint32_t *stacks)
{
	for (uint32_t i = 0; i < HOSTS * PROCESSES * PER_SERIES; i++) {
		struct sample sample = { .time_ns = minute % AT_ONCE * MINUTE_NS +
						    (int64_t)(hash_mix(minute, i) % MINUTE_NS),
					 .value = 1,
					 .series = series[i / PER_SERIES],
					 .stack = stacks[hash_mix(i, minute * 7u) % STACKS],
					 .pid = SAMPLE_NO_ID,
					 .tid = SAMPLE_NO_ID,
					 .cpu = SAMPLE_NO_ID };
		s->ops->sample(s, &sample);
	}
}

void day_fill(const char *dir)
{
	struct err err = { 0 };
	struct store *store;
	int64_t now = (int64_t)clock_wall_ns() - MINUTES * MINUTE_NS;
	struct store_opts opts = { .now_ns = now_ns, .ctx = &now };
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	uint32_t series[HOSTS * PROCESSES], *stacks = xcalloc(STACKS, sizeof *stacks);
	check(store_open(dir, &opts, &store, &err), &err);
	struct store_dict *dict = store_dict_new(store);
	put_series(s, series);
	put_stacks(s, stacks);
	for (uint32_t i = 0; i < MINUTES; i += AT_ONCE) {
		p->meta.start_wall_ns = now;
		p->samples.n = 0;
		for (uint32_t k = i; k < i + AT_ONCE; k++)
			put_minute(s, k, series, stacks);
		now += AT_ONCE * MINUTE_NS;
		struct store_batch b = { .p = p, .dict = dict };
		check(store_ingest(store, &b, 1, NULL, &err), &err);
		check(store_maintain(store, 1000000000, &err), &err);
	}
	store_dict_free(dict);
	check(store_close(store, &err), &err);
	profile_free(p);
	free(stacks);
}
