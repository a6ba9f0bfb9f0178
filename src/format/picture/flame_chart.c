/* Builds the spans of each lane. */
#include "format/picture/flame_chart.h"

#include "base/mem.h"
#include "format/common/value.h"
#include "profile/frame.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/stack.h"
#include "profile/state.h"
#include "profile/sum.h"
#include "profile/tree/time_range.h"
#include "profile/tree/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- thread states, in separate nodes so that colours can show them -------------- */

struct split {
	const struct tree *from;
	struct tree *to;
	/* by node of `from`: state of the nearest marker towards the root */
	uint8_t *state;
	uint32_t *node[THREAD_STATES]; /* by node of `from`: WANTED, then the node in `to` */
};
enum { WANTED = UINT32_MAX };

static void find_states(struct split *s)
{
	const struct tree *t = s->from;
	for (uint32_t i = 1; i < t->nodes.n; i++) {
		const struct tree_func *f = &t->funcs.v[t->nodes.v[i].func];
		const char *name = strtab_get(&t->strings, f->name);
		s->state[i] = s->state[t->nodes.v[i].parent];
		if (f->kind != FRAME_MARKER)
			continue;
		enum thread_state said = state_of_marker(name, strlen(name));
		s->state[i] = said != STATE_UNSAID ? said : s->state[i];
	}
}

static enum thread_state sample_state(const struct split *s, const struct profile *p,
				      const struct tree_sample *sample)
{
	enum thread_state said = s->state[sample->node];
	if (said != STATE_UNSAID)
		return said;
	if (sample_length_ns(&p->samples, sample->row) <= 0)
		return STATE_ON_CPU;
	said = s->from->unmarked;
	return said != STATE_ON_CPU ? said : STATE_OFF_CPU;
}

static uint32_t state_root(struct split *s, enum thread_state state)
{
	struct tree_func f = { .kind = FRAME_MARKER };
	f.name = strtab_put(&s->to->strings, thread_state_names[state]);
	return tree_child(s->to, TREE_ROOT, tree_func_intern(s->to, &f));
}

/* Creates the wanted nodes; parents are first. */
static void make_nodes(struct split *s, enum thread_state state)
{
	uint32_t *node = s->node[state];
	for (uint32_t i = 0; i < s->from->nodes.n; i++) {
		const struct tree_node *n = &s->from->nodes.v[i];
		if (node[i] != WANTED)
			continue;
		node[i] = i == TREE_ROOT ? state_root(s, state)
					 : tree_child(s->to, node[n->parent],
						      tree_func_copy(s->to, s->from, n->func));
	}
}

static void split_samples(struct split *s, const struct profile *p, struct tree_samples *samples)
{
	for (size_t i = 0; i < samples->rows.n; i++) {
		uint32_t up = samples->rows.v[i].node;
		uint32_t *node = s->node[sample_state(s, p, &samples->rows.v[i])];
		for (; node[up] != WANTED; up = s->from->nodes.v[up].parent) {
			node[up] = WANTED;
			if (up == TREE_ROOT)
				break;
		}
	}
	for (int state = 0; state < THREAD_STATES; state++)
		make_nodes(s, state);
	for (size_t i = 0; i < samples->rows.n; i++) {
		struct tree_sample *sample = &samples->rows.v[i];
		sample->node = s->node[sample_state(s, p, sample)][sample->node];
		struct tree_node *n = &s->to->nodes.v[sample->node];
		n->self = sum_add(n->self, sample->value);
	}
}

/* Returns a new tree (tree_free) with the same stacks below one node per state (profile/state.h):
 * on the CPU, off it, waiting for one. Moves the samples, those of t, to their nodes there. Without
 * a marker for the state, samples with a length are waits. */
static struct tree *tree_split_states(const struct profile *p, const struct tree *t,
				      struct tree_samples *samples)
{
	struct split s = { .from = t, .to = tree_new() };
	s.state = xcalloc(t->nodes.n, sizeof *s.state);
	for (int i = 0; i < THREAD_STATES; i++)
		s.node[i] = xcalloc(t->nodes.n, sizeof *s.node[i]);
	tree_take_unit(s.to, t);
	s.to->unfiltered_total = t->unfiltered_total;
	s.to->n_samples = t->n_samples;
	find_states(&s);
	split_samples(&s, p, samples);
	tree_total(s.to);
	for (int i = 0; i < THREAD_STATES; i++)
		free(s.node[i]);
	free(s.state);
	return s.to;
}

