/* A table of pages by process and number. */
#include "collect/resolve/resident.h"

#include "bpf/fault_event.h"

#include <stdlib.h>

static uint64_t key_of(const struct resident_page *p)
{
	uint64_t number = p->address >> (p->is_region ? FAULT_HUGE_SHIFT : FAULT_PAGE_SHIFT);

	return hash_mix(hash_mix(p->pid, p->is_region), number);
}

static bool is_chosen(const struct resident_page *p, uint32_t bits)
{
	return p->is_region ? fault_has_region(p->address, p->pid, bits)
			    : fault_has_page(p->address, p->pid, bits);
}

static uint32_t most_pages(const struct resident *r)
{
	return r->max ? r->max : (uint32_t)RESIDENT_MAX_PAGES;
}

/* Drops pages without origin, and pages that are not chosen by so many bits. */
static void drop_others(struct resident *r, uint32_t bits)
{
	size_t n = 0;

	for (size_t i = 0; i < r->all.n; i++) {
		struct resident_page p = r->all.v[i];

		if (!p.origin || (p.bits < bits && !is_chosen(&p, bits)))
			continue;
		p.bits = p.bits < bits ? bits : p.bits;
		r->all.v[n++] = p;
	}
	r->all.n = n;
}

static void index_again(struct resident *r)
{
	map_clear(&r->index);
	for (size_t i = 0; i < r->all.n; i++)
		map_put(&r->index, key_of(&r->all.v[i]), i);
}

void resident_put(struct resident *r, const struct resident_page *page)
{
	struct resident_page p = *page;
	const uint32_t *known = map_get(&r->index, key_of(page));

	if (p.bits < r->bits) /* sent before the kernel chose fewer */
		p.bits = r->bits;
	if (!is_chosen(&p, p.bits))
		return;
	if (known) {
		r->all.v[*known] = p;
		return;
	}
	map_put(&r->index, key_of(&p), r->all.n);
	vec_push(&r->all, p);
}

bool resident_is_full(const struct resident *r)
{
	return r->all.n > most_pages(r);
}

bool resident_fit(struct resident *r)
{
	const uint32_t bits = r->bits;

	drop_others(r, 0);
	if (r->all.n < most_pages(r) / 4 && r->bits > r->least_bits)
		r->bits--;
	while (resident_is_full(r) && r->bits < FAULT_MAX_BITS)
		drop_others(r, ++r->bits);
	index_again(r);
	return r->bits != bits;
}

static int by_place(const void *a, const void *b)
{
	const struct resident_page *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

void resident_sort(struct resident *r)
{
	drop_others(r, 0);
	if (r->all.n)
		qsort(r->all.v, r->all.n, sizeof *r->all.v, by_place);
	index_again(r);
}

void resident_done(struct resident *r)
{
	vec_done(&r->all);
	map_done(&r->index);
}
