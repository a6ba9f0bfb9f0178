#include "base/mem.h"
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct written { /* an id of the profile being made, when it is of this one */
	uint32_t profile, id;
};
struct pending { /* a stack whose frames are ready */
	uint32_t stack, first, n;
};
struct model_writer {
	const struct model *m;
	struct profile *p;
	uint32_t profile; /* the how manieth */
	struct written *frames, *functions, binaries[MODEL_PROGRAMS + 2], series[MODEL_SERIES];
	VEC(struct written) stacks;
	VEC(uint32_t) pool; /* frames of the stacks below */
	VEC(struct pending) pending;
};

struct model_writer *model_writer_new(const struct model *m)
{
	struct model_writer *w = xcalloc(1, sizeof *w);
	w->m = m;
	w->functions = xcalloc(model_functions(m), sizeof *w->functions);
	w->frames = xcalloc(model_functions(m) * MODEL_FRAMES_PER_FUNCTION, sizeof *w->frames);
	return w;
}

void model_writer_free(struct model_writer *w)
{
	free(w->functions);
	free(w->frames);
	vec_done(&w->stacks);
	vec_done(&w->pool);
	vec_done(&w->pending);
	free(w);
}

/* Whether it is not in this profile yet; it will be. */
static bool is_new(struct model_writer *w, struct written *what)
{
	bool fresh = what->profile != w->profile;
	what->profile = w->profile;
	return fresh;
}

static uint32_t put_binary(struct model_writer *w, uint32_t binary)
{
	char name[MODEL_NAME_BYTES];
	struct sink *s = profile_sink(w->p);
	struct written *it = &w->binaries[binary];
	if (!is_new(w, it))
		return it->id;
	struct mapping mapping = { .name = sink_string(s, model_binary_name(w->m, binary, name)),
				   .build_id_len = 20 };
	memset(mapping.build_id, 1 + binary, 20);
	return it->id = s->ops->mapping(s, &mapping);
}

static uint32_t put_function(struct model_writer *w, uint32_t function)
{
	char text[MODEL_NAME_BYTES];
	struct sink *s = profile_sink(w->p);
	struct written *it = &w->functions[function];
	if (!is_new(w, it))
		return it->id;
	struct function f = { .name = sink_string(s, model_function_name(w->m, function, text)) };
	f.file = sink_string(s, model_file_name(w->m, function, text));
	return it->id = s->ops->function(s, &f);
}

static uint32_t put_frame(struct model_writer *w, uint32_t frame)
{
	uint32_t function = frame / MODEL_FRAMES_PER_FUNCTION;
	uint32_t binary = model_function_binary(w->m, function);
	struct sink *s = profile_sink(w->p);
	struct written *it = &w->frames[frame];
	if (!is_new(w, it))
		return it->id;
	struct frame f = { .kind = binary > MODEL_PROGRAMS ? FRAME_KERNEL : FRAME_NATIVE,
			   .mapping = put_binary(w, binary),
			   .offset = model_frame_offset(frame) };
	struct line line = { .function = put_function(w, function),
			     .line = model_frame_line(frame) };
	it->id = s->ops->frame(s, &f);
	s->ops->names(s, it->id, &line, 1);
	return it->id;
}

/* Stacks are interned many at once, which takes a fraction of the time. */
static void put_pending(struct model_writer *w)
{
	struct stack_list lists[STACK_BATCH];
	uint32_t ids[STACK_BATCH];
	struct sink *s = profile_sink(w->p);
	for (size_t i = 0; i < w->pending.n; i++)
		lists[i] = (struct stack_list){ .frames = w->pool.v + w->pending.v[i].first,
						.n = w->pending.v[i].n };
	s->ops->stacks(s, lists, w->pending.n, ids);
	for (size_t i = 0; i < w->pending.n; i++)
		w->stacks.v[w->pending.v[i].stack].id = ids[i];
	vec_clear(&w->pool);
	vec_clear(&w->pending);
}

static void put_stack(struct model_writer *w, uint32_t stack)
{
	while (w->stacks.n <= stack)
		vec_push(&w->stacks, (struct written){ 0 });
	if (!is_new(w, &w->stacks.v[stack]))
		return;
	uint32_t first = w->pool.n, n;
	const uint32_t *frames = model_stack_frames(w->m, stack, &n);
	for (uint32_t i = 0; i < n; i++)
		vec_push(&w->pool, put_frame(w, frames[i]));
	vec_push(&w->pending, (struct pending){ stack, first, n });
	if (w->pending.n == STACK_BATCH)
		put_pending(w);
}

static struct label label_of(struct sink *s, const char *key, const char *value)
{
	return (struct label){ .key = sink_string(s, key), .str = sink_string(s, value) };
}

static uint32_t put_type(struct sink *s, bool off)
{
	struct type on_cpu = { .name = sink_string(s, "cpu"),
			       .sample_type = sink_string(s, "samples"),
			       .unit = sink_string(s, "count"),
			       .period_type = sink_string(s, "cpu"),
			       .period_unit = sink_string(s, "nanoseconds") };
	struct type off_cpu = { .name = sink_string(s, "off-cpu"),
				.sample_type = sink_string(s, "wait"),
				.unit = sink_string(s, "microseconds") };
	return s->ops->type(s, off ? &off_cpu : &on_cpu);
}

static uint32_t put_series(struct model_writer *w, uint32_t series)
{
	char node[MODEL_NAME_BYTES], program[MODEL_NAME_BYTES];
	struct sink *s = profile_sink(w->p);
	struct written *it = &w->series[series];
	uint32_t pool = model_series_pool(series);
	bool off = pool % MODEL_TYPES;
	if (!is_new(w, it))
		return it->id;
	snprintf(node, sizeof node, "node-%02u", model_series_node(series));
	struct label labels[] = {
		label_of(s, "host", node),
		label_of(s, "process", model_program_name(pool / MODEL_TYPES, program)),
	};
	struct series row = { .type = put_type(s, off),
			      .period = off ? 0 : 1000000000 / 19,
			      .labels = s->ops->labels(s, labels, 2) };
	return it->id = s->ops->series(s, &row);
}

struct profile *model_write_profile(struct model_writer *w, const struct model_row *rows, size_t n)
{
	w->p = profile_new();
	w->profile++;
	for (size_t i = 0; i < n; i++)
		put_stack(w, rows[i].stack);
	put_pending(w);
	struct sink *s = profile_sink(w->p);
	for (size_t i = 0; i < n; i++) {
		struct sample sample = {
			.time_ns =
				MODEL_START_NS + rows[i].window * (MODEL_WINDOW_S * 1000000000ll),
			.value = rows[i].value,
			.series = put_series(w, rows[i].series),
			.stack = w->stacks.v[rows[i].stack].id,
			.pid = SAMPLE_NO_ID,
			.tid = SAMPLE_NO_ID,
			.cpu = SAMPLE_NO_ID,
		};
		s->ops->sample(s, &sample);
	}
	return w->p;
}
