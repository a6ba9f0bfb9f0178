/* Remembers ids of a profile that grows. */
#include "store/day/store_dict.h"

#include "base/mem.h"
#include "profile/profile.h"
#include "store/catalog/catalog.h"
#include "store/day/store_state.h"
#include "store/names/names_db.h"
#include "store/part/part.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

/* Days that a batch usually has: today, and yesterday around midnight. */
enum { KNOWN_PARTS = 2 };

struct known_part {
	uint64_t dict_id; /* 0: none */
	struct dict_map map;
};
struct store_dict {
	struct store *s;
	struct store_dict *next;
	const struct profile *p;
	struct known_part parts[KNOWN_PARTS]; /* most recently used first */
	VEC(uint32_t) series;                 /* the catalog's; UINT32_MAX: not known */
	/* State when the names were taken. */
	uint64_t names_epoch, names_changes;
	size_t frames, mappings;
	int32_t day;
	bool has_names;
};

static void forget_part(struct known_part *k)
{
	if (k->dict_id)
		dict_map_done(&k->map);
	k->dict_id = 0;
}

static void forget_all(struct store_dict *d)
{
	for (int i = 0; i < KNOWN_PARTS; i++)
		forget_part(&d->parts[i]);
	vec_done(&d->series);
	d->has_names = false;
}

/* Drops the cache if p is another profile, although the caller promised the same one. */
static void follow(struct store_dict *d, const struct profile *p)
{
	if (d->p == p)
		return;
	forget_all(d);
	d->p = p;
}

struct store_dict *store_dict_new(struct store *s)
{
	struct store_dict *d = xcalloc(1, sizeof *d);

	d->s = s;
	pthread_mutex_lock(&s->lock);
	d->next = s->dicts;
	s->dicts = d;
	pthread_mutex_unlock(&s->lock);
	return d;
}

void store_dict_free(struct store_dict *d)
{
	struct store_dict **at;

	if (!d)
		return;
	pthread_mutex_lock(&d->s->lock);
	for (at = &d->s->dicts; *at != d;)
		at = &(*at)->next;
	*at = d->next;
	pthread_mutex_unlock(&d->s->lock);
	forget_all(d);
	free(d);
}

/* --- stacks ----------------------------------------------------------------------------------- */

struct dict_map *store_dict_map(struct store_dict *d, const struct store_part *sp,
				const struct profile *p)
{
	struct known_part found;
	int i = 0;

	follow(d, p);
	while (i < KNOWN_PARTS - 1 && d->parts[i].dict_id != sp->dict_id)
		i++;
	if (d->parts[i].dict_id != sp->dict_id || !dict_map_follow(&d->parts[i].map, p)) {
		forget_part(&d->parts[i]);
		dict_map_init(&d->parts[i].map, part_dict(sp->part), p);
		d->parts[i].dict_id = sp->dict_id;
	}
	found = d->parts[i];
	memmove(d->parts + 1, d->parts, i * sizeof *d->parts);
	d->parts[0] = found;
	return &d->parts[0].map;
}

/* --- series ----------------------------------------------------------------------------------- */

uint32_t store_dict_series(struct store_dict *d, const struct profile *p, uint32_t series,
			   int64_t received_ns)
{
	follow(d, p);
	while (d->series.n <= series)
		vec_push(&d->series, UINT32_MAX);
	uint32_t *id = &d->series.v[series];
	if (*id == UINT32_MAX || !catalog_use(d->s->catalog, *id, received_ns))
		*id = catalog_resolve(d->s->catalog, p, series, received_ns);
	return *id;
}

/* --- names ------------------------------------------------------------------------------------ */

bool store_dict_has_names(const struct store_dict *d, const struct profile *p, int32_t day)
{
	return d->p == p && d->has_names && d->day == day &&
	       d->names_epoch == names_db_epoch(d->s->names) &&
	       d->names_changes == p->names.all_changes && d->frames == p->frames.frames.n &&
	       d->mappings == p->frames.mappings.n;
}

void store_dict_took_names(struct store_dict *d, const struct profile *p, int32_t day)
{
	follow(d, p);
	d->names_epoch = names_db_epoch(d->s->names);
	d->names_changes = p->names.all_changes;
	d->frames = p->frames.frames.n;
	d->mappings = p->frames.mappings.n;
	d->day = day;
	d->has_names = true;
}

/* --- memory ----------------------------------------------------------------------------------- */

uint64_t store_dicts_bytes(const struct store *s)
{
	uint64_t bytes = 0;

	for (const struct store_dict *d = s->dicts; d; d = d->next) {
		bytes += sizeof *d + vec_size_bytes(&d->series);
		for (int i = 0; i < KNOWN_PARTS; i++)
			bytes += d->parts[i].dict_id ? dict_map_bytes(&d->parts[i].map) : 0;
	}
	return bytes;
}

void store_dicts_forget_series(struct store *s)
{
	for (struct store_dict *d = s->dicts; d; d = d->next)
		vec_clear(&d->series);
}

void store_dicts_drop(struct store *s)
{
	for (struct store_dict *d = s->dicts; d; d = d->next)
		forget_all(d);
}
