/* Series of readings in a profile. */
#include "profile/readings.h"

struct lookup {
	const struct readings *readings;
	const struct reading_key *key;
};

static bool is_same(const void *ctx, uint32_t i)
{
	const struct lookup *l = ctx;
	const struct reading_key *have = &l->readings->all.v[i].key;

	return have->name == l->key->name && have->unit == l->key->unit &&
	       have->labels == l->key->labels && have->is_counter == l->key->is_counter;
}

static struct reading_series *series_of(struct readings *r, const struct reading_key *key)
{
	struct lookup l = { r, key };
	uint64_t hash = hash_mix((uint64_t)key->name << 32 | key->unit, key->labels);
	uint32_t i;

	if (map_lookup(&r->index, hash, is_same, &l, &i))
		return &r->all.v[i];
	if (r->all.n >= READINGS_MAX_SERIES)
		return NULL;
	map_intern(&r->index, hash, r->all.n, is_same, &l);
	vec_push(&r->all, (struct reading_series){ .key = *key });
	return &r->all.v[r->all.n - 1];
}

uint64_t readings_add(struct readings *r, const struct reading_key *key,
		      const struct reading_point *points, size_t n)
{
	struct reading_series *s = series_of(r, key);
	uint64_t room = READINGS_MAX_POINTS - r->n_points, taken = n < room ? n : room;

	if (!s)
		return n;
	vec_append(&s->points, points, taken);
	r->n_points += taken;
	return n - taken;
}

void readings_done(struct readings *r)
{
	for (size_t i = 0; i < r->all.n; i++)
		vec_done(&r->all.v[i].points);
	vec_done(&r->all);
	map_done(&r->index);
}
