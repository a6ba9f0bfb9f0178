/* Replays rows of the inbox into memory: store_state.h, 6. */
#include "base/buf.h"
#include "base/mem.h"
#include "base/vec.h"
#include "profile/chunk_read.h"
#include "profile/chunk_write.h"
#include "profile/profile.h"
#include "store/catalog/catalog.h"
#include "store/day/batch_rows.h"
#include "store/day/store_state.h"
#include "store/write/write.h"

#include <errno.h>

/* --- dictionaries ----------------------------------------------------------------------------- */

static bool is_up_to(const struct chunk_position *a, const struct chunk_position *b)
{
	return a->strings <= b->strings && a->mappings <= b->mappings && a->frames <= b->frames &&
	       a->stacks <= b->stacks;
}

static bool apply_chunks(struct chunk_reader *reader, struct cur c, uint32_t types)
{
	struct cur payload;
	uint8_t type;

	while (logged_chunk_next(&c, &type, &payload))
		if (type >= CHUNK_TYPES_END || !(types & 1u << type) ||
		    !chunk_apply(reader, type, payload))
			return false;
	return !c.bad;
}

/* Adds new dictionary entries; skips the ones that became durable in the meantime. Returns false if
 * earlier entries are missing or the data are damaged. */
static bool add_news(struct store_part *sp, const struct logged_part *from)
{
	struct profile *dict = part_dict(sp->part);
	struct chunk_position has = chunk_position_of(dict);

	if (is_up_to(&from->to, &has))
		return true;
	if (sp->is_torn || !is_up_to(&from->from, &has))
		return false;
	if (!sp->replay) {
		sp->replay = xcalloc(1, sizeof *sp->replay);
		chunk_reader_restore(sp->replay, dict);
	}
	chunk_reader_seek(sp->replay, &from->from);
	bool ok = apply_chunks(sp->replay, from->chunks, CHUNK_DICTIONARY);
	has = chunk_position_of(dict);
	return ok && is_up_to(&has, &from->to) && is_up_to(&from->to, &has);
}

/* --- parts ------------------------------------------------------------------------------------ */

/* Drops rows whose stack does not exist. Returns their number. */
static uint64_t drop_unknown(const struct batch_rows *r, struct batch_part *part)
{
	uint32_t known = part_dict(part->sp->part)->stacks.stacks.n;
	uint64_t lost = 0;

	for (size_t i = 0; part->stack && i < r->samples->n; i++) {
		if (part->stack[i] == BATCH_NO_STACK || part->stack[i] < known)
			continue;
		part->stack[i] = BATCH_NO_STACK;
		lost++;
	}
	return lost;
}

/* Finds the part of a row, adds its dictionary entries, and moves its stacks to *r. */
static int bind_part(struct store *s, uint64_t seq, struct logged_part *from, struct batch_rows *r,
		     struct err *err)
{
	struct batch_part part = { 0 };
	uint64_t sequence;

	if (from->day_ns < s->kept_from_ns)
		return 0;
	int rc = store_day_sequence(s, from->day_ns, &sequence, err);
	if (rc || seq <= sequence)
		return rc;
	rc = store_part_piece(s, from->day_ns, from->piece, &part.sp, err);
	if (rc == -EBADMSG) {
		for (size_t i = 0; from->stack && i < r->samples->n; i++)
			s->stats.bad_rows += from->stack[i] != BATCH_NO_STACK;
		return 0;
	}
	if (rc)
		return rc;
	if (!add_news(part.sp, from))
		part.sp->is_torn = true;
	part.sp->logged = chunk_position_of(part_dict(part.sp->part));
	part.stack = from->stack;
	from->stack = NULL;
	s->stats.bad_rows += drop_unknown(r, &part);
	vec_push(&r->parts, part);
	return 0;
}

/* --- series ----------------------------------------------------------------------------------- */

static void drop_unknown_series(struct store *s, struct batch_rows *r)
{
	const struct profile *p = catalog_profile(s->catalog);
	size_t kept = 0;

	for (size_t i = 0; i < r->n_series; i++) {
		if (catalog_has(s->catalog, r->series[i]))
			catalog_use(s->catalog, r->series[i], r->clock.received_ns);
		else
			r->series[i] = BATCH_NO_SERIES;
	}
	for (size_t i = 0; i < r->samples->n; i++)
		s->stats.bad_rows += r->series[r->samples->series[i]] == BATCH_NO_SERIES;
	for (size_t i = 0; i < r->points.n; i++) {
		struct metric_samples one = { &r->points.v[i], 1, 1 };
		if (metric_samples_check(&one, p, NULL) == 0 &&
		    catalog_has(s->catalog, one.v->series))
			r->points.v[kept++] = r->points.v[i];
		else
			s->stats.bad_rows++;
	}
	r->points.n = kept;
}

/* --- names ------------------------------------------------------------------------------------ */

static void offer_names(struct store *s, const struct logged_batch *b, struct batch_rows *r)
{
	struct profile *p;
	struct chunk_reader reader;

	if (!cur_left(&b->names))
		return;
	p = r->own_names = profile_new();
	chunk_reader_init(&reader, profile_sink(p));
	/* Names before the damage are valid. */
	s->stats.bad_batches += !apply_chunks(
		&reader, b->names, CHUNK_DICTIONARY | 1 << CHUNK_FUNCTIONS | 1 << CHUNK_NAMES);
	chunk_reader_done(&reader);
	names_db_offer(s->names, p, b->names_day, s->applied + 1, &r->names);
}

/* --- a row ------------------------------------------------------------------------------------ */

static int replay_batch(struct store *s, uint64_t seq, struct logged_batch *b, struct err *err)
{
	struct batch_rows *r = &b->rows;
	int rc = 0;

	drop_unknown_series(s, r);
	for (size_t i = 0; rc == 0 && i < b->parts.n; i++)
		rc = bind_part(s, seq, &b->parts.v[i], r, err);
	if (rc)
		return rc;
	offer_names(s, b, r);
	store_apply(s, seq, r);
	return 0;
}

int store_replay_row(struct store *s, uint64_t seq, int64_t received_ns, const struct cur *row,
		     struct err *err)
{
	struct logged_batch b = { 0 };
	int rc = 0;

	if (row && logged_batch_decode(*row, received_ns, &b))
		rc = replay_batch(s, seq, &b, err);
	else
		s->stats.bad_batches++;
	logged_batch_done(&b);
	return rc;
}

void store_replay_end(struct store *s)
{
	for (size_t i = 0; i < s->parts.n; i++)
		store_part_replayed(s->parts.v[i]);
}
