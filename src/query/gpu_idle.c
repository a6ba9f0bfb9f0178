#include "query/gpu_idle.h"

#include "base/buf.h"
#include "profile/sum.h"
#include "profile/time_range.h"

#include <errno.h>
#include <string.h>

#define SYNC "[sync"

/* Something that ran. */
struct gpu_work {
	int64_t from_ns, to_ns;
	uint32_t name;
};
typedef VEC(struct gpu_work) gpu_works;

struct idle_build {
	struct profile *p;
	const struct tree_opts *opts;
	struct gpu_idle *out;
	uint32_t gpu_key;
	struct stretches asked; /* the range of time that is looked at, on the samples' clock */
	size_t n_samples;       /* without those that are added here */
	VEC(gpu_works) works;   /* by device */
};

void gpu_idle_done(struct gpu_idle *g)
{
	for (size_t i = 0; i < g->devices.n; i++) {
		struct gpu_idle_device *d = &g->devices.v[i];
		stretches_done(&d->watched);
		stretches_done(&d->busy);
		stretches_done(&d->idle);
		vec_done(&d->pids);
		vec_done(&d->classes);
	}
	vec_done(&g->devices);
}

/* --- what ran where --------------------------------------------------------------------------- */

static const char *type_of_row(const struct idle_build *b, size_t row)
{
	const struct series_table *t = &b->p->series;
	return profile_str(b->p, t->types.v[t->series.v[b->p->samples.series[row]].type].name);
}

static uint32_t leaf_name(struct profile *p, size_t row)
{
	uint32_t leaf = stack_leaf(&p->stacks, p->samples.stack[row]);
	struct shown_line line;
	if (leaf == UINT32_MAX)
		return 0;
	profile_frame_lines(p, leaf, &line, 1);
	return line.name;
}

/* The device of a row; NULL: it has none. */
static struct gpu_idle_device *device_of(struct idle_build *b, size_t row)
{
	const struct series_table *t = &b->p->series;
	const struct label *l =
		label_find(t, t->series.v[b->p->samples.series[row]].labels, b->gpu_key);
	if (!l || l->is_num)
		return NULL;
	for (size_t i = 0; i < b->out->devices.n; i++)
		if (b->out->devices.v[i].label == l->str)
			return &b->out->devices.v[i];
	vec_push(&b->out->devices, (struct gpu_idle_device){ .label = l->str });
	vec_push(&b->works, (gpu_works){ 0 });
	return &b->out->devices.v[b->out->devices.n - 1];
}

static bool has_pid(const struct gpu_idle_device *d, uint32_t pid)
{
	for (size_t i = 0; i < d->pids.n; i++)
		if (d->pids.v[i] == pid)
			return true;
	return false;
}

static void find_work(struct idle_build *b)
{
	for (size_t row = 0; row < b->n_samples; row++) {
		int64_t length_ns = sample_length_ns(&b->p->samples, row);
		if (length_ns <= 0 || strcmp(type_of_row(b, row), "gpu-time") != 0)
			continue;
		uint32_t name = leaf_name(b->p, row);
		if (strncmp(profile_str(b->p, name), SYNC, strlen(SYNC)) == 0)
			continue;
		struct gpu_idle_device *d = device_of(b, row);
		if (!d)
			continue;
		int64_t from_ns = b->p->samples.time_ns[row];
		struct gpu_work work = { from_ns, sum_add(from_ns, length_ns), name };
		vec_push(&b->works.v[d - b->out->devices.v], work);
		stretches_add(&d->busy, work.from_ns, work.to_ns);
		if (!has_pid(d, b->p->samples.pid[row]))
			vec_push(&d->pids, b->p->samples.pid[row]);
	}
}

/* --- when it was watched ------------------------------------------------------------------------ */

static void windows_of(const struct idle_build *b, uint32_t pid, struct stretches *out)
{
	const struct sample_columns *c = &b->p->samples;
	for (size_t row = 0; row < b->n_samples; row++)
		if (c->pid[row] == pid && strcmp(type_of_row(b, row), "gpu-window") == 0)
			stretches_add(out, c->time_ns[row],
				      sum_add(c->time_ns[row], sample_length_ns(c, row)));
	stretches_settle(out);
}

