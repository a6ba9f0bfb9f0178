#include "format/trace/trace_event.h"

#include "base/hash.h"
#include "base/vec.h"
#include "profile/sum.h"

enum {
	/* limit: asynchronous events of a trace; more are counted without time */
	ASYNC_MAX_BEGINS = 1 << 24,
};

static void async_begin(struct trace_async *a, uint64_t key, int64_t ts_ns)
{
	const uint32_t *outer = map_get(&a->innermost, key);
	a->n++;
	if (a->begins.n >= ASYNC_MAX_BEGINS)
		return;
	vec_push(&a->begins, (struct async_begin){ ts_ns, outer ? *outer : 0 });
	map_put(&a->innermost, key, a->begins.n);
}

static void async_end(struct trace_async *a, uint64_t key, int64_t ts_ns)
{
	const uint32_t *innermost = map_get(&a->innermost, key);
	if (!innermost || !*innermost) {
		a->n++;
		return;
	}
	struct async_begin begin = a->begins.v[*innermost - 1];
	if (ts_ns > begin.ts_ns)
		a->total_ns = sum_add(a->total_ns, sum_sub(ts_ns, begin.ts_ns));
	map_put(&a->innermost, key, begin.outer);
}

bool trace_async_add(struct trace_async *a, const struct trace_event *e)
{
	bool begins = e->phase == 'b' || e->phase == 'S', ends = e->phase == 'e' || e->phase == 'F';
	uint64_t key = hash_mix(hash_mix(e->pid.key, e->category), e->id);
	if (begins)
		async_begin(a, key, e->ts_ns);
	if (ends)
		async_end(a, key, e->ts_ns);
	return begins || ends;
}

void trace_async_done(struct trace_async *a)
{
	vec_done(&a->begins);
	map_done(&a->innermost);
}
