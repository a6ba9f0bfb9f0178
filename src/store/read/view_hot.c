/* Reads exact rows from the hot tier for a view. */
#include "base/err.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "profile/tree/time_range.h"
#include "store/codec/hot_block.h"
#include "store/day/hot.h"
#include "store/day/view_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- opening, under lock ---------------------------------------------------------------------- */

static void add_hour(struct store_view *v, struct hot_hour *h)
{
	struct view_hot vh = { .hour = h,
			       .last_block = h->last_block,
			       .buffer = h->buffer,
			       .rows = h->buffer ? h->buffer->rows.n : 0 };

	h->readers++;
	if (vh.buffer)
		vh.buffer->refs++;
	vec_push(&v->hot, vh);
}

void view_hot_open(struct store_view *v)
{
	struct store *s = v->s;

	for (size_t i = 0; i < s->hot.n; i++) {
		store_hot_use(s, s->hot.v[i]);
		if (!s->hot.v[i]->is_bad)
			add_hour(v, s->hot.v[i]);
	}
}

void view_hot_close(struct store_view *v)
{
	for (size_t i = 0; i < v->hot.n; i++) {
		struct view_hot *vh = &v->hot.v[i];
		db_close(vh->db);
		hot_buffer_unref(vh->buffer);
		vh->hour->readers--;
	}
	vec_done(&v->hot);
}

/* --- which hours answer ----------------------------------------------------------------------- */

static bool touches(const struct view_hot *vh, int64_t from_ns, int64_t to_ns)
{
	return vh->hour->from_ns < to_ns && vh->hour->from_ns > from_ns - HEAD_SLOT_NS;
}

static bool is_of_day(const struct view_part *vp, const struct hot_hour *h)
{
	return h->from_ns >= vp->sp->day_ns && h->from_ns < vp->sp->day_ns + STORE_DAY_NS;
}

/* Without detail the windows of an hour cannot be told from adjacent ones, so they cannot be left
 * out. */
static int has_detail(struct store_view *v, const struct hot_hour *h, bool *has, struct err *err)
{
	*has = true;
	for (size_t i = 0; i < v->parts.n; i++) {
		struct part_reader *reader;
		struct part_info info;
		if (!is_of_day(&v->parts.v[i], h))
			continue;
		int rc = view_reader(v, &v->parts.v[i], &reader, err);
		if (view_leave_out(v, &v->parts.v[i], rc, err))
			continue;
		if (rc)
			return rc;
		part_get_info(reader->part, &info);
		*has &= info.has_detail || info.blocks == 0;
	}
	return 0;
}

static bool block_is_good(const struct hot_hour *h, sqlite3_stmt *st)
{
	const void *data = sqlite3_column_blob(st, 1);
	size_t len = sqlite3_column_bytes(st, 1);

	return data && (uint64_t)sqlite3_column_int64(st, 2) ==
			       hot_checksum(h->from_ns, sqlite3_column_int64(st, 0), data, len);
}

/* Returns 1 if all blocks match their checksums, 0 on damage. */
static int check_blocks(struct view_hot *vh, struct err *err)
{
	sqlite3_stmt *st =
		db_prepare(vh->db, "SELECT piece, data, sum FROM block WHERE id <= ?", err);
	int64_t good = 0;
	int rc;

	if (!st)
		return -err->code;
	sqlite3_bind_int64(st, 1, vh->last_block);
	while ((rc = db_step(vh->db, st, err)) > 0)
		good += block_is_good(vh->hour, st);
	return rc ? rc : good == vh->last_block;
}

static int open_file(struct store_view *v, struct view_hot *vh, struct err *err)
{
	const struct db_opts opts = { .schema = &hot_schema,
				      .access = DB_READ,
				      .wal = true,
				      .cache_bytes = 256 * 1024,
				      .vfs = v->s->opts.vfs };
	int rc = vh->last_block ? db_open(vh->hour->path, &opts, &vh->db, err) : 0;

	return rc ? rc : vh->db ? check_blocks(vh, err) : 1;
}

/* Marks the hour as bad, to be given up; counts it once. */
static void set_aside(struct store *s, struct hot_hour *h)
{
	pthread_mutex_lock(&s->lock);
	s->stats.bad_blocks += !h->is_bad;
	h->is_bad = true;
	pthread_mutex_unlock(&s->lock);
}

static int decide(struct store_view *v, struct view_hot *vh, struct err *err)
{
	struct err why;
	bool detail;
	int rc = has_detail(v, vh->hour, &detail, err);

	if (rc)
		return rc;
	int good = detail ? open_file(v, vh, &why) : 0;
	if (detail && (good == 0 || good == -EBADMSG))
		set_aside(v->s, vh->hour);
	vh->use = good > 0 ? HOT_USED : HOT_UNUSED;
	return 0;
}

int view_hot_decide(struct store_view *v, int64_t from_ns, int64_t to_ns, struct err *err)
{
	int rc = 0;

	if (from_ns < INT64_MIN + HEAD_SLOT_NS)
		from_ns = INT64_MIN + HEAD_SLOT_NS;
	for (size_t i = 0; rc == 0 && i < v->hot.n; i++)
		if (v->hot.v[i].use == HOT_UNASKED && touches(&v->hot.v[i], from_ns, to_ns))
			rc = decide(v, &v->hot.v[i], err);
	return rc;
}

bool view_hot_has(const struct store_view *v, int64_t time_ns)
{
	if (!v->hot.n)
		return false;
	int64_t hour_ns = time_ns / HEAD_SLOT_NS * HEAD_SLOT_NS;
	for (size_t i = v->hot.n; i--;)
		if (v->hot.v[i].hour->from_ns == hour_ns)
			return v->hot.v[i].use == HOT_USED;
	return false;
}

