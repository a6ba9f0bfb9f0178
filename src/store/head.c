#include "store/head.h"

#include "base/radix.h"
#include "profile/sum.h"

#include <string.h>

static void head_done(struct head *h)
{
	vec_done(&h->rows);
	vec_done(&h->weights);
}

void heads_done(struct heads *h)
{
	for (size_t i = 0; i < h->all.n; i++)
		head_done(&h->all.v[i]);
	vec_done(&h->all);
	map_done(&h->index);
	metric_heads_done(&h->metrics);
	*h = (struct heads){ 0 };
}

struct head *heads_get(struct heads *h, uint32_t series, int64_t from_ns, bool weighted)
{
	/* Hours of all of int64_t are less than 2^22 either way. */
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

/* In order of stack, then window. */
static struct radix_key *keys_of(const struct head *h, struct radix_key *room)
{
	for (size_t i = 0; i < h->rows.n; i++) {
		const struct head_row *r = &h->rows.v[i];
		room[i] = (struct radix_key){ (uint64_t)r->stack << 32 | r->window, i };
	}
	return radix_sort(room, h->rows.n);
}

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
	struct radix_key *keys = keys_of(h, room);
	struct block_row *rows = xreallocarray(NULL, n ? n : 1, sizeof *rows);

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
