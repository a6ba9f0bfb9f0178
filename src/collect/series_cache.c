#include "collect/series_cache.h"

#include <string.h>

_Static_assert(sizeof(struct series_key) == 2 * EVENT_COMM_LEN + 16, "series_key has no padding");

static void name_labels(struct series_cache *c, struct sink *sink)
{
	c->sink = sink;
	c->comm = sink_string(sink, "comm");
	c->process = sink_string(sink, "process");
	c->container_id = sink_string(sink, "container_id");
	if (!c->host_name)
		return;
	c->host = sink_string(sink, "host");
	c->host_text = sink_string(sink, c->host_name);
}

void series_cache_init(struct series_cache *c, struct sink *sink, const struct strtab *texts,
		       const char *host)
{
	*c = (struct series_cache){ .texts = texts, .host_name = host };
	name_labels(c, sink);
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
	name_labels(c, sink);
}

void series_cache_done(struct series_cache *c)
{
	map_done(&c->index);
	vec_done(&c->keys);
	vec_done(&c->series);
}

static uint32_t name_string(struct sink *s, const char name[EVENT_COMM_LEN])
{
	return s->ops->string(s, name, strnlen(name, EVENT_COMM_LEN));
}

static uint32_t add_series(struct series_cache *c, const struct series_key *key)
{
	struct sink *s = c->sink;
	struct label labels[4] = {
		{ .key = c->comm, .str = name_string(s, key->comm) },
		{ .key = c->process, .str = name_string(s, key->process) },
	};
	uint32_t n = 2;

	if (key->container)
		labels[n++] = (struct label){
			.key = c->container_id,
			.str = sink_string(s, strtab_get(c->texts, key->container)),
		};
	if (c->host_name)
		labels[n++] = (struct label){ .key = c->host, .str = c->host_text };
	struct series series = {
		.type = key->type,
		.period = key->period,
		.labels = s->ops->labels(s, labels, n),
	};

	return s->ops->series(s, &series);
}

struct key_search {
	const struct series_cache *cache;
	const struct series_key *key;
};

static bool same_key(const void *ctx, uint32_t i)
{
	const struct key_search *s = ctx;

	return memcmp(&s->cache->keys.v[i], s->key, sizeof *s->key) == 0;
}

uint32_t series_cache_get(struct series_cache *c, const struct series_key *key)
{
	struct key_search search = { c, key };

	if (c->keys.n >= SERIES_CACHE_MAX)
		forget(c);
	uint32_t i =
		map_intern(&c->index, hash_bytes(key, sizeof *key), c->keys.n, same_key, &search);
	if (i == c->keys.n) {
		vec_push(&c->keys, *key);
		vec_push(&c->series, add_series(c, key));
	}
	return c->series.v[i];
}
