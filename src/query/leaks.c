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
	DEPTH_MAX = 512,     /* frames of a stack, from the leaf on */
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

struct leak_time {
	int64_t ns;
	double sum; /* of the whole snapshot */
};
struct leak_origin {
	VEC(struct leak_time) times; /* of its snapshots; ascending from find_points on */
	uint32_t name, pid;
	uint32_t n; /* number of points; 0: too few snapshots */
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
	bool *is_old;    /* by series */
	bool has_period; /* in the values' unit */
	int64_t least_age_ns;
	/* Older rows are sums of all processes with one name: then all rows are. */
	bool has_windows, by_name;
	VEC(struct leak_origin) origins;
	struct map origin_of; /* (name, pid) */
	struct map seen;      /* (origin, time) → index in times */
	struct strtab texts;
	VEC(struct profile *) dicts;
	struct map text_of; /* (dict, stack) */
	VEC(uint32_t) frames;
	struct buf text;
	uint64_t text_bytes;
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
	static const int64_t ages_s[AGES] = { 0, 60, 600, 3600 };
	const struct profile *p = s->groups.catalog;

	const struct type *t = &p->series.types.v[s->q->type];

	s->has_period = t->period_unit == t->unit;
	s->least_age_ns = ages_s[least] * 1000000000;
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
	/* A time is in `seen` as well. */
	uint64_t bytes = vec_size_bytes(&s->sites) + map_size_bytes(&s->index) +
			 map_size_bytes(&s->text_of) + 2 * map_size_bytes(&s->seen) + s->text_bytes;
	return rc ? rc : guard_memory(&s->guard, bytes, s->err);
}

static uint32_t origin_of(struct leak_search *s, const struct source_row *row)
{
	uint32_t name = s->snapshots.name_of_series[row->series];
	uint32_t pid = s->by_name ? SAMPLE_NO_ID : row->pid;
	uint64_t key = (uint64_t)name << 32 | pid;
	uint32_t id = map_intern(&s->origin_of, key, s->origins.n, NULL, NULL);

	if (id == s->origins.n)
		vec_push(&s->origins, ((struct leak_origin){ .name = name, .pid = pid }));
	return id;
}

/* Windows start at such times. */
static int64_t time_of(const struct leak_search *s, const struct source_row *row)
{
	int64_t window_ns = s->q->source->window_ns;

	return s->by_name && window_ns > 0 ? row->time_ns - row->time_ns % window_ns : row->time_ns;
}

/* A block without detail has the sum of all its snapshots. */
static bool is_snapshot(const struct leak_search *s, const struct source_row *row)
{
	return !row->is_window || row->length_ns <= s->q->source->window_ns;
}

static int note_time(void *ctx, const struct source_row *row)
{
	struct leak_search *s = ctx;

	if (!is_snapshot(s, row))
		return check(s);
	s->has_windows |= row->is_window;
	uint32_t id = origin_of(s, row);
	struct leak_origin *o = &s->origins.v[id];
	int64_t ns = time_of(s, row);
	uint32_t fresh = o->times.n;
	uint32_t at = map_intern(&s->seen, hash_mix(id, (uint64_t)ns), fresh, NULL, NULL);
	if (at == fresh)
		vec_push(&o->times, ((struct leak_time){ .ns = ns }));
	o->times.v[at].sum += (double)row->value;
	return check(s);
}

static int by_time(const void *a, const void *b)
{
	const struct leak_time *x = a, *y = b;

	return (x->ns > y->ns) - (x->ns < y->ns);
}

/* Memory from the start of a process gets old in one step: points are later than that. */
static size_t first_time(const struct leak_search *s, const struct leak_origin *o)
{
	int64_t gap_ns = o->times.v[1].ns - o->times.v[0].ns;
	bool is_new = o->times.v[0].ns > s->q->from_ns + 2 * gap_ns;
	size_t first = 0;

	while (is_new && first < o->times.n &&
	       o->times.v[first].ns < o->times.v[0].ns + s->least_age_ns + gap_ns)
		first++;
	return first;
}

/* The first and the last snapshot, and some at equal distances between them. The last one of a
 * process that has ended is empty. */
