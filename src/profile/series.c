/* Interns types, label sets and series. */
#include "profile/series.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const char *const age_words[] = { "1m", "10m", "1h", "older", NULL };

/* Labels are hashed and compared as bytes. */
_Static_assert(sizeof(struct label) == 24, "no padding");

void series_table_done(struct series_table *t)
{
	vec_done(&t->types);
	vec_done(&t->labels);
	vec_done(&t->sets);
	vec_done(&t->series);
	map_done(&t->type_index);
	map_done(&t->set_index);
	map_done(&t->series_index);
}

struct type_key {
	const struct series_table *t;
	const struct type *type;
};

static bool type_same(const void *ctx, uint32_t id)
{
	const struct type_key *key = ctx;
	const struct type *a = &key->t->types.v[id], *b = key->type;
	return a->name == b->name && a->sample_type == b->sample_type && a->unit == b->unit &&
	       a->period_type == b->period_type && a->period_unit == b->period_unit &&
	       a->aggregation == b->aggregation;
}

uint32_t type_intern(struct series_table *t, const struct type *type)
{
	struct type_key key = { t, type };
	uint64_t hash = hash_mix(hash_mix(type->name, type->sample_type),
				 (uint64_t)type->unit << 8 | type->aggregation);
	hash = hash_mix(hash, (uint64_t)type->period_type << 32 | type->period_unit);
	uint32_t fresh = t->types.n;
	uint32_t id = map_intern(&t->type_index, hash, fresh, type_same, &key);
	if (id == fresh)
		vec_push(&t->types, *type);
	return id;
}

static int label_cmp(const void *a, const void *b)
{
	const struct label *x = a, *y = b;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->is_num != y->is_num)
		return x->is_num < y->is_num ? -1 : 1;
	if (x->str != y->str)
		return x->str < y->str ? -1 : 1;
	if (x->num != y->num)
		return x->num < y->num ? -1 : 1;
	return x->unit < y->unit ? -1 : x->unit > y->unit;
}

/* Copies labels to out in canonical form; returns their number. */
static uint32_t label_set_normal(const struct label *labels, uint32_t n, struct label *out)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct label *l = &labels[i];
		out[i] = l->is_num ? (struct label){ l->key, 0, l->num, l->unit, 1 }
				   : (struct label){ l->key, l->str, 0, 0, 0 };
	}
	if (n > 1)
		qsort(out, n, sizeof *out, label_cmp);
	uint32_t kept = 0;
	for (uint32_t i = 0; i < n; i++)
		if (kept == 0 || label_cmp(&out[i], &out[kept - 1]))
			out[kept++] = out[i];
	return kept;
}

/* Compares a set with the last one: a set is looked up by appending its labels, which are removed
 * again if the set exists. */
static bool label_set_same(const void *ctx, uint32_t id)
{
	const struct series_table *t = ctx;
	const struct label_set *set = &t->sets.v[id], *fresh = &t->sets.v[t->sets.n - 1];
	return set->n == fresh->n && memcmp(&t->labels.v[set->first], &t->labels.v[fresh->first],
					    set->n * sizeof(struct label)) == 0;
}

static void label_set_none(struct series_table *t)
{
	vec_reserve(&t->labels, 1);
	vec_push(&t->sets, (struct label_set){ 0 });
	map_put(&t->set_index, hash_bytes(NULL, 0), 0);
}

/* Appends the labels as the last set, for label_set_same. Returns its hash. */
static uint64_t label_set_try(struct series_table *t, const struct label *labels, uint32_t n)
{
	size_t first = t->labels.n;
	vec_reserve(&t->labels, first + n);
	n = label_set_normal(labels, n, &t->labels.v[first]);
	vec_push(&t->sets, (struct label_set){ first, n });
	return hash_bytes(&t->labels.v[first], n * sizeof *labels);
}

uint32_t label_set_intern(struct series_table *t, const struct label *labels, uint32_t n)
{
	if (t->sets.n == 0)
		label_set_none(t);
	if (n == 0)
		return 0;
	uint64_t hash = label_set_try(t, labels, n);
	uint32_t fresh = t->sets.n - 1;
	uint32_t id = map_intern(&t->set_index, hash, fresh, label_set_same, t);
	if (id == fresh)
		t->labels.n += t->sets.v[fresh].n;
	else
		t->sets.n--;
	return id;
}

uint32_t label_set_find(struct series_table *t, const struct label *labels, uint32_t n)
{
	uint32_t id = n ? UINT32_MAX : 0;
	if (n == 0 || t->sets.n == 0)
		return id;
	map_lookup(&t->set_index, label_set_try(t, labels, n), label_set_same, t, &id);
	t->sets.n--;
	return id;
}

struct series_key {
	const struct series_table *t;
	const struct series *s;
};

static bool series_same(const void *ctx, uint32_t id)
{
	const struct series_key *key = ctx;
	const struct series *a = &key->t->series.v[id], *b = key->s;
	return a->type == b->type && a->period == b->period && a->labels == b->labels;
}

static uint64_t series_hash(const struct series *s)
{
	return hash_mix((uint64_t)s->type << 32 | s->labels, s->period);
}

uint32_t series_intern(struct series_table *t, const struct series *s)
{
	if (t->sets.n == 0)
		label_set_none(t);
	assert(s->type < t->types.n && s->labels < t->sets.n);
	struct series_key key = { t, s };
	uint32_t fresh = t->series.n;
	uint32_t id = map_intern(&t->series_index, series_hash(s), fresh, series_same, &key);
	if (id == fresh)
		vec_push(&t->series, *s);
	return id;
}

uint32_t series_find(const struct series_table *t, const struct series *s)
{
	struct series_key key = { t, s };
	uint32_t id = UINT32_MAX;
	map_lookup(&t->series_index, series_hash(s), series_same, &key, &id);
	return id;
}

struct series series_free_place(uint32_t id, uint32_t type)
{
	return (struct series){ .type = type, .period = INT64_MIN + id };
}

bool series_is_free(const struct series_table *t, uint32_t id)
{
	const struct series *s = &t->series.v[id];

	return s->labels == 0 && s->period == INT64_MIN + id;
}

uint32_t series_count(const struct series_table *t)
{
	uint32_t n = 0;

	for (uint32_t id = 0; id < t->series.n; id++)
		n += !series_is_free(t, id);
	return n;
}

/* The old series' entry stays in the index but no longer matches, as the row differs. */
void series_take_place(struct series_table *t, uint32_t id, const struct series *s)
{
	struct series_key key = { t, s };

	t->series.v[id] = *s;
	map_intern(&t->series_index, series_hash(s), id, series_same, &key);
}

const struct label *label_find(const struct series_table *t, uint32_t set, uint32_t key)
{
	if (set >= t->sets.n)
		return NULL;
	const struct label *labels = &t->labels.v[t->sets.v[set].first];
	for (uint32_t i = 0; i < t->sets.v[set].n; i++)
		if (labels[i].key == key)
			return &labels[i];
	return NULL;
}
