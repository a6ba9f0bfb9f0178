/* store/head.h: rows that are not in blocks yet: of one partition, by series and hour.
 *
 * A head is the rows of one series in one hour, in the order they came; several rows may have the same stack and window. Stacks are those
 * of the partition's dictionary. heads_encode makes of them what part_add takes. */
#ifndef CRESSET_STORE_HEAD_H
#define CRESSET_STORE_HEAD_H

#include "base/hash.h"
#include "base/vec.h"
#include "store/block.h"
#include "store/metric_head.h"
#include "store/part.h"

#include <stdbool.h>
#include <stdint.h>

enum { HEAD_WINDOWS = 360 };
#define HEAD_SLOT_NS (HEAD_WINDOWS * BLOCK_WINDOW_NS) /* an hour */

struct head_row {
	uint32_t stack;
	uint32_t window; /* since the head's from_ns */
	int64_t value;
};
/* Of a weighted series: how many samples a row is, and the sum of the squares of their values. */
struct head_weight {
	uint32_t n;
	double squares;
};
struct head {
	uint32_t series;
	bool weighted;
	int64_t from_ns; /* Unix time, a multiple of HEAD_SLOT_NS */
	VEC(struct head_row) rows;
	VEC(struct head_weight) weights; /* by row; empty unless weighted */
};

struct heads { /* zeroed = empty */
	VEC(struct head) all;
	struct map index; /* (hour, series) → all */
	uint64_t rows;    /* and points of metrics */
	struct metric_heads metrics;
};
void heads_done(struct heads *h);

/* The head of this series in this hour, made when it is not there. Valid until the next call. */
struct head *heads_get(struct heads *h, uint32_t series, int64_t from_ns, bool weighted);

static inline void head_add(struct head *h, uint32_t stack, uint32_t window, int64_t value)
{
	vec_push(&h->rows, (struct head_row){ stack, window, value });
}
static inline void head_add_weighted(struct head *h, uint32_t stack, uint32_t window, int64_t value,
				     struct head_weight weight)
{
	vec_push(&h->rows, (struct head_row){ stack, window, value });
	vec_push(&h->weights, weight);
}

/* The rows of a head as block_encode wants them: sorted, those of the same stack and window added up, no zeros. *out: to be freed with
 * free(). Returns their number. */
size_t head_sort(const struct head *h, struct block_row **out);

uint64_t heads_size_bytes(const struct heads *h);

#endif
