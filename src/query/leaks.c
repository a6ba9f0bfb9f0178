/* Stacks with memory in use that grows over snapshots.
 *
 * Each site, a stack of a process, has its bytes at up to POINTS_MAX times of the range. A line
 * through them has to rise, clearly over all of the range and also over its second half: a cache
 * that has filled does not rise there, and memory from the start does not rise at all. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/stack.h"
#include "query/groups.h"
#include "query/guard.h"
#include "query/plan.h"
#include "query/query.h"
#include "query/snapshots.h"
#include "query/source.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	POINTS_MAX = 13,
	LINES_MAX = 64,      /* inlined functions of a frame */
	SITES_MAX = 1 << 20, /* limit: stacks in a search for leaks */
	CHECK_EVERY = 1 << 16,
};
/* In standard deviations. Many stacks are tried, so that the usual 2 would accuse some. A line's
 * error is that of its points' distances from it, which are few. */
#define CLEARLY     4.0
#define GROWTH      4.0
#define HALF_GROWTH 3.5
#define NORMAL      1.96

const char *const query_older_words[] = { "0", "1m", "10m", "1h", NULL };

struct leak_origin {
	VEC(int64_t) times; /* of its snapshots; ascending from find_points on */
	uint32_t n;         /* number of points; 0: too few snapshots */
	int64_t at[POINTS_MAX];
};
struct leak_site {
	uint32_t origin, text, series;
	double bytes[POINTS_MAX], variance[POINTS_MAX], allocated;
};
struct leak_search {
	const struct query *q;
	struct groups groups;
	struct snapshots snapshots;
	struct guard guard;
	bool *is_old; /* by series */
	bool allocations;
	VEC(struct leak_origin) origins;
	struct map seen; /* (origin, time) */
	struct strtab texts;
	VEC(struct profile *) dicts;
	struct map text_of; /* (dict, stack) */
	VEC(uint32_t) frames;
	struct buf text;
	VEC(struct leak_site) sites;
	struct map index;
	uint64_t rows;
	struct err *err;
};

/* --- series ----------------------------------------------------------------------------------- */

static const char *label_of(const struct profile *p, uint32_t series, const char *key)
{
	const struct label *l = label_find(&p->series, p->series.series.v[series].labels,
					   strtab_find(&p->strings, key));

	return l && !l->is_num ? profile_str(p, l->str) : "";
}

/* A row without the label has any age. */
static bool is_old(const char *label, enum age least)
{
	if (!*label)
		return true;
	for (int i = 0; i < AGES; i++)
		if (strcmp(label, age_words[i]) == 0)
			return i >= (int)least;
	return false;
}

static void note_ages(struct leak_search *s, enum age least)
{
	const struct profile *p = s->groups.catalog;

	s->is_old = xcalloc(p->series.series.n + 1, sizeof *s->is_old);
	for (size_t i = 0; i < p->series.series.n; i++)
		s->is_old[i] = is_old(label_of(p, i, AGE_LABEL), least);
}

/* --- snapshots -------------------------------------------------------------------------------- */

static int check(struct leak_search *s)
{
	if (++s->rows % CHECK_EVERY)
		return 0;
	int rc = guard_check(&s->guard, s->err);
	uint64_t bytes = vec_size_bytes(&s->sites) + map_size_bytes(&s->index) +
			 map_size_bytes(&s->text_of) + map_size_bytes(&s->seen);
	return rc ? rc : guard_memory(&s->guard, bytes, s->err);
}

static int note_time(void *ctx, const struct source_row *row)
{
	struct leak_search *s = ctx;
	uint32_t id = snapshots_origin(&s->snapshots, row);
	uint64_t key = hash_mix(id, (uint64_t)row->time_ns);

	while (s->origins.n <= id)
		vec_push(&s->origins, (struct leak_origin){ 0 });
	if (!map_get(&s->seen, key)) {
		map_put(&s->seen, key, 1);
		vec_push(&s->origins.v[id].times, row->time_ns);
	}
	return check(s);
}

