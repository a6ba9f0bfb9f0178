/* Makes rows of a profile, with ids of the store. */
#include "store/day/batch_rows.h"

#include "base/err.h"
#include "base/mem.h"
#include "profile/sum.h"
#include "profile/tree/time_range.h"
#include "store/catalog/catalog.h"
#include "store/day/store_dict.h"
#include "store/day/store_state.h"

#include <errno.h>
#include <string.h>

/* Samples further in the future come from a wrong clock: they count at their time of arrival. */
#define AHEAD_NS  STORE_DAY_NS
/* The longest time over which a sample is spread. */
#define SPREAD_NS STORE_DAY_NS

/* --- times ------------------------------------------------------------------------------------ */

struct batch_clock batch_clock_of(const struct profile *p, int64_t received_ns)
{
	const struct profile_meta *m = &p->meta;
	struct batch_clock c = { .received_ns = received_ns,
				 .has_times = profile_has_times(p),
				 .fixed_ns = m->start_wall_ns ? m->start_wall_ns : received_ns };

	if (m->start_wall_ns)
		c.shift_ns = sum_sub(m->start_wall_ns, m->start_mono_ns);
	return c;
}

int64_t batch_time_ns(const struct batch_clock *c, int64_t time_ns)
{
	int64_t t = c->has_times ? sum_add(time_ns, c->shift_ns) : c->fixed_ns;

	return t > c->received_ns && t - c->received_ns > AHEAD_NS ? c->received_ns : t;
}

int64_t batch_covered_ns(const struct sample_columns *c, size_t row)
{
	int64_t length_ns = sample_length_ns(c, row);

	return length_ns < SPREAD_NS ? length_ns : SPREAD_NS;
}

/* Accesses to stack ids are random: they are prefetched this many rows ahead. */
enum { PREFETCH_ROWS = 24 };

/* --- stacks ----------------------------------------------------------------------------------- */

static bool touches_day(const struct batch_rows *r, const struct store_part *sp, size_t row)
{
	int64_t from = batch_time_ns(&r->clock, r->samples->time_ns[row]);

	return from < sp->day_ns + STORE_DAY_NS &&
	       sum_add(from, batch_covered_ns(r->samples, row)) >= sp->day_ns;
}

void batch_known_stamp(const struct store *s, const struct store_part *sp,
		       struct store_known_stacks *k)
{
	k->dict_id = sp->dict_id;
	k->names_epoch = names_db_epoch(s->names);
	k->day = sp->day_ns / STORE_DAY_NS;
}

static bool is_fresh(const struct store *s, const struct store_part *sp,
		     const struct store_known_stacks *k)
{
	struct store_known_stacks now;

	batch_known_stamp(s, sp, &now);
	return sp->has_dict && now.dict_id == k->dict_id && now.names_epoch == k->names_epoch &&
	       now.day == k->day;
}

bool store_known_is_fresh(struct store *s, const struct store_known_stacks *known)
{
	bool fresh = false;

	pthread_mutex_lock(&s->lock);
	for (size_t i = s->parts.n; i-- && !fresh;)
		fresh = is_fresh(s, s->parts.v[i], known);
	pthread_mutex_unlock(&s->lock);
	return fresh;
}

static int check_known(const struct store *s, const struct store_batch *b,
		       const struct batch_rows *r, struct err *err)
{
	if (!b->known || !b->known->is_used)
		return 0;
	if (r->parts.n == 1 && is_fresh(s, r->parts.v[0].sp, b->known))
		return 0;
	return err_set(err, ESTALE, "the stack cache is stale");
}

/* Fills part->stack, by row, once all its stacks are in the map. */
static void map_stacks(const struct batch_rows *r, const struct store_known_stacks *known,
		       struct batch_part *part, struct dict_map *map)
{
	size_t n = r->samples->n;
	bool any = false;

