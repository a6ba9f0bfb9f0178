/* Gaps, by what ended them. */
#include "query/gpu_idle_work.h"

#include <stdlib.h>

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

/* What began at the end of a gap; both are in order. A gap that ends with its window was not ended by work. */
static void name_gaps(const struct gpu_idle_device *d, gpu_works *works, gaps *out)
{
	size_t k = 0;
	if (works->n)
		qsort(works->v, works->n, sizeof *works->v, compare_work);
	for (size_t i = 0; i < d->idle.all.n; i++) {
		struct stretch r = d->idle.all.v[i];
		struct gap gap = { .at = { r.from, r.to, 0 } };
		size_t next = stretches_find(&d->busy, r.to);
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

static uint32_t class_of(const struct gpu_idle_device *d, const struct gap *g)
{
	uint32_t i = 0;
	while (!is_of_class(g, &d->classes.v[i]))
		i++;
	return i;
}

/* Sorted as a whole: there are no more gaps than records, which are in memory. Classes are looked up for those that stay only. */
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
		at.class = class_of(d, &all->v[at.class]);
		vec_push(&d->longest, at);
	}
	vec_done(&gaps_at);
}

void idle_find_classes(struct gpu_idle_device *d, gpu_works *works)
{
	gaps all = { 0 };
	name_gaps(d, works, &all);
	add_up(d, &all);
	take_longest(d, &all);
	vec_done(&all);
}