static int by_time(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* The first and the last snapshot, and some at equal distances between them. */
static void find_points(struct leak_origin *o)
{
	size_t n = o->times.n;

	if (n < QUERY_LEAK_SNAPSHOTS)
		return;
	qsort(o->times.v, n, sizeof *o->times.v, by_time);
	o->n = n < POINTS_MAX ? n : POINTS_MAX;
	for (uint32_t i = 0; i < o->n; i++)
		o->at[i] = o->times.v[(n - 1) * i / (o->n - 1)];
}

/* --- sites ------------------------------------------------------------------------------------ */

static void add_lines(struct leak_search *s, struct profile *dict, uint32_t frame)
{
	struct shown_line lines[LINES_MAX];
	uint32_t n = profile_frame_lines(dict, frame, lines, LINES_MAX);

	for (uint32_t i = n; i-- > 0;) {
		if (s->text.len)
			buf_addc(&s->text, ';');
		buf_adds(&s->text, profile_str(dict, lines[i].name));
	}
}

static uint32_t text_of(struct leak_search *s, struct profile *dict, uint32_t stack)
{
	uint32_t d = 0;

	while (d < s->dicts.n && s->dicts.v[d] != dict)
		d++;
	if (d == s->dicts.n)
		vec_push(&s->dicts, dict);
	uint64_t key = (uint64_t)d << 32 | stack;
	const uint32_t *known = map_get(&s->text_of, key);
	if (known)
		return *known;
	uint32_t depth = stack_depth(&dict->stacks, stack);
	vec_clear(&s->frames);
	vec_reserve(&s->frames, depth + 1);
	stack_frames(&dict->stacks, stack, s->frames.v);
	buf_clear(&s->text);
	for (uint32_t i = 0; i < depth; i++)
		add_lines(s, dict, s->frames.v[i]);
	uint32_t id = strtab_putn(&s->texts, s->text.data ? s->text.data : "", s->text.len);
	map_put(&s->text_of, key, id);
	return id;
}

static struct leak_site *site_of(struct leak_search *s, const struct source_row *row,
				 uint32_t origin, bool may_add)
{
	uint32_t text = text_of(s, row->dict, row->stack);
	uint64_t key = (uint64_t)origin << 32 | text;
	const uint32_t *known = map_get(&s->index, key);

	if (known)
		return &s->sites.v[*known];
	if (!may_add || s->sites.n >= SITES_MAX)
		return NULL;
	map_put(&s->index, key, s->sites.n);
	vec_push(&s->sites,
		 ((struct leak_site){ .origin = origin, .text = text, .series = row->series }));
	return &s->sites.v[s->sites.n - 1];
}

/* A sampled block stands for several: the variance is its value times the period of its series. */
static int add_row(void *ctx, const struct source_row *row)
{
	struct leak_search *s = ctx;
	const struct series *series = &s->groups.catalog->series.series.v[row->series];
	uint32_t origin = snapshots_origin(&s->snapshots, row);

	if (!s->is_old[row->series] || origin >= s->origins.n)
		return check(s);
	const struct leak_origin *o = &s->origins.v[origin];
	struct leak_site *site = NULL;
	double value = (double)row->value * (double)groups_factor(&s->groups, row->series);
	for (uint32_t i = 0; i < o->n; i++) {
		if (o->at[i] != row->time_ns)
			continue;
		site = site ? site : site_of(s, row, origin, true);
		if (!site)
			break;
		site->bytes[i] += value;
		site->variance[i] += value * (double)series->period;
	}
	return check(s);
}

static int add_allocated(void *ctx, const struct source_row *row)
{
	struct leak_search *s = ctx;
	struct leak_site *site = site_of(s, row, snapshots_origin(&s->snapshots, row), false);

	if (site)
		site->allocated += (double)row->value;
	return check(s);
}

/* Of the type "alloc", for which sites are the same. */
static int read_allocations(struct leak_search *s)
{
	const struct profile *p = s->groups.catalog;
	struct source *source = s->q->source;
	bool *wanted = xcalloc(p->series.series.n + 1, sizeof *wanted);
	int rc = 0;

	for (size_t i = 0; i < p->series.series.n; i++) {
		const struct type *t = &p->series.types.v[p->series.series.v[i].type];

		wanted[i] =
			t->aggregation == AGG_SUM && strcmp(profile_str(p, t->name), "alloc") == 0;
		s->allocations |= wanted[i];
	}
	if (s->allocations)
		rc = source->ops->rows(source, wanted, s->q->from_ns, s->q->to_ns, add_allocated, s,
				       s->err);
	free(wanted);
	return rc;
}

/* --- lines ------------------------------------------------------------------------------------ */

struct trend {
	double slope, error; /* per second */
};

static struct trend trend_of(const int64_t *at, const double *y, uint32_t n)
{
	double mean_t = 0, mean_y = 0, tt = 0, ty = 0, rest = 0;

	for (uint32_t i = 0; i < n; i++) {
		mean_t += (double)(at[i] - at[0]) / 1e9 / n;
		mean_y += y[i] / n;
	}
	for (uint32_t i = 0; i < n; i++) {
		double t = (double)(at[i] - at[0]) / 1e9 - mean_t;

		tt += t * t;
		ty += t * (y[i] - mean_y);
	}
	struct trend l = { tt > 0 ? ty / tt : 0, 0 };
	for (uint32_t i = 0; i < n; i++) {
		double off = y[i] - mean_y - l.slope * ((double)(at[i] - at[0]) / 1e9 - mean_t);

		rest += off * off;
	}
	l.error = n > 2 && tt > 0 ? sqrt(rest / (n - 2) / tt) : INFINITY;
	return l;
}

/* Of the growth between two points, as if no block stayed. */
static double deviation(const struct leak_site *site, uint32_t from, uint32_t to)
{
	return sqrt(fmax(0, site->variance[from] + site->variance[to]));
}

static bool grows(const struct leak_origin *o, const struct leak_site *site, struct trend all)
{
	uint32_t last = o->n - 1, middle = o->n / 2;
	struct trend half = trend_of(o->at + middle, site->bytes + middle, o->n - middle);
	const double *y = site->bytes;

	return all.slope > CLEARLY * all.error && half.slope > all.slope / 4 &&
	       half.slope > half.error && y[last] - y[0] > GROWTH * deviation(site, 0, last) &&
	       y[last] - y[middle] > HALF_GROWTH * deviation(site, middle, last);
}

/* Returns false if it is not a leak. */
static bool judge(const struct leak_origin *o, const struct leak_site *site, struct query_leak *out)
{
	struct trend all = trend_of(o->at, site->bytes, o->n);
	uint32_t last = o->n - 1;
	double hours = (double)(o->at[last] - o->at[0]) / 3600e9;
	double growth = site->bytes[last] - site->bytes[0];

	if (!grows(o, site, all))
		return false;
	double fit = all.error * 3600, sampling = deviation(site, 0, last) / hours;
	double beyond = NORMAL * fmax(fit, sampling);
	out->first = site->bytes[0];
	out->last = site->bytes[last];
	out->per_hour = all.slope * 3600;
	out->per_hour_low = fmax(0, out->per_hour - beyond);
	out->per_hour_high = out->per_hour + beyond;
	out->survives = site->allocated > 0 ? fmin(1, growth / site->allocated) : NAN;
	out->from_ns = o->at[0];
	out->to_ns = o->at[last];
	return true;
}

static int by_growth(const void *a, const void *b)
{
	const struct query_leak *x = a, *y = b;

	return x->per_hour != y->per_hour
		       ? (x->per_hour < y->per_hour) - (x->per_hour > y->per_hour)
		       : strcmp(x->stack, y->stack);
}

static void collect(const struct leak_search *s, struct query_leaks *out)
{
	VEC(struct query_leak) all = { 0 };

	for (size_t i = 0; i < s->sites.n; i++) {
		const struct leak_site *site = &s->sites.v[i];
		struct query_leak leak;
		const char *stack = strtab_get(&s->texts, site->text);
		const char *process = label_of(s->groups.catalog, site->series, "process");

		if (!judge(&s->origins.v[site->origin], site, &leak))
			continue;
		leak.stack = arena_dup(&out->arena, stack, strlen(stack) + 1);
		leak.process = arena_dup(&out->arena, process, strlen(process) + 1);
		vec_push(&all, leak);
	}
	if (all.n)
		qsort(all.v, all.n, sizeof *all.v, by_growth);
	out->v = arena_dup(&out->arena, all.v, all.n * sizeof *all.v);
	out->n = all.n;
	vec_done(&all);
}

/* --- all together ----------------------------------------------------------------------------- */

static int find_times(struct leak_search *s)
{
	uint32_t usable = 0;
	int rc = snapshots_rows(&s->snapshots, s->q->from_ns, note_time, s, s->err);

	if (rc)
		return rc;
	for (size_t i = 0; i < s->origins.n; i++) {
		find_points(&s->origins.v[i]);
		usable += s->origins.v[i].n > 0;
	}
	if (usable)
		return 0;
	err_set(s->err, ENODATA, "no process has memory in use at %d times of this range",
		QUERY_LEAK_SNAPSHOTS);
	return err_hint(s->err, "cresset up --events alloc,inuse records it once a minute");
}

static void search_done(struct leak_search *s)
{
	for (size_t i = 0; i < s->origins.n; i++)
		vec_done(&s->origins.v[i].times);
	vec_done(&s->origins);
	map_done(&s->seen);
	strtab_done(&s->texts);
	vec_done(&s->dicts);
	map_done(&s->text_of);
	vec_done(&s->frames);
	buf_done(&s->text);
	vec_done(&s->sites);
	map_done(&s->index);
	free(s->is_old);
	snapshots_done(&s->snapshots);
	groups_done(&s->groups);
}

int query_leaks(const struct query *q, enum age least, struct query_leaks *out, struct err *err)
{
	struct leak_search s = { .q = q, .err = err };

	*out = (struct query_leaks){ 0 };
	if (!query_is_snapshot(q))
		return err_set(err, EINVAL, "leaks are of memory in use: 'inuse{}'");
	guard_begin(&s.guard, &q->limits, q->source);
	strtab_init(&s.texts);
	snapshots_init(&s.snapshots, q);
	int rc = groups_init(&s.groups, q, err);
	if (rc == 0) {
		note_ages(&s, least);
		rc = find_times(&s);
	}
	if (rc == 0)
		rc = q->source->ops->rows(q->source, s.groups.wanted, q->from_ns, q->to_ns, add_row,
					  &s, err);
	if (rc == 0)
		rc = read_allocations(&s);
	if (rc == 0)
		collect(&s, out);
	search_done(&s);
	guard_end(&s.guard, q->source);
	return rc;
}

static void stack_json(struct json *j, const char *stack, struct buf *function)
{
	json_key(j, "stack");
	json_arr(j);
	while (*stack) {
		size_t n = strcspn(stack, ";");

		buf_clear(function);
		buf_add(function, stack, n);
		json_str(j, buf_cstr(function));
		stack += n + (stack[n] == ';');
	}
	json_end(j);
}

static void bytes_json(struct json *j, const char *key, double bytes)
{
	json_key_num(j, key, round(bytes));
}

void query_leaks_json(const struct query_leaks *l, size_t top_n, struct buf *out)
{
	struct json j = json_to(out);
	struct buf function = { 0 };

	json_obj(&j);
	json_key_str(&j, "format", "cresset.leaks");
	json_key_u64(&j, "version", 1);
	json_key(&j, "leaks");
	json_arr(&j);
	for (size_t i = 0; i < l->n && (!top_n || i < top_n); i++) {
		const struct query_leak *k = &l->v[i];

		json_obj(&j);
		json_key_str(&j, "process", k->process);
		bytes_json(&j, "per_hour", k->per_hour);
		bytes_json(&j, "per_hour_low", k->per_hour_low);
		bytes_json(&j, "per_hour_high", k->per_hour_high);
		bytes_json(&j, "first", k->first);
		bytes_json(&j, "last", k->last);
		json_key_i64(&j, "first_ns", k->from_ns);
		json_key_i64(&j, "last_ns", k->to_ns);
		json_key_num(&j, "survives", k->survives);
		stack_json(&j, k->stack, &function);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
	buf_addc(out, '\n');
	buf_done(&function);
}

void query_leaks_done(struct query_leaks *l)
{
	arena_done(&l->arena);
}