static void keep_both(struct stretches *a, const struct stretches *b)
{
	struct stretches both = { 0 };
	stretches_both(a, b, &both);
	stretches_done(a);
	*a = both;
}

static void find_watched(struct idle_build *b, struct gpu_idle_device *d)
{
	vec_append(&d->watched.all, b->asked.all.v, b->asked.all.n);
	for (size_t i = 0; b->out->has_windows && i < d->pids.n; i++) {
		struct stretches windows = { 0 };
		windows_of(b, d->pids.v[i], &windows);
		keep_both(&d->watched, &windows);
		stretches_done(&windows);
	}
}

static void find_windows(struct idle_build *b)
{
	for (size_t row = 0; row < b->n_samples && !b->out->has_windows; row++)
		b->out->has_windows = strcmp(type_of_row(b, row), "gpu-window") == 0;
}

/* --- gaps by what ended them ----------------------------------------------------------------------- */

struct gap {
	uint32_t name;
	int64_t ns;
};
typedef VEC(struct gap) gaps;

static int compare_work(const void *a, const void *b)
{
	const struct gpu_work *x = a, *y = b;
	return x->from_ns < y->from_ns ? -1 : x->from_ns > y->from_ns;
}

static int compare_gaps(const void *a, const void *b)
{
	const struct gap *x = a, *y = b;
	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	return x->ns < y->ns ? -1 : x->ns > y->ns;
}

