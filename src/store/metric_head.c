#include "store/metric_head.h"

void metric_heads_done(struct metric_heads *h)
{
	for (size_t i = 0; i < h->all.n; i++)
		vec_done(&h->all.v[i].points);
	vec_done(&h->all);
	map_done(&h->index);
	*h = (struct metric_heads){ 0 };
}

/* Hours of all of int64_t are less than 2^22 either way. */
static uint64_t head_key(uint32_t series, int64_t time_ns)
{
	return (uint64_t)(time_ns / METRIC_SLOT_NS) << 32 | series;
}

uint32_t metric_heads_find(const struct metric_heads *h, uint32_t series, int64_t time_ns)
{
	const uint32_t *at = map_get(&h->index, head_key(series, time_ns));

	return at ? *at : UINT32_MAX;
}

static struct metric_head *get_head(struct metric_heads *h, uint32_t series, int64_t time_ns)
{
	uint32_t fresh = h->all.n;
	uint32_t at = map_intern(&h->index, head_key(series, time_ns), fresh, NULL, NULL);

	if (at == fresh)
		vec_push(&h->all, (struct metric_head){ .series = series });
	return &h->all.v[at];
}

void metric_heads_add(struct metric_heads *h, uint32_t series, const struct metric_point *point)
{
	struct metric_head *head = get_head(h, series, point->time_ns);

	vec_push(&head->points, *point);
}

uint64_t metric_heads_size_bytes(const struct metric_heads *h)
{
	uint64_t bytes = vec_size_bytes(&h->all) + map_size_bytes(&h->index);

	for (size_t i = 0; i < h->all.n; i++)
		bytes += vec_size_bytes(&h->all.v[i].points);
	return bytes;
}
