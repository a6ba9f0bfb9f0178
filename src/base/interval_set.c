/* The list is sorted. Adding an interval merges all that it touches. */
#include "base/interval_set.h"

#include "base/search.h"

void interval_set_done(struct interval_set *r)
{
	vec_done(&r->all);
}

void interval_set_add(struct interval_set *r, int64_t from, int64_t to)
{
	if (from < to)
		vec_push(&r->all, (struct int_range){ from, to });
}

static int compare(const void *a, const void *b)
{
	const struct int_range *x = a, *y = b;
	return x->from < y->from ? -1 : x->from > y->from;
}

void interval_set_normalize(struct interval_set *r)
{
	size_t n = 0;
	if (r->all.n)
		qsort(r->all.v, r->all.n, sizeof *r->all.v, compare);
	for (size_t i = 0; i < r->all.n; i++) {
		struct int_range next = r->all.v[i], *last = n ? &r->all.v[n - 1] : NULL;
		if (!last || next.from > last->to)
			r->all.v[n++] = next;
		else if (next.to > last->to)
			last->to = next.to;
	}
	r->all.n = n;
}

void interval_set_intersect(const struct interval_set *a, const struct interval_set *b,
			    struct interval_set *out)
{
	for (size_t i = 0, k = 0; i < a->all.n && k < b->all.n;) {
		struct int_range x = a->all.v[i], y = b->all.v[k];
		interval_set_add(out, x.from > y.from ? x.from : y.from, x.to < y.to ? x.to : y.to);
		if (x.to < y.to)
			i++;
		else
			k++;
	}
}

void interval_set_subtract(const struct interval_set *a, const struct interval_set *b,
			   struct interval_set *out)
{
	for (size_t i = 0, k = 0; i < a->all.n; i++) {
		struct int_range x = a->all.v[i];
		for (; k < b->all.n && b->all.v[k].to <= x.from; k++)
			;
		for (size_t j = k; j < b->all.n && b->all.v[j].from < x.to; j++) {
			interval_set_add(out, x.from, b->all.v[j].from);
			x.from = b->all.v[j].to;
		}
		interval_set_add(out, x.from, x.to);
	}
}

int64_t interval_set_sum(const struct interval_set *r)
{
	int64_t sum = 0;
	for (size_t i = 0; i < r->all.n; i++)
		sum += r->all.v[i].to - r->all.v[i].from;
	return sum;
}

size_t interval_set_find(const struct interval_set *r, int64_t x)
{
	return vec_upper(&r->all, to, x);
}
