/* Encodes blocks before they are needed, from copies of heads, so that no thread waits for it.
 * Heads only grow, so an encoded block is valid while its head has the same number of rows. */
#include "base/vec.h"
#include "store/day/store_state.h"

#include <string.h>

static void encoded_done(struct store_encoded *e)
{
	block_blobs_done(&e->block.blobs);
	*e = (struct store_encoded){ 0 };
}

void store_ahead_done(struct store_part *sp)
{
	for (size_t i = 0; i < sp->ahead.n; i++)
		encoded_done(&sp->ahead.v[i]);
	vec_done(&sp->ahead);
	sp->ahead_bytes = 0;
	sp->flushes++;
}

const struct part_encoded *store_ahead_of(const struct store_part *sp, size_t head)
{
	if (head >= sp->ahead.n || sp->ahead.v[head].rows != sp->heads.all.v[head].rows.n)
		return NULL;
	return &sp->ahead.v[head].block;
}

static struct head copy_head(const struct head *h)
{
	struct head copy = { .series = h->series, .weighted = h->weighted, .from_ns = h->from_ns };

	vec_append(&copy.rows, h->rows.v, h->rows.n);
	vec_append(&copy.weights, h->weights.v, h->weights.n);
	return copy;
}

/* Copies the next head from *at on that is not encoded yet. A head is encoded only once, so that
 * this ends however fast heads grow. Returns false if none exists, or the heads have become
 * blocks. */
static bool next_head(struct store *s, struct store_part *sp, uint64_t flushes, size_t *at,
		      struct head *copy)
{
	bool found = false;

	pthread_mutex_lock(&s->lock);
	if (sp->flushes == flushes) {
		while (*at < sp->ahead.n && sp->ahead.v[*at].rows)
			++*at;
		found = *at < sp->heads.all.n;
		if (found)
			*copy = copy_head(&sp->heads.all.v[*at]);
	}
	pthread_mutex_unlock(&s->lock);
	return found;
}

static void encode_head(struct block_coder *coder, const struct head *h, struct store_encoded *out)
{
	struct block_row *rows;
	size_t n = head_sort(h, &rows);
	const struct part_block block = { .series = h->series,
					  .from_ns = h->from_ns,
					  .windows = HEAD_WINDOWS,
					  .weighted = h->weighted,
					  .rows = rows,
					  .n = n };

	part_encode(coder, &block, &out->block);
	out->rows = h->rows.n;
	free(rows);
}

static void keep(struct store *s, struct store_part *sp, uint64_t flushes, size_t at,
		 struct store_encoded *e)
{
	const struct block_blobs *b = &e->block.blobs;

	pthread_mutex_lock(&s->lock);
	if (sp->flushes == flushes) {
		vec_reserve(&sp->ahead, at + 1);
		while (sp->ahead.n <= at)
			sp->ahead.v[sp->ahead.n++] = (struct store_encoded){ 0 };
		sp->ahead.v[at] = *e;
		sp->ahead_bytes += b->summary.cap + b->windows.cap + b->detail.cap;
	} else {
		encoded_done(e);
	}
	pthread_mutex_unlock(&s->lock);
}

void store_encode_ahead(struct store *s, struct store_part *sp, bool (*go_on)(void *ctx), void *ctx)
{
	struct block_coder *coder = block_coder_new();
	struct head h;
	size_t at = 0;

	pthread_mutex_lock(&s->lock);
	uint64_t flushes = sp->flushes;
	pthread_mutex_unlock(&s->lock);
	for (; go_on(ctx) && next_head(s, sp, flushes, &at, &h); at++) {
		struct store_encoded e = { 0 };
		encode_head(coder, &h, &e);
		keep(s, sp, flushes, at, &e);
		vec_done(&h.rows);
		vec_done(&h.weights);
	}
	block_coder_free(coder);
}