static void find_points(const struct leak_search *s, struct leak_origin *o)
{
	if (o->times.n < QUERY_LEAK_SNAPSHOTS)
		return;
	qsort(o->times.v, o->times.n, sizeof *o->times.v, by_time);
	while (o->times.n && o->times.v[o->times.n - 1].sum == 0)
		o->times.n--;
	size_t first = o->times.n > 1 ? first_time(s, o) : 0, n = o->times.n - first;
	if (n < QUERY_LEAK_SNAPSHOTS)
		return;
	o->n = n < POINTS_MAX ? n : POINTS_MAX;
	for (uint32_t i = 0; i < o->n; i++)
		o->at[i] = o->times.v[first + (n - 1) * i / (o->n - 1)].ns;
}

/* --- sites ------------------------------------------------------------------------------------ */

static void add_lines(struct leak_search *s, struct profile *dict, uint32_t frame)
{
	struct shown_line lines[LINES_MAX];
	uint32_t n = profile_frame_lines(dict, frame, lines, LINES_MAX);

	for (uint32_t i = n; i-- > 0;) {
		if (s->text.len)
			buf_addc(&s->text, ';');
		for (const char *c = profile_str(dict, lines[i].name); *c; c++)
			buf_addc(&s->text, *c == ';' ? ':' : *c);
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
	for (uint32_t i = depth > DEPTH_MAX ? depth - DEPTH_MAX : 0; i < depth; i++)
		add_lines(s, dict, s->frames.v[i]);
	s->text_bytes += s->text.len;
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

	if (!s->is_old[row->series] || !is_snapshot(s, row))
		return check(s);
	if (groups_of_row(&s->groups, row) == GROUP_NONE) {
		int rc = groups_check(&s->groups, s->err);
		return rc ? rc : check(s);
	}
	uint32_t origin = origin_of(s, row);
	const struct leak_origin *o = &s->origins.v[origin];
	struct leak_site *site = NULL;
	double value = (double)row->value * (double)groups_factor(&s->groups, row->series);
	int64_t ns = time_of(s, row);
	for (uint32_t i = 0; i < o->n; i++) {
		if (o->at[i] != ns)
			continue;
		site = site ? site : site_of(s, row, origin, true);
		if (!site)
			break;
		site->bytes[i] += value;
		site->variance[i] += value * (s->has_period ? (double)series->period : 1);
	}
	return check(s);
}

static int add_allocated(void *ctx, const struct source_row *row)
{
	struct leak_search *s = ctx;
	uint32_t origin = origin_of(s, row);
	struct leak_site *site = s->origins.v[origin].n ? site_of(s, row, origin, false) : NULL;

	if (site)
		site->allocated += (double)row->value;
	return check(s);
}

/* By name: those with a site. */
static bool *names_with_sites(const struct leak_search *s)
{
	const struct profile *p = s->groups.catalog;
	uint32_t n = 0;

	for (size_t i = 0; i < p->series.series.n; i++)
		n = s->snapshots.name_of_series[i] >= n ? s->snapshots.name_of_series[i] + 1 : n;
	bool *has = xcalloc(n + 1, sizeof *has);
	for (size_t i = 0; i < s->sites.n; i++)
		has[s->origins.v[s->sites.v[i].origin].name] = true;
	return has;
}

/* Of the type "alloc", or "alloc-objects", for which sites are the same. */
static int read_allocations(struct leak_search *s)
{
	const struct profile *p = s->groups.catalog;
	const struct type *type = &p->series.types.v[s->q->type];
	const char *name =
		strcmp(profile_str(p, type->unit), "bytes") == 0 ? "alloc" : "alloc-objects";
	struct source *source = s->q->source;
	bool *wanted = xcalloc(p->series.series.n + 1, sizeof *wanted), any = false;
	bool *has_sites = names_with_sites(s);
	int rc = 0;

	for (size_t i = 0; i < p->series.series.n; i++) {
		const struct type *t = &p->series.types.v[p->series.series.v[i].type];
		uint32_t of = s->snapshots.name_of_series[i];

		wanted[i] = t->aggregation == AGG_SUM &&
			    strcmp(profile_str(p, t->name), name) == 0 && has_sites[of];
		any |= wanted[i];
	}
	if (any)
		rc = source->ops->rows(source, wanted, s->q->from_ns, s->q->to_ns, add_allocated, s,
				       s->err);
	free(has_sites);
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

/* Not in one step, as a table that doubles. */
static bool is_gradual(const double *y, uint32_t n)
{
	double largest = 0, growth = y[n - 1] - y[0];

	for (uint32_t i = 1; i < n; i++)
		largest = fmax(largest, y[i] - y[i - 1]);
	return growth - largest >= growth / 2;
}

static bool grows(const struct leak_origin *o, const struct leak_site *site, struct trend all)
{
	uint32_t last = o->n - 1, middle = o->n / 2;
	struct trend half = trend_of(o->at + middle, site->bytes + middle, o->n - middle);
	const double *y = site->bytes;

	return is_gradual(y, o->n) && all.slope > CLEARLY * all.error &&
	       half.slope > all.slope / 4 && half.slope > half.error &&
	       y[last] - y[0] > GROWTH * deviation(site, 0, last) &&
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
		const char *host = label_of(s->groups.catalog, site->series, "host");

		if (!judge(&s->origins.v[site->origin], site, &leak))
			continue;
		leak.stack = arena_dup(&out->arena, stack, strlen(stack) + 1);
		leak.process = arena_dup(&out->arena, process, strlen(process) + 1);
		leak.host = arena_dup(&out->arena, host, strlen(host) + 1);
		leak.pid = s->origins.v[site->origin].pid;
		vec_push(&all, leak);
	}
	if (all.n)
		qsort(all.v, all.n, sizeof *all.v, by_growth);
	const struct type *t = &s->groups.catalog->series.types.v[s->q->type];
	const char *unit = profile_str(s->groups.catalog, t->unit);
	out->unit = arena_dup(&out->arena, unit, strlen(unit) + 1);
	out->v = arena_dup(&out->arena, all.v, all.n * sizeof *all.v);
	out->n = all.n;
	vec_done(&all);
}

/* --- all together ----------------------------------------------------------------------------- */

static void forget_times(struct leak_search *s)
{
	for (size_t i = 0; i < s->origins.n; i++)
		vec_done(&s->origins.v[i].times);
	vec_clear(&s->origins);
	map_clear(&s->origin_of);
	map_clear(&s->seen);
}

static int read_times(struct leak_search *s)
{
	return snapshots_rows(&s->snapshots, s->q->from_ns, note_time, s, s->err);
}

static int find_times(struct leak_search *s)
{
	uint32_t usable = 0;
	int rc = read_times(s);

	if (rc == 0 && s->has_windows) {
		s->by_name = true;
		forget_times(s);
		rc = read_times(s);
	}
	if (rc)
		return rc;
	for (size_t i = 0; i < s->origins.n; i++) {
		find_points(s, &s->origins.v[i]);
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
	forget_times(s);
	vec_done(&s->origins);
	map_done(&s->origin_of);
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
	out->by_name = s.by_name;
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

static void value_json(struct json *j, const char *key, double value)
{
	json_key_num(j, key, round(value));
}

void query_leaks_json(const struct query_leaks *l, size_t top_n, struct buf *out)
{
	struct json j = json_to(out);
	struct buf function = { 0 };

	json_obj(&j);
	json_key_str(&j, "format", "cresset.leaks");
	json_key_u64(&j, "version", 1);
	json_key_text(&j, "unit", l->unit);
	json_key_bool(&j, "by_name", l->by_name);
	json_key(&j, "leaks");
	json_arr(&j);
	for (size_t i = 0; i < l->n && (!top_n || i < top_n); i++) {
		const struct query_leak *k = &l->v[i];

		json_obj(&j);
		json_key_text(&j, "host", k->host);
		json_key_str(&j, "process", k->process);
		json_key(&j, "pid");
		if (k->pid == SAMPLE_NO_ID)
			json_str(&j, NULL);
		else
			json_u64(&j, k->pid);
		value_json(&j, "per_hour", k->per_hour);
		value_json(&j, "per_hour_low", k->per_hour_low);
		value_json(&j, "per_hour_high", k->per_hour_high);
		value_json(&j, "first", k->first);
		value_json(&j, "last", k->last);
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
