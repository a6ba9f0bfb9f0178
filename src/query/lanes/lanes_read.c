/* Reads rows and sums of lanes from a source. */
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "format/common/value.h"
#include "profile/sum.h"
#include "query/lanes/lanes_work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LOOK_EVERY = 1 << 14 };
enum { READ_FALLS_BACK = 1 };
#define SYNC "[sync" /* names that start like this wait for a GPU, and run nothing there */

/* --- types ------------------------------------------------------------------------------------ */

/* Types whose name states what the thread did. Waits for a GPU are also in the times of the others,
 * so they are not added to these. */
static const struct {
	const char *name;
	enum lane_state state;
	bool is_beside_cpu;
} plain_types[] = {
	{ "cpu", LANE_ON, false },
	{ "off-cpu", LANE_OFF, true },
	{ "sched-wait", LANE_WAIT, true },
	{ "gpu-wait", LANE_GPU_WAIT, false },
};
enum { PLAIN_TYPES = sizeof plain_types / sizeof *plain_types };

static const char *type_name(const struct profile *catalog, uint32_t type)
{
	return profile_str(catalog, catalog->series.types.v[type].name);
}

static int64_t unit_ns(const struct profile *p, uint32_t unit)
{
	struct value_unit u = value_unit(profile_str(p, unit));
	return strcmp(u.base, "ns") == 0 ? u.scale : 0;
}

/* Returns the time per unit of a series' values. */
static int64_t series_ns(const struct profile *p, const struct series *s)
{
	const struct type *t = &p->series.types.v[s->type];
	int64_t own = unit_ns(p, t->unit);
	return own ? own : sum_mul(s->period, unit_ns(p, t->period_unit));
}

static int check_times(const struct lane_type *t, struct err *err)
{
	const struct groups *g = &t->groups;
	for (uint32_t i = 0; i < g->catalog->series.series.n; i++) {
		if (!g->wanted[i] || t->ns[i] > 0)
			continue;
		err_set(err, EINVAL, "lanes show time, but the values of %s are not times",
			type_name(g->catalog, t->q.type));
		err_hint(err, "types for it: cpu, off-cpu, wall");
		return -EINVAL;
	}
	return 0;
}

static int add_type(struct lanes_work *w, uint32_t type)
{
	struct lane_type *t = &w->types[w->n_types++];
	const struct profile *catalog = w->q->source->ops->catalog(w->q->source);
	size_t n = catalog->series.series.n;
	*t = (struct lane_type){ .work = w, .q = *w->q, .by_stack = true };
	t->q.type = type;
	memcpy(t->q.by, w->out->by, sizeof t->q.by);
	t->q.n_by = w->out->n_by;
	t->is_gpu = strcmp(type_name(catalog, type), "gpu-time") == 0;
	for (int i = 0; i < PLAIN_TYPES; i++) {
		if (strcmp(plain_types[i].name, type_name(catalog, type)) != 0)
			continue;
		t->state = plain_types[i].state;
		t->by_stack = w->facts.has_filter;
	}
	t->ns = xcalloc(n + 1, sizeof *t->ns);
	for (uint32_t i = 0; i < n; i++)
		t->ns[i] = series_ns(catalog, &catalog->series.series.v[i]);
	int rc = groups_init(&t->groups, &t->q, w->err);
	return rc ? rc : check_times(t, w->err);
}

/* Adds the requested type and, for cpu, those of waits. */
int lanes_types_init(struct lanes_work *w)
{
	const struct profile *catalog = w->q->source->ops->catalog(w->q->source);
	bool is_cpu = strcmp(type_name(catalog, w->q->type), plain_types[LANE_ON].name) == 0;
	int rc = add_type(w, w->q->type);
	for (uint32_t i = 0; is_cpu && rc == 0 && i < catalog->series.types.n; i++)
		for (int k = LANE_ON + 1; rc == 0 && k < PLAIN_TYPES; k++)
			if (w->n_types < LANES_MAX_TYPES && plain_types[k].is_beside_cpu &&
			    strcmp(type_name(catalog, i), plain_types[k].name) == 0)
				rc = add_type(w, i);
	return rc;
}

void lanes_types_done(struct lanes_work *w)
{
	for (uint32_t i = 0; i < w->n_types; i++) {
		groups_done(&w->types[i].groups);
		vec_done(&w->types[i].key_of);
		vec_done(&w->types[i].goes);
		free(w->types[i].ns);
	}
	w->n_types = 0;
}

/* --- keys ------------------------------------------------------------------------------------- */

