/* Rows by series and hour, found through a hash map. */
#include "store/day/head.h"

#include "base/mem.h"
#include "base/radix.h"
#include "profile/sum.h"

#include <string.h>

/* --- points of metrics ------------------------------------------------------------------------ */

static void metric_heads_done(struct metric_heads *h)
{
	for (size_t i = 0; i < h->all.n; i++)
		vec_done(&h->all.v[i].points);
	vec_done(&h->all);
	map_done(&h->index);
	*h = (struct metric_heads){ 0 };
}

static uint64_t metric_head_key(uint32_t series, int64_t time_ns)
{
	return (uint64_t)(time_ns / METRIC_SLOT_NS) << 32 | series;
}

uint32_t metric_heads_find(const struct metric_heads *h, uint32_t series, int64_t time_ns)
{
	const uint32_t *at = map_get(&h->index, metric_head_key(series, time_ns));

	return at ? *at : UINT32_MAX;
}

void metric_heads_add(struct metric_heads *h, uint32_t series, const struct metric_point *point)
{
	uint32_t fresh = h->all.n;
	uint64_t key = metric_head_key(series, point->time_ns);
	uint32_t at = map_intern(&h->index, key, fresh, NULL, NULL);

	if (at == fresh)
		vec_push(&h->all, (struct metric_head){ .series = series });
	vec_push(&h->all.v[at].points, *point);
}

static uint64_t metric_heads_size_bytes(const struct metric_heads *h)
{
	uint64_t bytes = vec_size_bytes(&h->all) + map_size_bytes(&h->index);

	for (size_t i = 0; i < h->all.n; i++)
		bytes += vec_size_bytes(&h->all.v[i].points);
	return bytes;
}

/* --- rows ------------------------------------------------------------------------------------- */

void heads_done(struct heads *h)
{
	for (size_t i = 0; i < h->all.n; i++) {
		vec_done(&h->all.v[i].rows);
		vec_done(&h->all.v[i].weights);
	}
	vec_done(&h->all);
	map_done(&h->index);
	metric_heads_done(&h->metrics);
	*h = (struct heads){ 0 };
}

struct head *heads_get(struct heads *h, uint32_t series, int64_t from_ns, bool weighted)
{
	/* The hours in an int64_t are less than 2^22 either way. */
	uint64_t key = (uint64_t)(from_ns / HEAD_SLOT_NS) << 32 | series;
	uint32_t fresh = h->all.n, at = map_intern(&h->index, key, fresh, NULL, NULL);

	if (at == fresh)
		vec_push(&h->all, (struct head){
					  .series = series,
					  .weighted = weighted,
					  .from_ns = from_ns,
				  });
	return &h->all.v[at];
}

uint64_t heads_size_bytes(const struct heads *h)
{
	uint64_t bytes = vec_size_bytes(&h->all) + map_size_bytes(&h->index) +
			 metric_heads_size_bytes(&h->metrics);

	for (size_t i = 0; i < h->all.n; i++)
		bytes += vec_size_bytes(&h->all.v[i].rows) + vec_size_bytes(&h->all.v[i].weights);
	return bytes;
}

/* --- sorting ---------------------------------------------------------------------------------- */

static uint32_t count_add(uint32_t a, uint32_t b)
{
	return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

static void row_add(struct block_row *to, const struct head *h, uint32_t row)
{
	to->value = sum_add(to->value, h->rows.v[row].value);
	if (h->weighted) {
		to->n = count_add(to->n, h->weights.v[row].n);
		to->squares += h->weights.v[row].squares;
	}
}

size_t head_sort(const struct head *h, struct block_row **out)
{
	size_t n = h->rows.n, kept = 0;
	struct radix_key *room = xreallocarray(NULL, n ? n : 1, 2 * sizeof *room);
	struct block_row *rows = xreallocarray(NULL, n ? n : 1, sizeof *rows);

	/* By stack, then window. */
	for (size_t i = 0; i < n; i++) {
		const struct head_row *row = &h->rows.v[i];
		room[i] = (struct radix_key){ (uint64_t)row->stack << 32 | row->window, i };
	}
	struct radix_key *keys = radix_sort(room, n);
	for (size_t i = 0; i < n;) {
		struct block_row *r = &rows[kept];
		uint64_t place = keys[i].key;
		*r = (struct block_row){ .stack = place >> 32, .window = (uint32_t)place };
		for (; i < n && keys[i].key == place; i++)
			row_add(r, h, keys[i].row);
		kept += r->value != 0;
	}
	free(room);
	*out = rows;
	return kept;
}
