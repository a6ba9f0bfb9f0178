/* Finds gaps in the work of each device, and the samples in them. */
#include "query/gpu/gpu_idle_work.h"

#include "base/err.h"
#include "base/mem.h"
#include "profile/sum.h"
#include "query/gpu/gpu_idle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- classes: gaps, by what ended them --- */

struct gap {
	struct gpu_idle_gap at;
	uint32_t name;
	bool is_over;
};
typedef VEC(struct gap) gaps;

static int64_t length_ns(const struct gpu_idle_gap *g)
{
	return g->to_ns - g->from_ns;
}

static int compare_work(const void *a, const void *b)
{
	const struct gpu_work *x = a, *y = b;
	return x->from_ns < y->from_ns ? -1 : x->from_ns > y->from_ns;
}

static int compare_gaps(const void *a, const void *b)
{
	const struct gap *x = a, *y = b;
	int64_t x_ns = length_ns(&x->at), y_ns = length_ns(&y->at);
	if (x->is_over != y->is_over)
		return x->is_over ? -1 : 1;
	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	return x_ns < y_ns ? -1 : x_ns > y_ns;
}

static int compare_longest(const void *a, const void *b)
{
	const struct gpu_idle_gap *x = a, *y = b;
	if (length_ns(x) != length_ns(y))
		return length_ns(x) > length_ns(y) ? -1 : 1;
	return x->from_ns < y->from_ns ? -1 : x->from_ns > y->from_ns;
}