static uint32_t key_of_group(struct lane_type *t, uint32_t group)
{
	while (t->key_of.n <= group)
		vec_push(&t->key_of, KEY_UNKNOWN);
	if (t->key_of.v[group] != KEY_UNKNOWN)
		return t->key_of.v[group];
	struct buf b = { 0 };
	for (uint32_t i = 0; i < t->q.n_by; i++) {
		const char *text = groups_text(&t->groups, group, i);
		buf_add(&b, text, strlen(text) + 1);
	}
	uint32_t key = strtab_putn(&t->work->keys, b.data, b.len);
	buf_done(&b);
	return t->key_of.v[group] = key;
}

/* --- rows ------------------------------------------------------------------------------------- */

static enum lane_state state_of_fact(const struct lane_type *t, const struct stack_fact *f)
{
	static const enum lane_state states[THREAD_STATES] = {
		[STATE_ON_CPU] = LANE_ON,
		[STATE_OFF_CPU] = LANE_OFF,
		[STATE_SCHED_WAIT] = LANE_WAIT,
		[STATE_GPU_WAIT] = LANE_GPU_WAIT,
	};
	if (t->is_gpu)
		return strncmp(f->leaf, SYNC, strlen(SYNC)) == 0 ? LANE_WAIT : LANE_ON;
	return f->state == STATE_UNSAID ? t->state : states[f->state];
}

/* Returns false if the sample does not count. */
static bool look_at(struct lane_type *t, const struct source_row *row, struct lane_row *out)
{
	struct lanes_work *w = t->work;
	uint32_t group = groups_of_row(&t->groups, row);
	if (group == GROUP_NONE)
		return false;
	uint32_t fact = stack_facts_get(&w->facts, row->dict, row->stack);
	const struct stack_fact *f = &w->facts.all.v[fact];
	*out = (struct lane_row){ .time_ns = row->time_ns,
				  .length_ns = row->length_ns,
				  .value_ns = sum_mul(row->value, t->ns[row->series]),
				  .key = key_of_group(t, group),
				  .fact = fact,
				  .state = state_of_fact(t, f),
				  .is_moment = row->length_ns <= 0 };
	return f->passes;
}

static int check_size(struct lanes_work *w)
{
	uint64_t bytes = vec_size_bytes(&w->rows) + vec_size_bytes(&w->sums) +
			 stack_facts_bytes(&w->facts) + w->keys.arena.total;
	if (w->keys.all.n > LANES_MAX_KEYS) {
		err_set(w->err, E2BIG, "more than %d lanes by these labels", LANES_MAX_KEYS);
		err_hint(w->err, "use labels with fewer values");
		return -E2BIG;
	}
	return guard_memory(&w->guard, bytes, w->err);
}

static int keep_row(void *ctx, const struct source_row *row)
{
	struct lane_type *t = ctx;
	struct lanes_work *w = t->work;
	struct lane_row kept;
	if (row->is_window || w->rows.n >= w->max_rows)
		return READ_FALLS_BACK;
	if (!look_at(t, row, &kept))
		return groups_check(&t->groups, w->err);
	vec_push(&w->rows, kept);
	return w->rows.n % LOOK_EVERY ? 0 : check_size(w);
}

int lanes_read_rows(struct lanes_work *w)
{
	const struct query *q = w->q;
	int rc = 0;
	for (uint32_t i = 0; rc == 0 && i < w->n_types; i++)
		rc = q->source->ops->rows(q->source, w->types[i].groups.wanted, q->from_ns,
					  q->to_ns, keep_row, &w->types[i], w->err);
	if (rc)
		vec_done(&w->rows);
	return rc ? rc : check_size(w);
}

/* --- sums ------------------------------------------------------------------------------------- */

/* Returns NULL if there would be too many sums. */
static int64_t *sums_at(struct lanes_work *w, uint32_t key, enum lane_state state)
{
	size_t slot = lanes_slot(w, key);
	size_t end = (slot + 1) * LANE_STATES * w->axis.n, before = w->sums.n;
	if (end > w->max_sums)
		return NULL;
	if (end > before) {
		vec_reserve(&w->sums, end);
		memset(w->sums.v + before, 0, (end - before) * sizeof *w->sums.v);
		w->sums.n = end;
	}
	return w->sums.v + (slot * LANE_STATES + state) * w->axis.n;
}

