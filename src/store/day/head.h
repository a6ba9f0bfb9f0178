/* store/day/head.h: rows of one partition that are not in blocks yet, by series and hour.
 *
 * A head is the rows of one series in one hour, in order of arrival; several rows may have the same
 * stack and window. Stacks are ids in the partition's dictionary. head_sort prepares a head's rows
 * for block_encode. */
#ifndef CRESSET_STORE_DAY_HEAD_H
#define CRESSET_STORE_DAY_HEAD_H

#include "base/hash.h"
#include "base/vec.h"
#include "store/codec/block.h"
#include "store/codec/metric.h"

#include <stdbool.h>
#include <stdint.h>

enum { HEAD_WINDOWS = 360 };
#define HEAD_SLOT_NS (HEAD_WINDOWS * BLOCK_WINDOW_NS) /* an hour */

struct head_row {
	uint32_t stack;
	uint32_t window; /* since the head's from_ns */
	int64_t value;
};
/* Of a weighted series: number of samples in a row, and the sum of the squares of their values. */
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

/* --- points of metrics, by series and hour, in order of arrival --- */

struct metric_head {
	uint32_t series;
	struct metric_points points;
};
#define METRIC_SLOT_NS 3600000000000ll

struct metric_heads { /* zeroed = empty */
	VEC(struct metric_head) all;
	struct map index; /* (hour, series) → all */
};

void metric_heads_add(struct metric_heads *h, uint32_t series, const struct metric_point *point);
/* Returns the index in `all` of a series' head for the hour of time_ns; UINT32_MAX: none. */
uint32_t metric_heads_find(const struct metric_heads *h, uint32_t series, int64_t time_ns);

/* --- all heads of a partition --- */

struct heads { /* zeroed = empty */
	VEC(struct head) all;
	struct map index; /* (hour, series) → all */
	uint64_t rows;    /* including points of metrics */
	struct metric_heads metrics;
};
void heads_done(struct heads *h);

/* Returns the head of this series in this hour, created if missing. Valid until the next call. */
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

/* Returns the number of rows of a head as block_encode takes them: sorted, rows of the same stack
 * and window summed, without zeros. *out: to be freed with free(). */
size_t head_sort(const struct head *h, struct block_row **out);

uint64_t heads_size_bytes(const struct heads *h);

#endif
