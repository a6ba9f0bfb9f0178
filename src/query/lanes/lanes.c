/* Sorts samples into lanes by labels, and reduces spans to pixels. */
#include "query/lanes/lanes.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "profile/sum.h"
#include "query/lanes/lanes_work.h"
#include "query/time.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const lane_state_names[LANE_STATES] = { "on", "off", "wait", "gpu_wait" };

static const char *const thread_labels[] = { "host", "process", "pid", "comm", "tid" };
enum { THREAD_LABELS = sizeof thread_labels / sizeof *thread_labels };

/* --- the axis --------------------------------------------------------------------------------- */

static int64_t round_down(int64_t ns, int64_t to_ns)
{
	int64_t over = to_ns ? ns % to_ns : 0;
	return sum_sub(ns, over < 0 ? over + to_ns : over);
}

/* Chooses buckets for the width in pixels; with windows, a bucket is one or several windows. */
static int settle_axis(struct lanes_work *w, int64_t window_ns)
{
	const struct query *q = w->q;
	int64_t from_ns = round_down(q->from_ns, window_ns);
	__int128 length = (__int128)q->to_ns - from_ns;
	if (length <= 0)
		return err_set(w->err, EINVAL, "the range ends before it starts");
	if (length > INT64_MAX)
		return err_set(w->err, EINVAL, "the range is longer than 292 years");
	int64_t bucket_ns = (int64_t)((length + w->opts->px - 1) / w->opts->px);
	if (window_ns)
		bucket_ns = round_down(sum_add(bucket_ns, window_ns - 1), window_ns);
	w->axis = (struct step_axis){ from_ns, bucket_ns, (length + bucket_ns - 1) / bucket_ns };
	w->out->from_ns = from_ns;
	w->out->to_ns = window_ns ? step_axis_end_ns(&w->axis) : q->to_ns;
	w->out->bucket_ns = bucket_ns;
	w->out->buckets = w->axis.n;
	return 0;
}

/* --- labels ----------------------------------------------------------------------------------- */

static bool is_column(const char *label)
{
	return strcmp(label, "pid") == 0 || strcmp(label, "tid") == 0 || strcmp(label, "cpu") == 0;
}

/* A store's windows do not have these labels. */
static void take_labels(struct lanes_work *w, bool without_columns)
{
	const struct query *q = w->q;
	const char *const *from = q->n_by ? q->by : thread_labels;
	uint32_t n = q->n_by ? q->n_by : THREAD_LABELS;
	w->out->n_by = 0;
	for (uint32_t i = 0; i < n; i++) {
		bool left_out = without_columns && is_column(from[i]);
		w->out->ids_missing |= left_out;
		if (!left_out)
			w->out->by[w->out->n_by++] = from[i];
	}
}

/* --- which lanes ------------------------------------------------------------------------------ */

struct lane_rank {
	uint32_t key;
	int64_t on_ns, other_ns;
	const char *text; /* the values of `by`, each with its NUL */
	uint32_t len;
};

static int rank_cmp(const void *a, const void *b)
{
	const struct lane_rank *x = a, *y = b;
	if (x->on_ns != y->on_ns)
		return x->on_ns > y->on_ns ? -1 : 1;
	if (x->other_ns != y->other_ns)
		return x->other_ns > y->other_ns ? -1 : 1;
	int order = memcmp(x->text, y->text, x->len < y->len ? x->len : y->len);
	return order ? order : x->len < y->len ? -1 : x->len > y->len;
}

static int64_t sum_all(const int64_t *v, size_t n)
{
	int64_t sum = 0;
	for (size_t i = 0; i < n; i++)
		sum = sum_add(sum, v[i]);
	return sum;
}

/* Ranks the lanes with data. Sums are by key. */
static uint32_t rank_lanes(const struct lanes_work *w, struct lane_rank *out)
{
	size_t steps = w->axis.n, each = LANE_STATES * steps;
	uint32_t n = 0;
	for (uint32_t key = 0; key * each < w->sums.n; key++) {
		int64_t sums[LANE_STATES];
		for (int i = 0; i < LANE_STATES; i++)
			sums[i] = sum_all(w->sums.v + key * each + i * steps, steps);
		struct lane_rank rank = { key, sums[LANE_ON],
					  sum_add(sum_add(sums[LANE_OFF], sums[LANE_WAIT]),
						  sums[LANE_GPU_WAIT]),
					  strtab_get(&w->keys, key), strtab_len(&w->keys, key) };
		if (rank.on_ns || rank.other_ns)
			out[n++] = rank;
	}
	if (n)
		qsort(out, n, sizeof *out, rank_cmp);
	return n;
}