/* Adds a moment as the time around it that it stands for, clipped to the range. */
static void add_moment(struct lanes_work *w, const struct lane_row *row, int64_t *sums)
{
	int64_t worth_ns = row->value_ns > 0 ? row->value_ns : 0;
	int64_t from_ns = sum_sub(row->time_ns, worth_ns / 2), to_ns = sum_add(from_ns, worth_ns);
	from_ns = from_ns > w->q->from_ns ? from_ns : w->q->from_ns;
	to_ns = to_ns < w->q->to_ns ? to_ns : w->q->to_ns;
	if (to_ns <= from_ns)
		step_axis_add(&w->axis, row->time_ns, 0, row->value_ns, sums);
	else
		step_axis_add(&w->axis, from_ns, to_ns - from_ns, row->value_ns, sums);
}

static int add_rows(struct lanes_work *w)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < w->rows.n; i++) {
		const struct lane_row *row = &w->rows.v[i];
		int64_t *sums = sums_at(w, row->key, row->state);
		if (!sums)
			return LANES_TOO_WIDE;
		if (row->is_moment)
			add_moment(w, row, sums);
		else
			step_axis_add(&w->axis, row->time_ns, row->length_ns, row->value_ns, sums);
		if (i % LOOK_EVERY == 0)
			rc = guard_check(&w->guard, w->err);
	}
	return rc;
}

static int add_one(void *ctx, const struct source_row *row)
{
	struct lane_type *t = ctx;
	struct lanes_work *w = t->work;
	struct lane_row r;
	if (!look_at(t, row, &r))
		return groups_check(&t->groups, w->err);
	int64_t *sums = sums_at(w, r.key, r.state);
	if (!sums)
		return LANES_TOO_WIDE;
	step_axis_add(&w->axis, r.time_ns, r.length_ns, r.value_ns, sums);
	return ++w->looked % LOOK_EVERY ? 0 : check_size(w);
}

/* --- sums of windows -------------------------------------------------------------------------- */

enum { GOES_UNKNOWN, GOES_NOWHERE, GOES_TO_STATE };

static uint8_t find_out(struct lane_type *t, struct profile *dict, uint32_t stack)
{
	struct stack_facts *facts = &t->work->facts;
	uint32_t fact = stack_facts_get(facts, dict, stack);
	const struct stack_fact *f = &facts->all.v[fact];
	t->goes.v[stack] = f->passes ? GOES_TO_STATE + state_of_fact(t, f) : GOES_NOWHERE;
	return t->goes.v[stack];
}

/* Makes room in `goes` for the stacks of a dictionary; earlier results for the same one stay. Days
 * come one after the other. */
static void begin_dict(struct lane_type *t, struct profile *dict)
{
	size_t n = dict->stacks.stacks.n;
	size_t known = t->goes_dict == dict ? t->goes.n : 0;
	if (known >= n)
		return;
	vec_reserve(&t->goes, n);
	memset(t->goes.v + known, GOES_UNKNOWN, n - known);
	t->goes.n = n;
	t->goes_dict = dict;
}

/* Maps windows to steps, from the start of the axis: step = (first + window) / windows. */
struct window_steps {
	int64_t first;
	uint64_t windows, inverse; /* 2^64 / windows, rounded up; for one window 0 */
};

static bool find_steps(const struct step_axis *a, const struct source_columns *c,
		       struct window_steps *out)
{
	int64_t since_ns = sum_sub(c->time_ns, a->from_ns);
	if (since_ns % c->length_ns || a->step_ns % c->length_ns)
		return false;
	uint64_t windows = (uint64_t)a->step_ns / (uint64_t)c->length_ns;
	*out = (struct window_steps){ since_ns / c->length_ns, windows, UINT64_MAX / windows + 1 };
	return true;
}

/* Exact below 2^32 windows: 292 years have fewer. */
static size_t step_of(const struct window_steps *s, uint32_t window)
{
	uint64_t at = (uint64_t)(s->first + window);
	return s->windows == 1 ? at : (unsigned __int128)s->inverse * at >> 64;
}

/* sums: of all states of their lane. */
static void add_windows(struct lane_type *t, const struct source_columns *c,
			const struct window_steps *steps, int64_t *sums)
{
	int64_t ns = t->ns[c->series];
	size_t n = t->work->axis.n;
	for (size_t i = 0; i < c->n; i++) {
		uint8_t goes = t->goes.v[c->stack[i]];
		size_t step = step_of(steps, c->window[i]);
		if (!goes)
			goes = find_out(t, c->dict, c->stack[i]);
		if (goes == GOES_NOWHERE || step >= n)
			continue;
		int64_t *sum = &sums[(goes - GOES_TO_STATE) * n + step];
		*sum = sum_add(*sum, sum_mul(c->value[i], ns));
	}
}

/* Returns whether all stacks have the same effect: threads mostly do the same for long, or a filter
 * takes none of their stacks. */
