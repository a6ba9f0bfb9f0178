/* Sorts pending records by time, and hands out the ones that are due. */
#include "collect/resolve/order.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static void add_entry(struct order *o, uint64_t time_ns, uint32_t index, bool is_side)
{
	o->late += time_ns <= o->taken_ns;
	if (!o->entries.n || time_ns < o->oldest_ns)
		o->oldest_ns = time_ns;
	vec_push(&o->entries, (struct order_entry){ time_ns, o->seq++, index, is_side });
}

static void add_sample(struct order *o, const struct order_sample *s)
{
	add_entry(o, s->ev.sample.time_ns, o->samples.n, false);
	if (s->raw) {
		o->raw_bytes += s->raw->stack_bytes;
		o->n_raw++;
	}
	vec_push(&o->samples, *s);
}

void order_add_sample(struct order *o, const struct event_sample *s)
{
	add_sample(o, &(struct order_sample){ .ev.sample = *s });
}

void order_add_wait(struct order *o, const struct event_wait *w)
{
	add_sample(o, &(struct order_sample){ .ev.wait = *w });
}

void order_add_thread(struct order *o, const struct event_thread *t)
{
	add_sample(o, &(struct order_sample){ .ev.thread = *t });
}

void order_add_gpu(struct order *o, const struct event_gpu *g)
{
	add_sample(o, &(struct order_sample){ .ev.gpu = *g });
}

void order_add_fault(struct order *o, const struct event_fault *f)
{
	add_sample(o, &(struct order_sample){ .ev.fault = *f });
}

void order_add_raw(struct order *o, const struct event_raw *raw)
{
	struct order_sample s = { .ev.wait = raw->ev };

	s.raw = xmemdup(raw, sizeof *raw + raw->stack_bytes);
	add_sample(o, &s);
}

void order_add_side(struct order *o, const struct side_record *r)
{
	struct order_side side = { *r, SIZE_MAX };

	if (r->name) {
		side.name = o->names.len;
		buf_add(&o->names, r->name, strlen(r->name) + 1);
	}
	add_entry(o, r->time_ns, o->sides.n, true);
	vec_push(&o->sides, side);
}

uint64_t order_oldest_raw_ns(const struct order *o)
{
	uint64_t oldest_ns = UINT64_MAX;

	for (size_t i = 0; i < o->samples.n && o->n_raw; i++) {
		const struct order_sample *s = &o->samples.v[i];

		if (s->raw && s->ev.sample.time_ns < oldest_ns)
			oldest_ns = s->ev.sample.time_ns;
	}
	return oldest_ns;
}

static int by_time(const void *a, const void *b)
{
	const struct order_entry *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static struct side_record side_at(const struct order *o, uint32_t index)
{
	struct side_record r = o->sides.v[index].rec;
	size_t name = o->sides.v[index].name;

	r.name = name == SIZE_MAX ? NULL : o->names.data + name;
	return r;
}

/* life: the number of its record in o->lives. */
static void hand_out_side(struct order *o, const struct order_entry *e, size_t life,
			  const struct order_ops *ops, void *ctx)
{
	struct side_record r = side_at(o, e->index);

	r.is_over = lives_is_over(&o->lives, life);
	if (lives_is_brief(&o->lives, life))
		ops->brief(ctx, &r);
	else
		ops->side(ctx, &r);
}

static void hand_out_sample(struct order *o, const struct order_entry *e,
			    const struct order_ops *ops, void *ctx)
{
	struct order_sample *s = &o->samples.v[e->index];

	ops->sample(ctx, &s->ev, s->raw);
	if (s->raw) {
		o->raw_bytes -= s->raw->stack_bytes;
		o->n_raw--;
	}
	free(s->raw);
	s->raw = NULL;
}

/* Moves the pending entries into new arrays, so that memory follows what is pending, not the past
 * maximum. */
static void keep_rest(struct order *o)
{
	struct order rest = { .seq = o->seq };

	for (size_t i = 0; i < o->entries.n; i++) {
		const struct order_entry *e = &o->entries.v[i];

		if (e->is_side) {
			struct side_record r = side_at(o, e->index);

			order_add_side(&rest, &r);
		} else {
			add_sample(&rest, &o->samples.v[e->index]);
			o->samples.v[e->index].raw = NULL;
		}
		rest.entries.v[i].seq = e->seq;
	}
	rest.taken_ns = o->taken_ns;
	rest.late = o->late;
	order_done(o);
	*o = rest;
}

/* Moves due entries out of the pending ones. */
static void part_due(struct order *o, uint64_t barrier_ns)
{
	size_t n = 0;

	o->oldest_ns = UINT64_MAX;
	for (size_t i = 0; i < o->entries.n; i++) {
		struct order_entry e = o->entries.v[i];

		if (e.time_ns <= barrier_ns) {
			vec_push(&o->due, e);
			continue;
		}
		o->entries.v[n++] = e;
		if (e.time_ns < o->oldest_ns)
			o->oldest_ns = e.time_ns;
	}
	o->entries.n = n;
}

void order_needs(const struct order *o, size_t i, void (*fn)(void *ctx, uint32_t pid), void *ctx)
{
	const union order_event *ev = &o->samples.v[i].ev;
	const struct wait_info *wait = &ev->wait.wait;
	bool is_wait = ev->sample.kind == EVENT_WAIT || ev->sample.kind == EVENT_RAW;

	fn(ctx, ev->sample.tgid);
	if (is_wait && wait->waker_tgid)
		fn(ctx, wait->waker_tgid);
}

static void need_life(void *ctx, uint32_t pid)
{
	lives_need(ctx, pid);
}

/* A process with a sample after the barrier is also needed. */
static void find_lives(struct order *o)
{
	lives_clear(&o->lives);
	for (size_t i = 0; i < o->entries.n; i++)
		if (!o->entries.v[i].is_side)
			order_needs(o, o->entries.v[i].index, need_life, &o->lives);
	for (size_t i = o->due.n; i-- > 0;) {
		const struct order_entry *e = &o->due.v[i];

		if (e->is_side)
			lives_add(&o->lives, &o->sides.v[e->index].rec);
		else
			order_needs(o, e->index, need_life, &o->lives);
	}
}

static void hand_out_due(struct order *o, const struct order_ops *ops, void *ctx)
{
	find_lives(o);
	for (size_t i = 0, life = o->lives.of.n; i < o->due.n; i++) {
		if (o->due.v[i].is_side)
			hand_out_side(o, &o->due.v[i], --life, ops, ctx);
		else
			hand_out_sample(o, &o->due.v[i], ops, ctx);
	}
}

void order_take(struct order *o, uint64_t barrier_ns, const struct order_ops *ops, void *ctx)
{
	bool any = o->entries.n && o->oldest_ns <= barrier_ns;

	if (!any) {
		o->taken_ns = barrier_ns;
		return;
	}
	part_due(o, barrier_ns);
	qsort(o->due.v, o->due.n, sizeof *o->due.v, by_time);
	hand_out_due(o, ops, ctx);
	o->gone += o->due.n;
	vec_clear(&o->due);
	o->taken_ns = barrier_ns;
	if (o->gone >= o->entries.n)
		keep_rest(o);
}

void order_done(struct order *o)
{
	for (size_t i = 0; i < o->samples.n; i++)
		free(o->samples.v[i].raw);
	vec_done(&o->entries);
	vec_done(&o->due);
	lives_done(&o->lives);
	vec_done(&o->samples);
	vec_done(&o->sides);
	buf_done(&o->names);
}
