/* Sampled allocations by process and number, and sums by origin. */
#include "collect/resolve/heap.h"

#include "profile/series.h"

#include <math.h>

/* --- samples ---------------------------------------------------------------------------------- */

static uint64_t key_of(uint32_t pid, uint64_t number)
{
	return hash_mix(pid, number);
}

void heap_put(struct heap *h, uint32_t pid, uint64_t number, uint32_t origin)
{
	uint32_t *old = map_get(&h->by_number, key_of(pid, number)), row = h->all.n;
	const struct heap_sample sample = { number, pid, origin, h->round, 0 };

	if (old) {
		h->all.v[*old] = sample;
		return;
	}
	if (h->all.n >= (h->max ? h->max : HEAP_SAMPLES_MAX)) {
		h->refused++;
		return;
	}
	vec_push(&h->all, sample);
	map_put(&h->by_number, key_of(pid, number), row);
}

uint32_t heap_find(struct heap *h, uint32_t pid, uint64_t number)
{
	const uint32_t *row = map_get(&h->by_number, key_of(pid, number));
	struct heap_sample *s = row ? &h->all.v[*row] : NULL;

	if (!s || s->pid != pid || s->number != number)
		return 0;
	s->round = h->round;
	return s->origin;
}

static bool is_over(const struct heap *h, const struct heap_sample *s,
		    bool (*is_there)(void *ctx, uint32_t pid), void *ctx)
{
	if (s->round == h->round)
		return false;
	return map_get(&h->read, s->pid) || (is_there && !is_there(ctx, s->pid));
}

void heap_forget(struct heap *h, bool (*is_there)(void *ctx, uint32_t pid), void *ctx)
{
	size_t kept = 0;

	map_clear(&h->by_number);
	for (size_t i = 0; i < h->all.n; i++) {
		struct heap_sample s = h->all.v[i];

		if (is_over(h, &s, is_there, ctx))
			continue;
		map_put(&h->by_number, key_of(s.pid, s.number), kept);
		h->all.v[kept++] = s;
	}
	h->all.n = kept;
	h->many = 2 * kept > HEAP_SAMPLES_MANY ? 2 * kept : HEAP_SAMPLES_MANY;
	map_clear(&h->read);
}

void heap_done(struct heap *h)
{
	map_done(&h->by_number);
	vec_done(&h->all);
	gpu_origins_done(&h->origins);
	map_done(&h->read);
	struct heap_sums *sums[] = { &h->now, &h->ended, &h->allocated };
	for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
		map_done(&sums[i]->index);
		vec_done(&sums[i]->all);
	}
	*h = (struct heap){ 0 };
}

/* --- sums ------------------------------------------------------------------------------------- */

struct sum_search {
	const struct heap_sums *sums;
	struct heap_sum sum;
};

static bool same_sum(const void *ctx, uint32_t i)
{
	const struct sum_search *s = ctx;
	const struct heap_sum *a = &s->sums->all.v[i], *b = &s->sum;

	return a->origin == b->origin && a->age == b->age && a->bytes_period == b->bytes_period &&
	       a->objects_period == b->objects_period;
}

void heap_add(struct heap_sums *s, const struct heap_blocks *b)
{
	double beyond = b->weight - 1, size = (double)b->size;
	struct sum_search search = { s,
				     { .origin = b->origin,
				       .age = b->age,
				       .bytes_period = heap_period(beyond * size),
				       .objects_period = heap_period(beyond) } };
	uint64_t hash = hash_mix((uint64_t)b->age << 32 | b->origin,
				 hash_mix(search.sum.bytes_period, search.sum.objects_period));
	uint32_t i = map_intern(&s->index, hash, s->all.n, same_sum, &search);

	if (i == s->all.n)
		vec_push(&s->all, search.sum);
	s->all.v[i].bytes += (double)b->n * b->weight * size;
	s->all.v[i].objects += (double)b->n * b->weight;
}

uint32_t heap_age(uint64_t now_s, uint64_t born_s)
{
	static const uint32_t below_s[AGES - 1] = { 60, 600, 3600 };
	uint64_t age_s = now_s > born_s ? now_s - born_s : 0;
	uint32_t age = 0;

	while (age < AGE_OLDER && age_s >= below_s[age])
		age++;
	return age + 1;
}

void heap_clear(struct heap_sums *s)
{
	map_clear(&s->index);
	vec_clear(&s->all);
}

/* --- values ----------------------------------------------------------------------------------- */

int64_t heap_period(double beyond)
{
	enum { DIGITS = 3 };
	int exponent;

	if (!(beyond > 0) || beyond >= 0x1p62)
		return 0;
	double part = frexp(beyond, &exponent);
	double period = ldexp(ceil(ldexp(part, DIGITS)), exponent - DIGITS);
	return period < 1 ? 1 : (int64_t)ceil(period);
}

int64_t heap_whole(double value, uint64_t key)
{
	if (!(value < 0x1p62)) /* of a process that lies */
		return INT64_MAX / 2;
	double whole = floor(value);
	double chance = (double)(hash_mix(key, 0x68656170) >> 11) * 0x1p-53;

	return (int64_t)whole + (chance < value - whole);
}