static const char **split_key(struct lanes_work *w, uint32_t key)
{
	const char **names = arena_zalloc(&w->out->arena, (w->out->n_by + 1) * sizeof *names);
	const char *at =
		arena_dup(&w->out->arena, strtab_get(&w->keys, key), strtab_len(&w->keys, key));
	for (uint32_t i = 0; i < w->out->n_by; i++) {
		names[i] = at;
		at += strlen(at) + 1;
	}
	return names;
}

/* Computes sums by key, in buckets if these are not too many, so that everything is read once;
 * otherwise totals. */
static int add_up_all(struct lanes_work *w)
{
	const struct step_axis buckets = w->axis;
	uint64_t memory = w->q->limits.memory_bytes / 8 / sizeof *w->sums.v;
	int64_t length_ns = sum_sub(step_axis_end_ns(&buckets), buckets.from_ns);
	w->max_sums = memory && memory < LANES_MAX_SUMS ? memory : LANES_MAX_SUMS;
	int rc = lanes_add_up(w);
	w->max_sums = SIZE_MAX;
	if (rc != LANES_TOO_WIDE)
		return rc;
	w->axis = (struct step_axis){ buckets.from_ns, length_ns, 1 };
	return lanes_add_up(w);
}

static void choose_lanes(struct lanes_work *w)
{
	struct lane_rank *ranks = xcalloc(w->keys.all.n + 1, sizeof *ranks);
	uint32_t n = rank_lanes(w, ranks), shown = n < w->opts->lanes ? n : w->opts->lanes;
	w->n_slots = w->keys.all.n;
	w->slots = xcalloc(w->n_slots + 1, sizeof *w->slots);
	w->out->lanes = arena_zalloc(&w->out->arena, shown * sizeof *w->out->lanes + 1);
	w->out->n_lanes = shown;
	w->out->rest.n = n - shown;
	for (uint32_t key = 0; key < w->n_slots; key++)
		w->slots[key] = shown;
	for (uint32_t i = 0; i < shown; i++) {
		w->slots[ranks[i].key] = i;
		w->out->lanes[i] = (struct lane){ split_key(w, ranks[i].key), .n = 1 };
	}
	free(ranks);
}

/* Turns sums by key into sums by lane. */
static void move_sums(struct lanes_work *w)
{
	size_t n = LANE_STATES * w->axis.n;
	int64_t *sums = xcalloc((w->out->n_lanes + 1) * n, sizeof *sums);
	for (uint32_t key = 0; key * n < w->sums.n; key++) {
		int64_t *to = sums + lanes_slot(w, key) * n;
		for (size_t i = 0; i < n; i++)
			to[i] = sum_add(to[i], w->sums.v[key * n + i]);
	}
	vec_done(&w->sums);
	w->sums.v = sums;
	w->sums.n = w->sums.cap = (w->out->n_lanes + 1) * n;
}

/* --- the response ----------------------------------------------------------------------------- */

static void take_times(struct lanes_work *w, uint32_t slot, struct lane *lane)
{
	size_t n = LANE_STATES * w->axis.n, first = slot * n;
	int64_t *times = arena_zalloc(&w->out->arena, n * sizeof *times);
	for (size_t i = 0; i < n && first + i < w->sums.n; i++) {
		int64_t *total = &lane->total_ns[i / w->axis.n];
		times[i] = w->sums.v[first + i];
		*total = sum_add(*total, times[i]);
	}
	lane->times_ns = times;
}

static int take_sums(struct lanes_work *w)
{
	struct query_lanes *out = w->out;
	const struct step_axis buckets = w->axis;
	int rc = add_up_all(w);
	if (rc == 0)
		choose_lanes(w);
	bool has_all = w->axis.n == buckets.n;
	size_t cells = (size_t)(out->n_lanes + 1) * LANE_STATES * buckets.n;
	w->axis = buckets;
	if (rc == 0)
		rc = guard_memory(&w->guard, 2 * cells * sizeof(int64_t), w->err);
	if (rc == 0 && has_all)
		move_sums(w);
	else if (rc == 0)
		rc = lanes_add_up(w);
	for (uint32_t i = 0; rc == 0 && i < out->n_lanes; i++)
		take_times(w, i, &out->lanes[i]);
	if (rc == 0 && out->rest.n)
		take_times(w, out->n_lanes, &out->rest);
	return rc;
}

