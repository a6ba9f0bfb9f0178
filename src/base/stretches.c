#include "base/stretches.h"

void stretches_done(struct stretches *r)
{
	vec_done(&r->all);
}

void stretches_add(struct stretches *r, int64_t from, int64_t to)
{
	if (from < to)
		vec_push(&r->all, (struct stretch){ from, to });
}

static int compare(const void *a, const void *b)
{
	const struct stretch *x = a, *y = b;
	return x->from < y->from ? -1 : x->from > y->from;
}

void stretches_settle(struct stretches *r)
{
	size_t n = 0;
	if (r->all.n)
		qsort(r->all.v, r->all.n, sizeof *r->all.v, compare);
	for (size_t i = 0; i < r->all.n; i++) {
		struct stretch next = r->all.v[i], *last = n ? &r->all.v[n - 1] : NULL;
		if (!last || next.from > last->to)
			r->all.v[n++] = next;
		else if (next.to > last->to)
			last->to = next.to;
	}
	r->all.n = n;
}

void stretches_both(const struct stretches *a, const struct stretches *b, struct stretches *out)
{
	for (size_t i = 0, k = 0; i < a->all.n && k < b->all.n;) {
		struct stretch x = a->all.v[i], y = b->all.v[k];
		stretches_add(out, x.from > y.from ? x.from : y.from, x.to < y.to ? x.to : y.to);
		if (x.to < y.to)
			i++;
		else
			k++;
	}
}

void stretches_without(const struct stretches *a, const struct stretches *b, struct stretches *out)
{
	for (size_t i = 0, k = 0; i < a->all.n; i++) {
		struct stretch x = a->all.v[i];
		for (; k < b->all.n && b->all.v[k].to <= x.from; k++)
			;
		for (size_t j = k; j < b->all.n && b->all.v[j].from < x.to; j++) {
			stretches_add(out, x.from, b->all.v[j].from);
			x.from = b->all.v[j].to;
		}
		stretches_add(out, x.from, x.to);
	}
}

int64_t stretches_sum(const struct stretches *r)
{
	int64_t sum = 0;
	for (size_t i = 0; i < r->all.n; i++)
		sum += r->all.v[i].to - r->all.v[i].from;
	return sum;
}

size_t stretches_find(const struct stretches *r, int64_t x)
{
	size_t from = 0, to = r->all.n;
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (r->all.v[middle].to <= x)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}
