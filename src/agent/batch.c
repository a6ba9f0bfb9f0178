#include "agent/batch.h"

#include "base/vec.h"
#include "profile/copy.h"

struct batch_copy {
	struct profile_copy copy;
	struct map stacks;
	VEC(uint32_t) frames;
};

static uint32_t copy_stack(struct batch_copy *b, uint32_t stack)
{
	const uint32_t *known = map_get(&b->stacks, stack);
	struct sink *to = profile_sink(b->copy.to);
	bool is_new;

	if (known)
		return *known;
	uint32_t n = stack_depth(&b->copy.from->stacks, stack);
	vec_reserve(&b->frames, n);
	stack_frames(&b->copy.from->stacks, stack, b->frames.v);
	for (uint32_t i = 0; i < n; i++)
		b->frames.v[i] = profile_copy_frame(&b->copy, b->frames.v[i], &is_new);
	uint32_t id = to->ops->stack(to, b->frames.v, n);
	map_put(&b->stacks, stack, id);
	return id;
}

static void copy_sample(struct batch_copy *b, size_t row)
{
	const struct sample_columns *c = &b->copy.from->samples;
	struct sink *to = profile_sink(b->copy.to);
	struct sample sample = {
		.time_ns = c->time_ns[row],
		.length_ns = sample_length_ns(c, row),
		.value = c->value[row],
		.series = profile_copy_series(&b->copy, c->series[row]),
		.stack = copy_stack(b, c->stack[row]),
		.pid = c->pid[row],
		.tid = c->tid[row],
		.cpu = c->cpu[row],
	};

	to->ops->sample(to, &sample);
}

struct profile *batch_of(const struct profile *p)
{
	struct profile *out = profile_new();
	struct batch_copy b = { 0 };

	profile_copy_init(&b.copy, p, out);
	for (size_t row = 0; row < p->samples.n; row++)
		copy_sample(&b, row);
	profile_copy_done(&b.copy);
	map_done(&b.stacks);
	vec_done(&b.frames);
	return out;
}
