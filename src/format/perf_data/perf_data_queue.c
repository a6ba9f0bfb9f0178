/* A heap of records by time, in bounded memory. */
#include "base/mem.h"
#include "base/vec.h"
#include "format/perf_data/perf_data_reader.h"

#include <string.h>

struct pd_record {
	size_t len;
	char data[];
};

void pd_queue_init(struct pd_queue *q, void (*give)(void *, const void *, size_t), void *ctx)
{
	*q = (struct pd_queue){ .give = give, .ctx = ctx };
}

void pd_queue_done(struct pd_queue *q)
{
	for (size_t i = 0; i < q->heap.n; i++)
		free(q->heap.v[i].record);
	vec_done(&q->heap);
}

static bool is_before(const struct pd_waiting *a, const struct pd_waiting *b)
{
	return a->time != b->time ? a->time < b->time : a->nth < b->nth;
}

static void sift_up(struct pd_waiting *heap, size_t i)
{
	struct pd_waiting moving = heap[i];
	for (; i && is_before(&moving, &heap[(i - 1) / 2]); i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = moving;
}

static void sift_down(struct pd_waiting *heap, size_t n)
{
	struct pd_waiting moving = heap[0];
	size_t i = 0, child;
	while ((child = 2 * i + 1) < n) {
		if (child + 1 < n && is_before(&heap[child + 1], &heap[child]))
			child++;
		if (!is_before(&heap[child], &moving))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = moving;
}

static size_t cost(size_t len)
{
	return len + sizeof(struct pd_record) + sizeof(struct pd_waiting);
}

static void give_oldest(struct pd_queue *q)
{
	struct pd_waiting oldest = q->heap.v[0];
	q->heap.v[0] = q->heap.v[--q->heap.n];
	if (q->heap.n)
		sift_down(q->heap.v, q->heap.n);
	q->bytes -= cost(oldest.record->len);
	q->late += oldest.time < q->given;
	q->given = oldest.time > q->given ? oldest.time : q->given;
	q->give(q->ctx, oldest.record->data, oldest.record->len);
	free(oldest.record);
}

void pd_queue_add(struct pd_queue *q, uint64_t time, const void *record, size_t len)
{
	struct pd_record *copy = xmalloc(sizeof *copy + len);
	copy->len = len;
	memcpy(copy->data, record, len);
	vec_push(&q->heap, (struct pd_waiting){ time, q->nth++, copy });
	sift_up(q->heap.v, q->heap.n - 1);
	q->bytes += cost(len);
	q->newest = time > q->newest ? time : q->newest;
	while (q->bytes > PD_MAX_QUEUED_BYTES)
		give_oldest(q);
}

void pd_queue_round(struct pd_queue *q)
{
	while (q->heap.n && q->heap.v[0].time <= q->limit)
		give_oldest(q);
	q->limit = q->newest;
}

void pd_queue_flush(struct pd_queue *q)
{
	while (q->heap.n)
		give_oldest(q);
}