static int compare_classes(const void *a, const void *b)
{
	const struct gpu_idle_class *x = a, *y = b;
	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* What began at the end of a gap; both are in order. A gap that ends with its window was not ended by work. */
static void name_gaps(const struct stretches *idle, gpu_works *works, gaps *out)
{
	size_t k = 0;
	if (works->n)
		qsort(works->v, works->n, sizeof *works->v, compare_work);
	for (size_t i = 0; i < idle->all.n; i++) {
		struct stretch r = idle->all.v[i];
		while (k < works->n && works->v[k].from_ns < r.to)
			k++;
		bool is_over = k < works->n && works->v[k].from_ns == r.to;
		vec_push(out, (struct gap){ is_over ? works->v[k].name : 0, r.to - r.from });
	}
	if (out->n)
		qsort(out->v, out->n, sizeof *out->v, compare_gaps);
}

static void find_classes(struct gpu_idle_device *d, gpu_works *works)
{
	gaps all = { 0 };
	name_gaps(&d->idle, works, &all);
	for (size_t i = 0, end; i < all.n; i = end) {
		struct gpu_idle_class c = { .name = all.v[i].name };
		for (end = i; end < all.n && all.v[end].name == c.name; end++)
			c.total_ns += all.v[end].ns;
		c.gaps = end - i;
		c.longest_ns = all.v[end - 1].ns;
		c.median_ns = all.v[i + (end - i) / 2].ns;
		vec_push(&d->classes, c);
	}
	if (d->classes.n)
		qsort(d->classes.v, d->classes.n, sizeof *d->classes.v, compare_classes);
	vec_done(&all);
}

/* --- what owners did ------------------------------------------------------------------------------- */

static uint32_t side_type(struct idle_build *b, const struct gpu_idle_device *d, const char *what)
{
	struct type type = b->p->series.types.v[b->opts->type];
	struct buf name = { 0 };
	buf_addf(&name, "%s while GPU %s was %s", profile_str(b->p, type.name),
		 profile_str(b->p, d->label), what);
	type.name = sink_string(profile_sink(b->p), buf_cstr(&name));
	buf_done(&name);
	return profile_sink(b->p)->ops->type(profile_sink(b->p), &type);
}

static void put_part(struct idle_build *b, uint32_t type, size_t row,
		     const struct sample_part *part)
{
	const struct sample_columns *c = &b->p->samples;
	struct sink *s = profile_sink(b->p);
	struct series series = b->p->series.series.v[c->series[row]];
	series.type = type;
	struct sample sample = { .time_ns = part->time_ns,
				 .length_ns = part->length_ns,
				 .value = part->value,
				 .series = s->ops->series(s, &series),
				 .stack = c->stack[row],
				 .pid = c->pid[row],
				 .tid = c->tid[row],
				 .cpu = c->cpu[row] };
	s->ops->sample(s, &sample);
}

static void put_parts(struct idle_build *b, uint32_t type, const struct stretches *when, size_t row)
{
	const struct sample_columns *c = &b->p->samples;
	struct sample_part whole = { c->time_ns[row], sample_length_ns(c, row), c->value[row] };
	int64_t end_ns = sum_add(whole.time_ns, whole.length_ns > 0 ? whole.length_ns : 1);
	for (size_t i = stretches_find(when, whole.time_ns);
	     i < when->all.n && when->all.v[i].from < end_ns; i++) {
		struct sample_part part = whole;
		if (sample_part_cut(&part, when->all.v[i].from, when->all.v[i].to))
			put_part(b, type, row, &part);
	}
}

static void divide_samples(struct idle_build *b, struct gpu_idle_device *d)
{
	d->idle_type = side_type(b, d, "idle");
	d->busy_type = side_type(b, d, "busy");
	for (size_t row = 0; row < b->n_samples; row++) {
		uint32_t series = b->p->samples.series[row];
		if (b->p->series.series.v[series].type != b->opts->type ||
		    !has_pid(d, b->p->samples.pid[row]))
			continue;
		put_parts(b, d->idle_type, &d->idle, row);
		put_parts(b, d->busy_type, &d->busy, row);
	}
}

/* --- all together ---------------------------------------------------------------------------------- */

static int compare_pids(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

static void build_device(struct idle_build *b, size_t i)
{
	struct gpu_idle_device *d = &b->out->devices.v[i];
	qsort(d->pids.v, d->pids.n, sizeof *d->pids.v, compare_pids);
	stretches_settle(&d->busy);
	find_watched(b, d);
	keep_both(&d->busy, &d->watched);
	stretches_without(&d->watched, &d->busy, &d->idle);
	find_classes(d, &b->works.v[i]);
	divide_samples(b, d);
}

static int compare_devices(const void *a, const void *b, void *p)
{
	const struct gpu_idle_device *x = a, *y = b;
	return strcmp(profile_str(p, x->label), profile_str(p, y->label));
}

static struct stretches asked_stretch(const struct profile *p, const struct tree_opts *opts)
{
	int64_t start = p->meta.start_mono_ns, end = sum_add(start, p->meta.duration_ns);
	int64_t from = sum_add(start, opts->time_from_ns);
	int64_t to = opts->time_to_ns ? sum_add(start, opts->time_to_ns) : end;
	struct stretches r = { 0 };
	stretches_add(&r, from, to < end ? to : end);
	return r;
}

int gpu_idle_build(struct profile *p, const struct tree_opts *opts, struct gpu_idle *out,
		   struct err *err)
{
	struct idle_build b = { .p = p, .opts = opts, .out = out, .n_samples = p->samples.n };
	*out = (struct gpu_idle){ 0 };
	b.gpu_key = strtab_find(&p->strings, "gpu");
	b.asked = asked_stretch(p, opts);
	find_work(&b);
	find_windows(&b);
	for (size_t i = 0; i < out->devices.n; i++)
		build_device(&b, i);
	if (out->devices.n)
		qsort_r(out->devices.v, out->devices.n, sizeof *out->devices.v, compare_devices, p);
	for (size_t i = 0; i < b.works.n; i++)
		vec_done(&b.works.v[i]);
	vec_done(&b.works);
	stretches_done(&b.asked);
	if (out->devices.n)
		return 0;
	err_set(err, ENODATA, "nothing here says what ran on GPUs");
	return err_hint(err, "record with -e gpu-time");
}