static int compare_classes(const void *a, const void *b)
{
	const struct gpu_idle_class *x = a, *y = b;
	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	if (x->is_over != y->is_over)
		return x->is_over ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* Finds the work that started at the end of each gap; both are sorted. A gap that ends with its
 * window was not ended by work. */
static void name_gaps(const struct gpu_idle_device *d, gpu_works *works, gaps *out)
{
	size_t k = 0;
	if (works->n)
		qsort(works->v, works->n, sizeof *works->v, compare_work);
	for (size_t i = 0; i < d->idle.all.n; i++) {
		struct int_range r = d->idle.all.v[i];
		struct gap gap = { .at = { r.from, r.to, 0 } };
		size_t next = interval_set_find(&d->busy, r.to);
		while (k < works->n && works->v[k].from_ns < r.to)
			k++;
		if (k < works->n && works->v[k].from_ns == r.to) {
			gap.name = works->v[k].name;
			gap.is_over = true;
		} else if (d->source == GPU_IDLE_READINGS) {
			gap.is_over = next < d->busy.all.n && d->busy.all.v[next].from == r.to;
		}
		vec_push(out, gap);
	}
	if (out->n)
		qsort(out->v, out->n, sizeof *out->v, compare_gaps);
}

static bool is_of_class(const struct gap *g, const struct gpu_idle_class *c)
{
	return g->name == c->name && g->is_over == c->is_over;
}

static void add_up(struct gpu_idle_device *d, const gaps *all)
{
	for (size_t i = 0, end; i < all->n; i = end) {
		struct gpu_idle_class c = { .name = all->v[i].name, .is_over = all->v[i].is_over };
		for (end = i; end < all->n && is_of_class(&all->v[end], &c); end++)
			c.total_ns += length_ns(&all->v[end].at);
		c.gaps = end - i;
		c.longest_ns = length_ns(&all->v[end - 1].at);
		c.median_ns = length_ns(&all->v[i + (end - i) / 2].at);
		vec_push(&d->classes, c);
	}
	if (d->classes.n)
		qsort(d->classes.v, d->classes.n, sizeof *d->classes.v, compare_classes);
}

/* Sorts all gaps, as there are no more gaps than records, which are in memory. Looks up classes
 * only for the ones that stay. */
static void take_longest(struct gpu_idle_device *d, const gaps *all)
{
	VEC(struct gpu_idle_gap) gaps_at = { 0 };
	for (size_t i = 0; i < all->n; i++) {
		struct gpu_idle_gap at = all->v[i].at;
		at.class = (uint32_t)i;
		vec_push(&gaps_at, at);
	}
	if (gaps_at.n)
		qsort(gaps_at.v, gaps_at.n, sizeof *gaps_at.v, compare_longest);
	for (size_t i = 0; i < gaps_at.n && i < GPU_IDLE_LONGEST; i++) {
		struct gpu_idle_gap at = gaps_at.v[i];
		const struct gap *g = &all->v[at.class];
		for (at.class = 0; !is_of_class(g, &d->classes.v[at.class]); at.class ++)
			;
		vec_push(&d->longest, at);
	}
	vec_done(&gaps_at);
}

const char *const gpu_idle_source_names[] = {
	[GPU_IDLE_RECORDS] = "records", [GPU_IDLE_READINGS] = "readings"
};
const char *const gpu_idle_owned_names[] = { [GPU_OWNED_RAN] = "ran",
					     [GPU_OWNED_LISTED] = "listed",
					     [GPU_OWNED_CALLED] = "called",
					     [GPU_OWNED_NONE] = "none" };

void gpu_idle_device_done(struct gpu_idle_device *d)
{
	interval_set_done(&d->watched);
	interval_set_done(&d->busy);
	interval_set_done(&d->idle);
	vec_done(&d->owners);
	vec_done(&d->classes);
	vec_done(&d->longest);
}

void gpu_idle_done(struct gpu_idle *g)
{
	for (size_t i = 0; i < g->devices.n; i++)
		gpu_idle_device_done(&g->devices.v[i]);
	vec_done(&g->devices);
	profile_free(g->own);
	g->own = NULL;
}

static const char *const thread_types[] = { "wall", "cpu", "off-cpu" };
enum { THREAD_TYPES = sizeof thread_types / sizeof *thread_types };

static bool is_named(const struct profile *p, uint32_t type, const char *name)
{
	return strcmp(profile_str(p, p->series.types.v[type].name), name) == 0;
}

uint32_t gpu_idle_type_among(const struct profile *p, const bool *types)
{
	for (size_t i = 0; i < THREAD_TYPES; i++)
		for (uint32_t k = 0; k < p->series.types.n; k++)
			if ((!types || types[k]) && is_named(p, k, thread_types[i]))
				return k;
	return GPU_IDLE_TYPE_NONE;
}

uint32_t gpu_idle_type(const struct profile *p)
{
	return gpu_idle_type_among(p, NULL);
}

bool gpu_idle_is_of_threads(const struct profile *p, uint32_t type)
{
	bool is = false;
	for (size_t i = 0; i < THREAD_TYPES; i++)
		is |= is_named(p, type, thread_types[i]);
	return is;
}

/* --- series ----------------------------------------------------------------------------------- */

static enum idle_series series_is(const struct idle_build *b, const struct series *s)
{
	static const char *const calls[] = { "gpu-launch", "gpu-wait", "gpu-copy", "hbm-alloc",
					     "hbm-inuse" };
	const char *name = profile_str(b->p, b->p->series.types.v[s->type].name);
	if (strcmp(name, "gpu-time") == 0)
		return SERIES_TIME;
	if (strcmp(name, "gpu-window") == 0)
		return SERIES_WINDOW;
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		if (strcmp(name, calls[i]) == 0)
			return SERIES_CALL;
	return SERIES_OTHER;
}

static uint32_t text_of(const struct profile *p, const struct series *s, const char *key)
{
	uint32_t id = strtab_find(&p->strings, key);
	const struct label *l = id == UINT32_MAX ? NULL : label_find(&p->series, s->labels, id);
	return l && !l->is_num ? l->str : 0;
}

static void find_facts(struct idle_build *b)
{
	const struct profile *p = b->p;
	b->facts = xcalloc(p->series.series.n + 1, sizeof *b->facts);
	for (uint32_t i = 0; i < p->series.series.n; i++) {
		const struct series *s = &p->series.series.v[i];
		struct idle_facts *f = &b->facts[i];
		f->is = series_is(b, s);
		f->is_asked = s->type == b->tree->type;
		f->host = text_of(p, s, "host");
		f->gpu = text_of(p, s, "gpu");
		f->uuid = text_of(p, s, "uuid");
		f->name = text_of(p, s, "process");
		f->name = f->name ? f->name : text_of(p, s, "comm");
	}
}

/* --- samples ---------------------------------------------------------------------------------- */

bool idle_is_exact(const struct idle_build *b, size_t row)
{
	return !b->scope->ids_say_exact || b->p->samples.pid[row] != SAMPLE_NO_ID;
}

bool idle_host_counts(const struct idle_build *b, uint32_t host)
{
	const struct idle_hosts *h = b->scope->hosts;
	if (!h || !h->is_limited)
		return true;
	for (size_t i = 0; i < h->all.n; i++)
		if (h->all.v[i] == host)
			return true;
	return false;
}

/* GPU work is known exactly from the end of the last window that only has a sum. */
static void find_exact(struct idle_build *b)
{
	const struct sample_columns *c = &b->p->samples;
	for (size_t row = 0; row < b->n_samples; row++) {
		enum idle_series is = idle_facts_of(b, row)->is;
		if ((is != SERIES_TIME && is != SERIES_WINDOW) || idle_is_exact(b, row))
			continue;
		int64_t end_ns = sum_add(c->time_ns[row], sample_length_ns(c, row));
		if (end_ns > b->out->exact_from_ns)
			b->out->exact_from_ns = end_ns;
	}
}

/* --- all together ----------------------------------------------------------------------------- */

static int compare_devices(const void *a, const void *b, void *p)
{
	const struct gpu_idle_device *x = a, *y = b;
	int order = strcmp(profile_str(p, x->host), profile_str(p, y->host));
	order = order ? order : strcmp(profile_str(p, x->label), profile_str(p, y->label));
	order = order ? order : strcmp(profile_str(p, x->uuid), profile_str(p, y->uuid));
	return order ? order : (int)x->is_part - (int)y->is_part;
}

static struct interval_set asked_stretch(const struct profile *p, const struct tree_opts *tree)
{
	int64_t start = p->meta.start_mono_ns, end = sum_add(start, p->meta.duration_ns);
	int64_t from = sum_add(start, tree->time_from_ns);
	int64_t to = tree->time_to_ns ? sum_add(start, tree->time_to_ns) : end;
	struct interval_set r = { 0 };
	interval_set_add(&r, from, to < end ? to : end);
	interval_set_normalize(&r);
	return r;
}

static void settle_devices(struct idle_build *b)
{
	struct gpu_idle *out = b->out;
	for (size_t i = 0; i < out->devices.n; i++) {
		struct gpu_idle_device *d = &out->devices.v[i];
		gaps all = { 0 };
		name_gaps(d, &b->works.v[i], &all);
		add_up(d, &all);
		take_longest(d, &all);
		vec_done(&all);
		idle_find_owners(b, d);
		idle_divide_samples(b, d);
		out->has_hosts |= d->host != out->devices.v[0].host;
	}
	if (out->devices.n)
		qsort_r(out->devices.v, out->devices.n, sizeof *out->devices.v, compare_devices,
			b->p);
}

int idle_nothing_known(const struct gpu_idle *g, struct err *err)
{
	if (g->exact_from_ns) {
		err_set(err, ENODATA, "GPU work is known as sums over time only");
		return err_hint(err, "exact times exist for the last hours: select those");
	}
	err_set(err, ENODATA, "no GPU work or readings");
	return err_hint(err, "record with -e gpu-time");
}

int idle_build_in(struct profile *p, const struct tree_opts *tree, const struct gpu_idle_opts *opts,
		  const struct idle_scope *scope, struct gpu_idle *out, struct err *err)
{
	static const struct idle_scope everything = { 0 };
	struct idle_build b = { .p = p,
				.tree = tree,
				.opts = opts,
				.scope = scope ? scope : &everything,
				.out = out,
				.n_samples = p->samples.n };
	*out = (struct gpu_idle){ .p = p, .tree = *tree };
	out->threshold = opts->threshold > 0 ? opts->threshold : GPU_IDLE_THRESHOLD;
	out->tree.time_from_ns = out->tree.time_to_ns = 0; /* p has only the parts */
	b.asked = asked_stretch(p, tree);
	find_facts(&b);
	find_exact(&b);
	idle_find_records(&b);
	idle_find_readings(&b);
	settle_devices(&b);
	for (size_t i = 0; i < b.works.n; i++)
		vec_done(&b.works.v[i]);
	vec_done(&b.works);
	vec_done(&b.windows);
	interval_set_done(&b.asked);
	free(b.facts);
	return out->devices.n ? 0 : idle_nothing_known(out, err);
}

int gpu_idle_build(struct profile *p, const struct tree_opts *tree,
		   const struct gpu_idle_opts *opts, struct gpu_idle *out, struct err *err)
{
	return idle_build_in(p, tree, opts, NULL, out, err);
}