/* --- rows ------------------------------------------------------------------------------------- */

struct hot_reading {
	struct store_view *v;
	const struct view_hot_ask *ask;
	struct view_part *of; /* the owner of dict */
	struct profile *dict;
	struct hot_rows block;
};

/* Finds the dictionary of a piece. Returns 1 if the piece is left out. */
static int find_dict(struct hot_reading *r, const struct hot_hour *h, int64_t piece,
		     struct err *err)
{
	struct store_view *v = r->v;
	struct part_reader *reader;

	for (size_t i = 0; i < v->parts.n; i++) {
		struct view_part *vp = &v->parts.v[i];
		if (!is_of_day(vp, h) || vp->sp->piece != piece)
			continue;
		if (vp == r->of)
			return !r->dict;
		int rc = view_dict(v, vp, &reader, err);
		if (rc == 0)
			rc = view_name_stacks(v, reader, NULL, 0, err);
		r->of = vp;
		r->dict = rc ? NULL : part_dict(reader->part);
		return view_leave_out(v, vp, rc, err) ? 1 : rc;
	}
	return err_set(err, EBADMSG, "%s: its stacks are gone", h->path);
}

static bool cut(const struct view_hot_ask *ask, struct store_row *row)
{
	struct sample_part part = { row->time_ns, row->length_ns, row->value };

	if (ask->whole || row->length_ns == 0)
		return row->time_ns >= ask->from_ns && row->time_ns < ask->to_ns;
	if (!sample_part_cut(&part, ask->from_ns, ask->to_ns))
		return false;
	row->time_ns = part.time_ns;
	row->length_ns = part.length_ns;
	row->value = part.value;
	return true;
}

static bool is_wanted(const struct hot_reading *r, const struct hot_row *row)
{
	return row->series < view_series(r->v) && row->stack < r->dict->stacks.stacks.n &&
	       (!r->ask->wanted || r->ask->wanted[row->series]);
}

static int give_rows(const struct hot_reading *r)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < r->block.rows.n; i++) {
		const struct hot_row *h = &r->block.rows.v[i];
		struct store_row row = { .dict = r->dict,
					 .time_ns = h->time_ns,
					 .length_ns = h->length_ns,
					 .value = h->value,
					 .series = h->series,
					 .stack = h->stack,
					 .pid = h->pid,
					 .tid = h->tid,
					 .cpu = h->cpu };
		if (!is_wanted(r, h) || !cut(r->ask, &row))
			continue;
		if (h->link)
			row.link = &r->block.links.v[h->link - 1];
		rc = r->ask->row(r->ask->ctx, &row);
	}
	return rc;
}

static int give_block(struct hot_reading *r, const struct view_hot *vh, sqlite3_stmt *st,
		      struct err *err)
{
	int rc = find_dict(r, vh->hour, sqlite3_column_int64(st, 0), err);

	if (rc == 0)
		rc = view_check_stop(r->v, err);
	if (rc == 0)
		rc = hot_block_decode(sqlite3_column_blob(st, 1), sqlite3_column_bytes(st, 1),
				      &r->block, err);
	if (rc)
		return rc < 0 ? rc : 0;
	return give_rows(r);
}

static int give_blocks(struct hot_reading *r, const struct view_hot *vh, struct err *err)
{
	sqlite3_stmt *st = vh->db ? db_prepare(vh->db,
					       "SELECT piece, data FROM block WHERE id <= ? AND "
					       "first < ? AND last >= ?",
					       err)
				  : NULL;
	int rc;

	if (!st)
		return vh->db ? -err->code : 0;
	sqlite3_bind_int64(st, 1, vh->last_block);
	sqlite3_bind_int64(st, 2, r->ask->to_ns);
	sqlite3_bind_int64(st, 3, r->ask->from_ns);
	while ((rc = db_step(vh->db, st, err)) > 0) {
		rc = give_block(r, vh, st, err);
		if (rc)
			break;
	}
	sqlite3_reset(st);
	return rc;
}

/* Copies the rows, so that the callback runs without the lock. */
static int give_buffer(struct hot_reading *r, const struct view_hot *vh, struct err *err)
{
	struct store *s = r->v->s;

	if (!vh->rows)
		return 0;
	vec_clear(&r->block.rows);
	vec_clear(&r->block.links);
	pthread_mutex_lock(&s->lock);
	uint32_t piece = vh->buffer->piece;
	vec_append(&r->block.rows, vh->buffer->rows.v, vh->rows);
	vec_append(&r->block.links, vh->buffer->links.all.v, vh->buffer->links.all.n);
	pthread_mutex_unlock(&s->lock);
	int rc = find_dict(r, vh->hour, piece, err);
	return rc ? rc : give_rows(r);
}

int view_hot_rows(struct store_view *v, const struct view_hot_ask *ask, struct err *err)
{
	struct hot_reading r = { .v = v, .ask = ask };
	int64_t from_ns = ask->from_ns;
	int rc = 0;

	if (from_ns < INT64_MIN + HEAD_SLOT_NS)
		from_ns = INT64_MIN + HEAD_SLOT_NS;
	for (size_t i = 0; rc == 0 && i < v->hot.n; i++) {
		const struct view_hot *vh = &v->hot.v[i];
		if (vh->use != HOT_USED || !touches(vh, from_ns, ask->to_ns))
			continue;
		rc = give_blocks(&r, vh, err);
		if (rc == 0)
			rc = give_buffer(&r, vh, err);
	}
	hot_rows_done(&r.block);
	return rc;
}
