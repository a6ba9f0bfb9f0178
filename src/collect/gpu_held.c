#include "collect/gpu_held.h"

#define NO_RECORD UINT32_MAX

static uint64_t key_of(uint32_t pid, uint32_t work)
{
	return (uint64_t)pid << 32 | work;
}

static struct held_queue *queue_of(const struct gpu_held *h, uint32_t pid, uint32_t work)
{
	const uint32_t *known = map_get(&h->queue_of, key_of(pid, work));

	return known ? &h->queues.v[*known] : NULL;
}

static struct held_queue *add_queue(struct gpu_held *h, uint32_t pid, uint32_t work)
{
	map_put(&h->queue_of, key_of(pid, work), h->queues.n);
	vec_push(&h->queues, (struct held_queue){ NO_RECORD, NO_RECORD });
	return &h->queues.v[h->queues.n - 1];
}

void gpu_held_add(struct gpu_held *h, uint32_t pid, uint32_t work, uint64_t start_ns, uint64_t ns)
{
	struct held_queue *q = queue_of(h, pid, work);
	uint32_t at = h->records.n;

	if (at >= (h->max ? h->max : (uint32_t)GPU_HELD_MAX) || !ns)
		return;
	if (!q)
		q = add_queue(h, pid, work);
	vec_push(&h->records, (struct held_record){ start_ns, ns, NO_RECORD });
	if (q->first == NO_RECORD)
		q->first = at;
	else
		h->records.v[q->last].next = at;
	q->last = at;
}

uint64_t gpu_held_take(struct gpu_held *h, uint32_t pid, uint32_t work, uint64_t max_ns,
		       uint64_t *start_ns)
{
	struct held_queue *q = queue_of(h, pid, work);

	if (!q || q->first == NO_RECORD)
		return 0;
	struct held_record *r = &h->records.v[q->first];
	uint64_t ns = r->ns < max_ns ? r->ns : max_ns;

	*start_ns = r->start_ns;
	r->start_ns += ns;
	r->ns -= ns;
	if (!r->ns)
		q->first = r->next;
	return ns;
}

void gpu_held_done(struct gpu_held *h)
{
	vec_done(&h->records);
	vec_done(&h->queues);
	map_done(&h->queue_of);
}