struct chart_build {
	struct profile *p;
	const struct chart_opts *opts;
	struct flame_chart *out;
	struct tree_samples samples; /* by thread, then time */
	int64_t *periods;            /* by series; 0: the sample's value; -1: the median */
	uint64_t *names;             /* by series: the names of its thread */
	int64_t median_ns;
};

/* --- order --- */

static uint32_t label_string(const struct profile *p, const struct series *s, const char *name)
{
	uint32_t key = strtab_find(&p->strings, name);
	const struct label *l = key == UINT32_MAX ? NULL : label_find(&p->series, s->labels, key);
	return l && !l->is_num ? l->str : 0;
}

static uint64_t *thread_names(const struct profile *p)
{
	const struct series_table *t = &p->series;
	uint64_t *names = xcalloc(t->series.n, sizeof *names);
	for (size_t i = 0; i < t->series.n; i++)
		names[i] = (uint64_t)label_string(p, &t->series.v[i], "process") << 32 |
			   label_string(p, &t->series.v[i], "comm");
	return names;
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* Returns the thread's names as a number; 0 if it has a tid, which distinguishes it. */
static uint64_t names_at(const struct chart_build *b, uint32_t row)
{
	const struct sample_columns *c = &b->p->samples;
	return c->tid[row] == SAMPLE_NO_ID ? b->names[c->series[row]] : 0;
}

static int compare_rows(const void *a, const void *b, void *ctx)
{
	const struct chart_build *build = ctx;
	const struct sample_columns *c = &build->p->samples;
	uint32_t x = ((const struct tree_sample *)a)->row, y = ((const struct tree_sample *)b)->row;
	int rc = compare_u64(c->pid[x], c->pid[y]);
	rc = rc ? rc : compare_u64(c->tid[x], c->tid[y]);
	rc = rc ? rc : compare_u64(names_at(build, x), names_at(build, y));
	if (!rc && c->time_ns[x] != c->time_ns[y])
		rc = c->time_ns[x] < c->time_ns[y] ? -1 : 1;
	return rc ? rc : compare_u64(x, y);
}

static bool same_thread(const struct chart_build *b, uint32_t x, uint32_t y)
{
	const struct sample_columns *c = &b->p->samples;
	return c->pid[x] == c->pid[y] && c->tid[x] == c->tid[y] && names_at(b, x) == names_at(b, y);
}

static uint32_t row_at(const struct chart_build *b, size_t i)
{
	return b->samples.rows.v[i].row;
}

/* --- periods --- */

static int64_t as_ns(const struct profile *p, uint32_t unit, int64_t value)
{
	struct value_unit u = value_unit(profile_str(p, unit));
	return strcmp(u.base, "ns") == 0 && value > 0 ? sum_mul(value, u.scale) : 0;
}

static bool is_time(const struct profile *p, uint32_t unit)
{
	return strcmp(value_unit(profile_str(p, unit)).base, "ns") == 0;
}

static void find_periods(struct chart_build *b)
{
	const struct series_table *t = &b->p->series;
	b->periods = xcalloc(t->series.n, sizeof *b->periods);
	for (size_t i = 0; i < t->series.n; i++) {
		const struct series *s = &t->series.v[i];
		const struct type *type = &t->types.v[s->type];
		b->periods[i] = as_ns(b->p, type->period_unit, s->period);
		if (!b->periods[i] && !is_time(b->p, type->unit))
			b->periods[i] = -1;
	}
}

static int compare_i64(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return x < y ? -1 : x > y;
}

/* Finds the median distance of adjacent samples of one thread. */
static void find_median(struct chart_build *b)
{
	const struct sample_columns *c = &b->p->samples;
	VEC(int64_t) gaps = { 0 };
	for (size_t i = 1; i < b->samples.rows.n; i++) {
		uint32_t before = row_at(b, i - 1), row = row_at(b, i);
		int64_t gap = sum_sub(c->time_ns[row], c->time_ns[before]);
		if (same_thread(b, before, row) && gap > 0)
			vec_push(&gaps, gap);
	}
	if (gaps.n)
		qsort(gaps.v, gaps.n, sizeof *gaps.v, compare_i64);
	b->median_ns = gaps.n ? gaps.v[gaps.n / 2] : 1000000000;
	vec_done(&gaps);
}

static int64_t period_of(struct chart_build *b, uint32_t row)
{
	uint32_t series = b->p->samples.series[row];
	uint32_t unit = b->p->series.types.v[b->p->series.series.v[series].type].unit;
	int64_t period = b->periods[series];
	if (!period)
		return as_ns(b->p, unit, b->p->samples.value[row]);
	if (period < 0 && !b->median_ns)
		find_median(b);
	return period < 0 ? b->median_ns : period;
}

/* Whether it is a sum of many times somewhere between its start and end. */
static bool is_sum(const struct chart_build *b, size_t i)
{
	struct profile *p = b->p;
	uint32_t row = row_at(b, i), unit = p->series.types.v[b->opts->tree->type].unit;
	uint32_t stack = p->samples.stack[row];
	return sample_length_ns(&p->samples, row) > 0 && is_time(p, unit) &&
	       as_ns(p, unit, p->samples.value[row]) < sample_length_ns(&p->samples, row) &&
	       stack_depth(&p->stacks, stack) == 1 &&
	       state_of_stack(p, stack).state != STATE_UNSAID;
}

static void drop_sums(struct chart_build *b)
{
	size_t kept = 0;
	for (size_t i = 0; i < b->samples.rows.n; i++) {
		struct tree_sample *s = &b->samples.rows.v[i];
		if (is_sum(b, i))
			b->out->placeless = sum_add(b->out->placeless, s->value);
		else
			b->samples.rows.v[kept++] = *s;
	}
	b->samples.rows.n = kept;
}

/* --- spans --- */

/* Returns the sample's own time, clipped to the requested range. */
static struct chart_span part_of_row(const struct chart_build *b, size_t i)
{
	const struct tree_sample *s = &b->samples.rows.v[i];
	struct sample_part part = { 0 };
	sample_part_in(b->p, s->row, b->opts->tree, &part);
	int64_t from = sum_sub(part.time_ns, b->p->meta.start_mono_ns);
	return (struct chart_span){ s->node, from, sum_add(from, part.length_ns) };
}

static int64_t middle(int64_t a, int64_t b)
{
	return a + (int64_t)(((__int128)b - a) / 2);
}

/* Returns how far a sample extends to a side whose next edge is edge_ns away. */
static int64_t reach(int64_t edge_ns, int64_t period_ns)
{
	return edge_ns <= period_ns / 4 * 3 ? edge_ns : period_ns / 2;
}

static bool is_wait(const struct chart_span *s)
{
	return s->to_ns > s->from_ns;
}

/* Returns the span of a sample without a length, between its neighbours in the lane. */
static struct chart_span around_moment(struct chart_build *b, size_t i, size_t first, size_t end)
{
	struct chart_span out = part_of_row(b, i);
	int64_t at = out.from_ns, period = period_of(b, row_at(b, i));
	int64_t before_ns = INT64_MAX, behind_ns = INT64_MAX;
	b->out->period_ns = !b->out->period_ns || b->out->period_ns == period ? period : -1;
	if (i > first) {
		struct chart_span s = part_of_row(b, i - 1);
		before_ns = sum_sub(at, is_wait(&s) ? s.to_ns : middle(s.from_ns, at));
	}
	if (i + 1 < end) {
		struct chart_span s = part_of_row(b, i + 1);
		behind_ns = sum_sub(is_wait(&s) ? s.from_ns : middle(at, s.from_ns), at);
	}
	out.from_ns = sum_sub(at, reach(before_ns, period));
	out.to_ns = sum_add(at, reach(behind_ns, period));
	return out;
}

/* Adds the part of each span after `busy_ns`, where the thread's earlier ones end. */
static void add_spans(struct chart_build *b, size_t first, size_t end)
{
	struct flame_chart *c = b->out;
	int64_t busy_ns = INT64_MIN;
	for (size_t i = first; i < end; i++) {
		struct chart_span s = part_of_row(b, i);
		bool moment = !is_wait(&s);
		if (moment && s.from_ns < busy_ns) {
			c->hidden++;
			continue;
		}
		if (moment)
			s = around_moment(b, i, first, end);
		int64_t least = busy_ns > c->from_ns ? busy_ns : c->from_ns;
		int64_t from_ns = s.from_ns > least ? s.from_ns : least;
		int64_t to_ns = s.to_ns < c->to_ns ? s.to_ns : c->to_ns;
		if (to_ns > from_ns)
			vec_push(&c->spans, (struct chart_span){ s.node, from_ns, to_ns });
		else
			c->hidden++;
		busy_ns = s.to_ns > busy_ns ? s.to_ns : busy_ns;
	}
}

/* --- lanes --- */

/* Returns the thread's last name. */
static uint32_t lane_name(const struct profile *p, uint32_t row)
{
	for (size_t i = 0; i < p->threads.all.n; i++) {
		const struct thread_times *t = &p->threads.all.v[i];
		if (t->pid == p->samples.pid[row] && t->tid == p->samples.tid[row] && t->name)
			return t->name;
	}
	return label_string(p, &p->series.series.v[p->samples.series[row]], "comm");
}

/* Adds a lane. Samples of one thread are adjacent here. */
static void add_lane(struct chart_build *b, size_t first, size_t end)
{
	struct flame_chart *c = b->out;
	uint32_t row = row_at(b, end - 1);
	struct chart_lane lane = { .pid = b->p->samples.pid[row],
				   .tid = b->p->samples.tid[row],
				   .row = row,
				   .first = c->spans.n,
				   .samples = end - first };
	for (size_t i = first; i < end; i++)
		lane.value = sum_add(lane.value, b->samples.rows.v[i].value);
	add_spans(b, first, end);
	lane.n = c->spans.n - lane.first;
	vec_push(&c->lanes, lane);
}

static int compare_values(const void *a, const void *b)
{
	const struct chart_lane *x = a, *y = b;
	if (x->value != y->value)
		return x->value < y->value ? 1 : -1;
	return compare_u64(x->first, y->first);
}

static int compare_lanes(const void *a, const void *b)
{
	const struct chart_lane *x = a, *y = b;
	int rc = compare_u64(x->pid, y->pid);
	rc = rc ? rc : compare_u64(x->tid, y->tid);
	return rc ? rc : compare_u64(x->first, y->first);
}

/* Retains the lanes with the greatest sums, in order. */
static void choose_lanes(struct flame_chart *c, size_t max)
{
	c->n_threads = c->lanes.n;
	if (c->lanes.n <= max)
		return;
	qsort(c->lanes.v, c->lanes.n, sizeof *c->lanes.v, compare_values);
	c->lanes.n = max;
	qsort(c->lanes.v, c->lanes.n, sizeof *c->lanes.v, compare_lanes);
}

static void add_lanes(struct chart_build *b)
{
	size_t first = 0;
	for (size_t i = 1; i <= b->samples.rows.n; i++) {
		if (i < b->samples.rows.n && same_thread(b, row_at(b, first), row_at(b, i)))
			continue;
		add_lane(b, first, i);
		first = i;
	}
	choose_lanes(b->out, b->opts->max_lanes ? b->opts->max_lanes : CHART_MAX_LANES);
	for (size_t i = 0; i < b->out->lanes.n; i++)
		b->out->lanes.v[i].name = lane_name(b->p, b->out->lanes.v[i].row);
}

/* --- the tree --- */

/* Moves every sample to the node of its stack's first CHART_MAX_DEPTH frames. */
static void cut_stacks(struct chart_build *b)
{
	const struct tree *t = b->out->tree;
	uint32_t max = CHART_MAX_DEPTH + b->out->has_states;
	uint32_t *depth = xcalloc(t->nodes.n, sizeof *depth);
	uint32_t *cut = xcalloc(t->nodes.n, sizeof *cut);
	for (uint32_t i = 1; i < t->nodes.n; i++) {
		uint32_t parent = t->nodes.v[i].parent;
		depth[i] = depth[parent] + 1;
		cut[i] = depth[i] > max ? cut[parent] : i;
	}
	for (size_t i = 0; i < b->samples.rows.n; i++) {
		struct tree_sample *s = &b->samples.rows.v[i];
		b->out->cut += depth[s->node] > max;
		s->node = cut[s->node];
	}
	free(depth);
	free(cut);
}

int flame_chart_build(struct profile *p, const struct chart_opts *opts, struct flame_chart *out,
		      struct err *err)
{
	struct chart_build b = { .p = p, .opts = opts, .out = out };
	*out = (struct flame_chart){ 0 };
	int rc = tree_build_samples(p, opts->tree, &out->tree, &b.samples, err);
	if (rc == 0) {
		if (opts->by_state) {
			struct tree *split = tree_split_states(p, out->tree, &b.samples);
			tree_free(out->tree);
			out->tree = split;
			out->has_states = true;
		}
		cut_stacks(&b);
		time_range_shown(p, opts->tree, &b.samples, &out->from_ns, &out->to_ns);
		drop_sums(&b);
		b.names = thread_names(p);
		if (b.samples.rows.n)
			qsort_r(b.samples.rows.v, b.samples.rows.n, sizeof *b.samples.rows.v,
				compare_rows, &b);
		find_periods(&b);
		add_lanes(&b);
	}
	free(b.periods);
	free(b.names);
	vec_done(&b.samples.rows);
	return rc;
}

void flame_chart_done(struct flame_chart *c)
{
	tree_free(c->tree);
	vec_done(&c->spans);
	vec_done(&c->lanes);
	*c = (struct flame_chart){ 0 };
}
