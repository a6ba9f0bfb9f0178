/* What is right: every row is added up in plain arrays as it comes. */
#include "base/mem.h"
#include "engine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef VEC(int64_t) totals; /* by stack */

struct naive {
	struct engine_opts opts;
	totals hour, older_hour, some, all;
	int64_t *some_steps, *steps; /* [step_key] */
	struct name_tree tree;
};

static uint32_t n_steps(const struct naive *e)
{
	return model_windows(e->opts.m) / STEP_WINDOWS;
}

static void *naive_open(const struct engine_opts *opts)
{
	struct naive *e = xcalloc(1, sizeof *e);
	e->opts = *opts;
	e->some_steps = xcalloc(n_steps(e) * MODEL_POOLS, sizeof(int64_t));
	e->steps = xcalloc(n_steps(e) * MODEL_POOLS, sizeof(int64_t));
	return e;
}

static void naive_close(void *engine)
{
	struct naive *e = engine;
	vec_done(&e->hour);
	vec_done(&e->older_hour);
	vec_done(&e->some);
	vec_done(&e->all);
	name_tree_done(&e->tree);
	free(e->some_steps);
	free(e->steps);
	free(e);
}

static void add_to(totals *t, uint32_t stack, int64_t value)
{
	if (stack >= t->n) {
		vec_reserve(t, stack + 1);
		memset(t->v + t->n, 0, (stack + 1 - t->n) * sizeof *t->v);
		t->n = stack + 1;
	}
	t->v[stack] += value;
}

static void naive_add(void *engine, const struct model_row *rows, size_t n)
{
	struct naive *e = engine;
	const struct asked *a = &e->opts.asked;
	for (size_t i = 0; i < n; i++) {
		const struct model_row *r = &rows[i];
		uint64_t step = step_key(model_series_pool(r->series), r->window / STEP_WINDOWS);
		uint32_t hour_windows = a->to - a->from;
		add_to(&e->all, r->stack, r->value);
		e->steps[step] += r->value;
		if (r->window >= a->some_from && r->window < a->some_to) {
			add_to(&e->some, r->stack, r->value);
			e->some_steps[step] += r->value;
		}
		if (r->series != a->series)
			continue;
		if (r->window >= a->from && r->window < a->to)
			add_to(&e->hour, r->stack, r->value);
		if (r->window + hour_windows >= a->from && r->window + hour_windows < a->to)
			add_to(&e->older_hour, r->stack, r->value);
	}
}

static void make_tree(struct naive *e, const totals *of)
{
	name_tree_done(&e->tree);
	for (uint32_t i = 0; i < of->n; i++) {
		uint32_t n;
		const uint32_t *frames = model_stack_frames(e->opts.m, i, &n);
		if (of->v[i])
			name_tree_add(&e->tree, e->opts.name_keys, frames, n, of->v[i]);
	}
}

/* All else has been added up already. */
static bool naive_ask(void *engine, enum question q, int way)
{
	struct naive *e = engine;
	(void)way;
	if (q == Q_TREE || q == Q_TREE_ALL)
		make_tree(e, q == Q_TREE ? &e->hour : &e->all);
	return true;
}

static int64_t least_shown(const totals *t)
{
	int64_t total = 0;
	for (uint32_t i = 0; i < t->n; i++)
		total += t->v[i];
	return (int64_t)ceil((double)total * SHOWN_SHARE);
}

static void answer_totals(const totals *t, struct answer *out)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (t->v[i])
			answer_add(out, i, t->v[i]);
}

static void answer_steps(const struct naive *e, const int64_t *steps, struct answer *out)
{
	for (size_t i = 0; i < (size_t)n_steps(e) * MODEL_POOLS; i++)
		if (steps[i])
			answer_add(out, i, steps[i]);
}

static void answer_filter(const struct naive *e, struct answer *out)
{
	const struct model *m = e->opts.m;
	char text[MODEL_NAME_BYTES];
	bool *matches = xcalloc(model_functions(m), sizeof *matches);
	for (uint32_t f = 0; f < model_functions(m); f++)
		matches[f] = strstr(model_function_name(m, f, text), e->opts.asked.word);
	for (uint32_t i = 0; i < e->all.n; i++) {
		uint32_t n, found = 0;
		const uint32_t *frames = model_stack_frames(m, i, &n);
		for (uint32_t d = 0; d < n; d++)
			found |= matches[frames[d] / MODEL_FRAMES_PER_FUNCTION];
		if (found)
			answer_add(out, i, e->all.v[i]);
	}
	free(matches);
}

static void naive_answer(void *engine, enum question q, struct answer *out)
{
	const struct naive *e = engine;
	switch (q) {
	case Q_TREE:
		name_tree_answer(&e->tree, 1, out);
		break;
	case Q_TREE_ALL:
		name_tree_answer(&e->tree, least_shown(&e->all), out);
		break;
	case Q_DIFF:
		answer_totals(&e->hour, out);
		for (uint32_t i = 0; i < e->older_hour.n; i++)
			if (e->older_hour.v[i])
				answer_add(out, older_side(i), -e->older_hour.v[i]);
		break;
	case Q_SOME_MERGE:
		answer_totals(&e->some, out);
		break;
	case Q_SOME_STEPS:
		answer_steps(e, e->some_steps, out);
		break;
	case Q_STEPS:
		answer_steps(e, e->steps, out);
		break;
	case Q_FILTER:
		answer_filter(e, out);
		break;
	default:
		answer_totals(&e->all, out);
	}
}

const struct engine_ops naive_engine = {
	.name = "naive",
	.batch_windows = 360,
	.open = naive_open,
	.add = naive_add,
	.ask = naive_ask,
	.answer = naive_answer,
	.close = naive_close,
};