	part->stack = xreallocarray(NULL, n + 1, sizeof *part->stack);
	for (size_t i = 0; i < n; i++) {
		uint32_t id = r->samples->stack[i];
		bool touches = touches_day(r, part->sp, i);
		if (i + PREFETCH_ROWS < n)
			__builtin_prefetch(&map->stack[r->samples->stack[i + PREFETCH_ROWS]]);
		part->stack[i] = touches ? id : BATCH_NO_STACK;
		any |= touches;
		if (touches && map->stack[id] == DICT_MAP_NONE)
			dict_map_stack(map, id);
	}
	dict_map_end(map);
	for (size_t i = 0; i < n; i++)
		if (part->stack[i] != BATCH_NO_STACK)
			part->stack[i] = map->stack[part->stack[i]];
	/* Use the ids that the caller knows. */
	for (size_t i = 0; known && known->is_used && i < n; i++)
		if (part->stack[i] != BATCH_NO_STACK && known->id[i] != STORE_NO_STACK)
			part->stack[i] = known->id[i];
	if (any)
		return;
	free(part->stack);
	part->stack = NULL;
}

static void resolve_part(const struct store_batch *b, const struct batch_rows *r,
			 struct batch_part *part)
{
	struct dict_map once, *map = &once;

	if (b->dict)
		map = store_dict_map(b->dict, part->sp, b->p);
	else
		dict_map_init(&once, part_dict(part->sp->part), b->p);
	map_stacks(r, b->known, part, map);
	if (!b->dict)
		dict_map_done(&once);
}

/* --- series ----------------------------------------------------------------------------------- */

static uint32_t series_of(struct store *s, const struct store_batch *b, uint32_t id,
			  int64_t received_ns)
{
	if (b->dict)
		return store_dict_series(b->dict, b->p, id, received_ns);
	return catalog_resolve(s->catalog, b->p, id, received_ns);
}

static void resolve_series(struct store *s, const struct store_batch *b, struct batch_rows *r)
{
	const struct sample_columns *c = r->samples;

	r->n_series = b->p->series.series.n;
	r->series = xreallocarray(NULL, r->n_series + 1, sizeof *r->series);
	memset(r->series, 0xff, (r->n_series + 1) * sizeof *r->series);
	for (size_t i = 0; i < c->n; i++) {
		uint32_t *id = &r->series[c->series[i]];
		if (*id == BATCH_NO_SERIES)
			*id = series_of(s, b, c->series[i], r->clock.received_ns);
	}
	for (size_t i = 0; b->metrics && i < b->metrics->n; i++) {
		struct metric_sample m = b->metrics->v[i];
		uint32_t *id = &r->series[m.series];
		if (*id == BATCH_NO_SERIES)
			*id = series_of(s, b, m.series, r->clock.received_ns);
		m.series = *id;
		vec_push(&r->points, m);
	}
}

/* --- all -------------------------------------------------------------------------------------- */

static int32_t newest_day(const struct batch_rows *r)
{
	int64_t newest_ns = r->parts.n ? 0 : r->clock.received_ns; /* a batch of names only */

	for (size_t i = 0; i < r->parts.n; i++) {
		int64_t day_ns = r->parts.v[i].sp->day_ns;
		newest_ns = day_ns > newest_ns ? day_ns : newest_ns;
	}
	return newest_ns / STORE_DAY_NS;
}

int batch_rows_resolve(struct store *s, const struct store_batch *b, int64_t received_ns,
		       struct batch_rows *out, struct err *err)
{
	int rc = 0;

	/* The day may have got another piece since. */
	for (size_t i = 0; rc == 0 && i < out->parts.n; i++)
		rc = store_part_for(s, out->parts.v[i].sp->day_ns, &out->parts.v[i].sp, err);
	out->clock = batch_clock_of(b->p, received_ns);
	out->samples = &b->p->samples;
	out->links = b->p->links.all.v;
	if (!rc)
		rc = check_known(s, b, out, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < out->parts.n; i++)
		resolve_part(b, out, &out->parts.v[i]);
	resolve_series(s, b, out);
	int32_t day = newest_day(out);
	if (!b->dict || !store_dict_has_names(b->dict, b->p, day))
		names_db_offer(s->names, b->p, day, s->applied + 1, &out->names);
	return 0;
}

void batch_rows_done(struct batch_rows *r)
{
	for (size_t i = 0; i < r->parts.n; i++)
		free(r->parts.v[i].stack);
	vec_done(&r->parts);
	free(r->series);
	vec_done(&r->points);
	names_offer_done(&r->names);
	sample_columns_done(&r->own_samples);
	vec_done(&r->own_links);
	profile_free(r->own_names);
	*r = (struct batch_rows){ 0 };
}
