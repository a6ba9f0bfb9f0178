/* CUPTI's buffers: requested, filled and returned with records by CUPTI, in any thread. */
#include "gpu/inject/library.h"

#include <string.h>

void on_buffer_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	uint32_t used = __atomic_load_n(&library.buffers_used, __ATOMIC_RELAXED);

	*buffer = NULL;
	*size = *max_records = 0;
	while (library.ring && used != (1u << BUFFERS) - 1) {
		uint32_t i = __builtin_ctz(~used);

		if (!__atomic_compare_exchange_n(&library.buffers_used, &used, used | 1u << i,
						 false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		*buffer = library.buffers + (size_t)i * BUFFER_SIZE;
		*size = BUFFER_SIZE;
		return;
	}
	/* None is free: CUPTI drops records, and reports how many. */
}

struct writer {
	void *ring;
	struct ring_lane *lane;
	bool shared;
};

static void write_record(struct writer *w, struct ring_record *r, size_t size)
{
	ring_write(w->ring, w->lane, w->shared, r, size);
}

void write_here(struct ring_record *record, size_t size)
{
	struct writer w = { .ring = library.ring };

	if (!w.ring)
		return;
	w.lane = ring_lane_take(w.ring, RING_LANE_BUFFER, thread_id(), &w.shared);
	write_record(&w, record, size);
}

static uint16_t narrow(int32_t v)
{
	return v < 0 ? 0 : v > 0xffff ? 0xffff : v;
}

static void on_kernel(struct writer *w, const struct cupti_kernel *k)
{
	struct ring_kernel out = {
		.r = { .type = RING_KERNEL, .correlation = k->correlation },
		.start_ns = k->start,
		.end_ns = k->end,
		.name = ring_name(&library.names, k->name),
		.stream = k->stream,
		.device = k->device,
		.graph = k->graph,
		.graph_node = k->graph_node,
		.grid = { k->grid[0], k->grid[1], k->grid[2] },
		.shared_bytes = k->shared_static + k->shared_dynamic,
		.block = { narrow(k->block[0]), narrow(k->block[1]), narrow(k->block[2]) },
		.registers = k->registers,
	};
	devices_ran(w->ring, k->device);
	write_record(w, &out.r, sizeof out);
}

/* A copy between devices has the same record layout up to the stream. */
static void on_copy(struct writer *w, const struct cupti_copy *c, uint32_t correlation,
		    uint32_t graph)
{
	struct ring_copy out = {
		.r = { .type = RING_COPY, .correlation = correlation },
		.start_ns = c->start,
		.end_ns = c->end,
		.bytes = c->bytes,
		.device = c->device,
		.stream = c->stream,
		.graph = graph,
		.kind = c->copy_kind,
		.from = c->from,
		.to = c->to,
		.flags = c->flags,
	};
	devices_ran(w->ring, c->device);
	write_record(w, &out.r, sizeof out);
}

static void on_host_copy(struct writer *w, const struct cupti_copy *c)
{
	on_copy(w, c, c->correlation, c->graph);
}

static void on_peer_copy(struct writer *w, const struct cupti_peer_copy *c)
{
	on_copy(w, (const void *)c, c->correlation, c->graph);
}

static void on_set(struct writer *w, const struct cupti_set *s)
{
	struct ring_copy out = {
		.r = { .type = RING_SET, .correlation = s->correlation },
		.start_ns = s->start,
		.end_ns = s->end,
		.bytes = s->bytes,
		.device = s->device,
		.stream = s->stream,
		.graph = s->graph,
		.to = s->memory_kind,
		.flags = s->flags,
	};
	devices_ran(w->ring, s->device);
	write_record(w, &out.r, sizeof out);
}

static void on_sync(struct writer *w, const struct cupti_sync *s)
{
	struct ring_sync out = {
		.r = { .type = RING_SYNC, .correlation = s->correlation },
		.start_ns = s->start,
		.end_ns = s->end,
		.kind = s->type,
		.stream = s->stream,
	};
	write_record(w, &out.r, sizeof out);
}

static void on_graph(struct writer *w, const struct cupti_graph *g)
{
	struct ring_graph out = {
		.r = { .type = RING_GRAPH, .correlation = g->correlation },
		.start_ns = g->start,
		.end_ns = g->end,
		.device = g->device,
		.stream = g->stream,
		.graph = g->graph,
	};
	devices_ran(w->ring, g->device);
	write_record(w, &out.r, sizeof out);
}

static void on_memory(struct writer *w, const struct cupti_memory *m)
{
	struct ring_memory out = {
		.r = { .type = RING_MEMORY, .correlation = m->correlation },
		.time_ns = m->time,
		.address = m->address,
		.bytes = m->bytes,
		.device = m->device,
		.op = m->op,
		.kind = m->memory_kind,
	};
	write_record(w, &out.r, sizeof out);
}

static void on_record(struct writer *w, const void *record)
{
	struct ring_control *c = w->ring;
	const struct cupti_overhead *o = record;

	switch (o->kind) {
	case CUPTI_KIND_KERNEL:
		on_kernel(w, record);
		return;
	case CUPTI_KIND_MEMCPY:
		on_host_copy(w, record);
		return;
	case CUPTI_KIND_MEMCPY_PEER:
		on_peer_copy(w, record);
		return;
	case CUPTI_KIND_MEMSET:
		on_set(w, record);
		return;
	case CUPTI_KIND_SYNC:
		on_sync(w, record);
		return;
	case CUPTI_KIND_GRAPH:
		on_graph(w, record);
		return;
	case CUPTI_KIND_MEMORY:
		on_memory(w, record);
		return;
	case CUPTI_KIND_OVERHEAD:
		__atomic_fetch_add(&c->overhead_ns, o->end > o->start ? o->end - o->start : 0,
				   __ATOMIC_RELAXED);
		return;
	}
	__atomic_fetch_add(&c->unknown_records, 1, __ATOMIC_RELAXED);
}

static void give_back(const uint8_t *buffer)
{
	size_t i = (size_t)(buffer - library.buffers) / BUFFER_SIZE;

	if (buffer >= library.buffers && i < BUFFERS)
		__atomic_fetch_and(&library.buffers_used, ~(1u << i), __ATOMIC_ACQ_REL);
}

static void read_buffer(void *ring, void *context, uint32_t stream, uint8_t *buffer, size_t valid)
{
	struct writer w = { .ring = ring };
	struct ring_control *c = ring;
	uint64_t from = monotonic_ns();
	void *record = NULL;
	size_t dropped = 0;

	w.lane = ring_lane_take(ring, RING_LANE_BUFFER, thread_id(), &w.shared);
	while (valid && !library.cupti.ActivityGetNextRecord(buffer, valid, &record))
		on_record(&w, record);
	if (!library.cupti.ActivityGetNumDroppedRecords(context, stream, &dropped) && dropped)
		__atomic_fetch_add(&c->cupti_dropped, dropped, __ATOMIC_RELAXED);
	ring_lane_add(&w.lane->busy_ns, w.shared, monotonic_ns() - from);
}

void on_buffer_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	void *ring;

	(void)size;
	if (!buffer)
		return;
	/* Count before reading library.ring: own_ring_release clears it before it reads in_ring. */
	__atomic_fetch_add(&library.in_ring, 1, __ATOMIC_SEQ_CST);
	ring = __atomic_load_n(&library.ring, __ATOMIC_SEQ_CST);
	if (ring && !__atomic_load_n(&library.muted, __ATOMIC_ACQUIRE))
		read_buffer(ring, context, stream, buffer, valid);
	__atomic_fetch_sub(&library.in_ring, 1, __ATOMIC_SEQ_CST);
	give_back(buffer);
}
