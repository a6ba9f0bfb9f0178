/* Makes and caches the series of samples. */
#include "collect/resolve/series_cache.h"

#include "collect/resolve/gpu_names.h"
#include "collect/resolve/labels.h"
#include "profile/change/estimate.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "profile/strtab.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

_Static_assert(sizeof(struct series_key) == 2 * EVENT_COMM_LEN + 40, "series_key has no padding");

void series_cache_init(struct series_cache *c, struct sink *sink,
		       const struct series_cache_opts *opts)
{
	*c = (struct series_cache){ .sink = sink, .opts = *opts };
}

static void forget(struct series_cache *c)
{
	map_clear(&c->index);
	vec_clear(&c->keys);
	vec_clear(&c->series);
}

void series_cache_set_sink(struct series_cache *c, struct sink *sink)
{
	forget(c);
	c->sink = sink;
}

void series_cache_done(struct series_cache *c)
{
	map_done(&c->index);
	vec_done(&c->keys);
	vec_done(&c->series);
}

/* --- labels ----------------------------------------------------------------------------------- */

static void add_label(struct series_labels *l, const char *key, const char *value)
{
	if (value && *value && l->n < SERIES_LABELS_MAX)
		l->v[l->n++] = (struct label_text){ key, value };
}

/* Labels built from a key rather than known as text. */
struct series_texts {
	char comm[EVENT_COMM_LEN + 1], process[EVENT_COMM_LEN + 1], stream[12], samples[12];
	char since[sizeof "2026-11-21T09:30:00Z"];
};

static void add_number(struct series_labels *l, const char *key, uint32_t plus_one, char text[12])
{
	if (!plus_one)
		return;
	snprintf(text, 12, "%" PRIu32, plus_one - 1);
	add_label(l, key, text);
}

static void add_since(struct series_labels *l, uint32_t unix_s, char *text, size_t size)
{
	time_t t = unix_s;
	struct tm tm;

	if (unix_s && gmtime_r(&t, &tm) && strftime(text, size, "%Y-%m-%dT%H:%M:%SZ", &tm))
		add_label(l, "since", text);
}

static const char *const how_names[] = {
	[GPU_HOW_NONE] = NULL,           [GPU_HOW_SPIN] = "spin", [GPU_HOW_SLEEP] = "sleep",
	[GPU_HOW_ESTIMATE] = "estimate", [HOW_WINDOWS] = NULL,
};

static void put_together(const struct series_cache *c, const struct series_key *key,
			 struct series_texts *texts, struct series_labels *out)
{
	const struct label_table *t = c->opts.labels;
	const struct gpu_name *gpu = gpu_names_get(c->opts.gpus, key->gpu);

	memcpy(texts->comm, key->comm, EVENT_COMM_LEN);
	memcpy(texts->process, key->process, EVENT_COMM_LEN);
	add_label(out, "comm", texts->comm);
	add_label(out, "process", texts->process);
	if (gpu) {
		add_label(out, "gpu", gpu->label);
		add_label(out, "uuid", gpu->uuid);
	}
	add_number(out, "stream", key->stream, texts->stream);
	add_number(out, ESTIMATE_LABEL, key->samples ? key->samples + 1 : 0, texts->samples);
	if (key->age)
		add_label(out, AGE_LABEL, age_words[key->age - 1]);
	add_since(out, key->since_s, texts->since, sizeof texts->since);
	add_label(out, "how", how_names[key->how]);
	if (key->how == HOW_WINDOWS)
		add_label(out, WINDOWS_LABEL, c->opts.period);
	for (int k = 0; k < PROCESS_LABELS; k++)
		add_label(out, process_label_keys[k],
			  strtab_get(&t->texts, t->sets.v[key->labels].v[k]));
	add_label(out, "host", c->opts.all.host);
	for (size_t i = 0; i < c->opts.all.n_labels; i++)
		add_label(out, c->opts.all.labels[i].key, c->opts.all.labels[i].value);
}

bool series_cache_ask(const struct series_cache *c, const struct series_key *key,
		      const char *type_name, const struct series_hook *hook)
{
	struct series_texts room = { 0 };
	struct series_labels texts = { .type = type_name };

	put_together(c, key, &room, &texts);
	return hook->apply(hook->ctx, &texts);
}

static uint32_t add_series(struct series_cache *c, const struct series_key *key,
			   const char *type_name)
{
	struct sink *s = c->sink;
	struct series_texts room = { 0 };
	struct series_labels texts = { .type = type_name };
	struct series series = { .type = key->type, .period = key->period };

	put_together(c, key, &room, &texts);
	if (c->opts.all.hook.apply && !c->opts.all.hook.apply(c->opts.all.hook.ctx, &texts))
		return SERIES_LEFT_OUT;
	if (!relabel_labels(c->opts.all.relabel, s, texts.v, texts.n, &series.labels))
		return SERIES_LEFT_OUT;
	return s->ops->series(s, &series);
}

/* --- cache ------------------------------------------------------------------------------------ */

struct key_search {
	const struct series_cache *cache;
	const struct series_key *key;
};

static bool same_key(const void *ctx, uint32_t i)
{
	const struct key_search *s = ctx;

	return memcmp(&s->cache->keys.v[i], s->key, sizeof *s->key) == 0;
}

uint32_t series_cache_get(struct series_cache *c, const struct series_key *key,
			  const char *type_name)
{
	struct key_search search = { c, key };

	if (c->keys.n >= SERIES_CACHE_MAX)
		forget(c);
	uint32_t i =
		map_intern(&c->index, hash_bytes(key, sizeof *key), c->keys.n, same_key, &search);
	if (i == c->keys.n) {
		vec_push(&c->keys, *key);
		vec_push(&c->series, add_series(c, key, type_name));
	}
	return c->series.v[i];
}