static void name_types(struct lanes_work *w)
{
	const struct profile *catalog = w->q->source->ops->catalog(w->q->source);
	for (uint32_t i = 0; i < w->n_types; i++) {
		const struct lane_type *t = &w->types[i];
		const char *name = profile_str(catalog, catalog->series.types.v[t->q.type].name);
		if (i == 0 || t->groups.n_series)
			w->out->types[w->out->n_types++] =
				arena_dup(&w->out->arena, name, strlen(name));
	}
}

static int begin(struct lanes_work *w, bool exact)
{
	lanes_types_done(w);
	strtab_done(&w->keys);
	strtab_init(&w->keys);
	w->exact = exact;
	w->out->is_exact = exact;
	take_labels(w, !exact && w->q->source->window_ns);
	int rc = settle_axis(w, exact ? 0 : w->q->source->window_ns);
	return rc ? rc : lanes_types_init(w);
}

/* Returns 1 if exact times cannot be used. */
static int try_exact(struct lanes_work *w)
{
	uint64_t memory = w->q->limits.memory_bytes / 4 / sizeof *w->rows.v;
	int64_t window_ns = w->q->source->window_ns;
	w->max_rows = memory && memory < LANES_MAX_ROWS ? memory : LANES_MAX_ROWS;
	int rc = begin(w, true);
	if (rc == 0 && window_ns && w->axis.step_ns >= window_ns)
		return 1; /* windows say as much, and cost less */
	return rc ? rc : lanes_read_rows(w);
}

static int answer(struct lanes_work *w)
{
	int rc = stack_facts_init(&w->facts, &w->q->tree, w->err);
	if (rc == 0)
		rc = try_exact(w);
	if (rc > 0)
		rc = begin(w, false);
	if (rc == 0)
		rc = take_sums(w);
	if (rc < 0)
		return rc;
	if (w->exact)
		lanes_add_spans(w);
	name_types(w);
	w->out->resolution_ns = w->exact                  ? 1
				: w->q->source->window_ns ? w->q->source->window_ns
							  : w->out->bucket_ns;
	return 0;
}

static int check_question(const struct query *q, const struct lanes_opts *opts, struct err *err)
{
	if (opts->px < 1 || opts->px > LANES_MAX_PX)
		return err_set(err, EINVAL, "lanes are 1 to %d pixels wide", LANES_MAX_PX);
	if (opts->lanes < 1 || opts->lanes > LANES_MAX)
		return err_set(err, EINVAL, "expected 1 to %d lanes", LANES_MAX);
	return q->source->is_block ? err_set(err, EINVAL, "the samples here have no times") : 0;
}

static void say_moment(struct source *s, int64_t ns, char out[LANES_MOMENT_MAX])
{
	struct buf text = { 0 };
	int64_t start_ns, end_ns;

	if (s->since_start) {
		s->ops->range(s, &start_ns, &end_ns);
		buf_addf(&text, "start+%" PRId64 "ns", ns > start_ns ? ns - start_ns : 0);
	} else {
		time_text(&text, ns);
	}
	snprintf(out, LANES_MOMENT_MAX, "%s", buf_cstr(&text));
	buf_done(&text);
}

int query_lanes(const struct query *q, const struct lanes_opts *opts, struct query_lanes *out,
		struct err *err)
{
	struct query_lanes lanes = { 0 };
	struct lanes_work w = { .q = q, .opts = opts, .out = &lanes, .err = err };
	int rc = check_question(q, opts, err);
	if (rc < 0)
		return rc;
	strtab_init(&w.keys);
	guard_begin(&w.guard, &q->limits, q->source);
	rc = answer(&w);
	guard_end(&w.guard, q->source);
	if (rc == 0) {
		say_moment(q->source, lanes.from_ns, lanes.from);
		say_moment(q->source, lanes.to_ns, lanes.to);
		*out = lanes;
	} else {
		query_lanes_done(&lanes);
	}
	lanes_types_done(&w);
	stack_facts_done(&w.facts);
	strtab_done(&w.keys);
	vec_done(&w.rows);
	vec_done(&w.sums);
	free(w.slots);
	return rc;
}

void query_lanes_done(struct query_lanes *l)
{
	arena_done(&l->arena);
	*l = (struct query_lanes){ 0 };
}