static bool go_to_one_place(void *ctx, struct profile *dict, const uint32_t *stacks, uint32_t n)
{
	struct lane_type *t = ctx;
	uint8_t first = GOES_UNKNOWN;
	begin_dict(t, dict);
	for (uint32_t i = 0; i < n; i++) {
		uint8_t goes = t->goes.v[stacks[i]];
		goes = goes ? goes : find_out(t, dict, stacks[i]);
		first = first ? first : goes;
		if (goes != first)
			return false;
	}
	return true;
}

static int add_one_by_one(struct lane_type *t, const struct source_columns *c)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < c->n; i++) {
		struct source_row row = source_columns_row(c, i);
		rc = add_one(t, &row);
	}
	return rc;
}

/* All rows are in one group, as windows have no ids. */
static int add_columns(void *ctx, const struct source_columns *c)
{
	struct lane_type *t = ctx;
	struct lanes_work *w = t->work;
	struct source_row row = source_columns_row(c, 0);
	struct window_steps steps;
	uint32_t group = groups_of_row(&t->groups, &row);
	if (group == GROUP_NONE)
		return groups_check(&t->groups, w->err);
	if (!find_steps(&w->axis, c, &steps))
		return add_one_by_one(t, c);
	begin_dict(t, c->dict);
	int64_t *sums = sums_at(w, key_of_group(t, group), 0);
	if (!sums)
		return LANES_TOO_WIDE;
	add_windows(t, c, &steps, sums);
	w->looked += c->n;
	return check_size(w);
}

/* --- sums of series --------------------------------------------------------------------------- */

/* Finds the next series with the same time per unit, `ns`, and the places of their sums. */
static bool next_series(struct lane_type *t, bool *done, uint32_t *place, int64_t *ns, bool *fits)
{
	bool any = false;
	for (uint32_t i = 0; i < t->groups.catalog->series.series.n; i++) {
		place[i] = GROUP_NONE;
		if (!t->groups.wanted[i] || done[i])
			continue;
		if (!any)
			*ns = t->ns[i];
		any = true;
		if (t->ns[i] != *ns)
			continue;
		uint32_t key = key_of_group(t, t->groups.of_series[i]);
		*fits &= sums_at(t->work, key, t->state) != NULL;
		place[i] = lanes_slot(t->work, key) * LANE_STATES + t->state;
		done[i] = true;
	}
	return any;
}

/* Adds sums by series, without reading samples, if the series decide everything. */
static int add_series(struct lane_type *t)
{
	struct lanes_work *w = t->work;
	const struct step_axis *a = &w->axis;
	size_t n = t->groups.catalog->series.series.n;
	bool *done = xcalloc(n + 1, sizeof *done);
	uint32_t *place = xcalloc(n + 1, sizeof *place);
	int64_t ns = 1;
	int rc = 0;
	bool fits = true;
	while (rc == 0 && next_series(t, done, place, &ns, &fits)) {
		rc = fits ? check_size(w) : LANES_TOO_WIDE;
		if (rc)
			break;
		int64_t *sums = xcalloc(w->sums.n + 1, sizeof *sums);
		rc = w->q->source->ops->steps(w->q->source, place, a->from_ns, a->step_ns, a->n,
					      sums, w->err);
		for (size_t i = 0; rc == 0 && i < w->sums.n; i++)
			w->sums.v[i] = sum_add(w->sums.v[i], sum_mul(sums[i], ns));
		free(sums);
	}
	free(done);
	free(place);
	return rc;
}

static int add_up_type(struct lane_type *t)
{
	struct lanes_work *w = t->work;
	struct source *s = w->q->source;
	int64_t from_ns = w->out->from_ns, to_ns = w->out->to_ns;
	if (!t->by_stack && !t->groups.by_rows && s->window_ns)
		return add_series(t);
	return t->groups.by_stack || t->groups.by_ids
		       ? s->ops->rows(s, t->groups.wanted, from_ns, to_ns, add_one, t, w->err)
		       : source_columns(s, t->groups.wanted, from_ns, to_ns, add_one, add_columns,
					go_to_one_place, t, w->err);
}

int lanes_add_up(struct lanes_work *w)
{
	int rc = 0;
	vec_clear(&w->sums);
	if (w->exact)
		return add_rows(w);
	for (uint32_t i = 0; rc == 0 && i < w->n_types; i++) {
		rc = add_up_type(&w->types[i]);
		w->out->ids_missing |= w->types[i].groups.ids_missing;
		if (rc == 0)
			rc = check_size(w);
		if (rc == 0)
			rc = guard_check(&w->guard, w->err);
	}
	return rc;
}
