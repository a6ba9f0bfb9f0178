/* Removes series without references, and later reuses their places.
 *
 * A free place is a series without labels and with the period -2^63 + its number; its type has no
 * meaning. The table `place` has the series that took one since the chunks were written: type and
 * label set as numbered there; sum: XXH3-64 of id, type, period, labels, 8 bytes each. */
#include "store/catalog/catalog_state.h"

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "profile/chunk_read.h"
#include "profile/chunk_write.h"
#include "profile/copy.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/strtab.h"
#include "store/catalog/catalog.h"
#include "store/sqlite/db.h"

#include <endian.h>
#include <errno.h>
#include <sqlite3.h>

/* --- reused places ---------------------------------------------------------------------------- */

uint32_t catalog_put(struct catalog *c, const struct series *s)
{
	if (!c->free.v.n) {
		uint32_t id = series_intern(&c->p->series, s);
		catalog_note_new(c);
		return id;
	}
	uint32_t id = c->free.v.v[--c->free.v.n];
	series_take_place(&c->p->series, id, s);
	vec_push(&c->taken.v, id);
	catalog_note_place(c, id);
	return id;
}

static uint64_t place_sum(uint32_t id, const struct series *s)
{
	const uint64_t words[] = { htole64(id), htole64(s->type), htole64((uint64_t)s->period),
				   htole64(s->labels) };

	return hash_bytes(words, sizeof words);
}

static int write_place(struct catalog *c, uint32_t id, struct err *err)
{
	const struct series *p = &c->p->series.series.v[id];
	sqlite3_stmt *s =
		db_prepare(c->db, "INSERT OR REPLACE INTO place VALUES(?, ?, ?, ?, ?)", err);

	if (!s)
		return -err->code;
	sqlite3_bind_int64(s, 1, id);
	sqlite3_bind_int64(s, 2, p->type);
	sqlite3_bind_int64(s, 3, p->period);
	sqlite3_bind_int64(s, 4, p->labels);
	sqlite3_bind_int64(s, 5, (int64_t)place_sum(id, p));
	return db_step(c->db, s, err);
}

int catalog_write_taken(struct catalog *c, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < c->taken.v.n; i++)
		rc = write_place(c, c->taken.v.v[i], err);
	return rc;
}

/* Reads a row of the table; its type and labels are ids in the file. */
static bool take_row(struct catalog *c, const struct chunk_reader *reader, sqlite3_stmt *row)
{
	int64_t id = sqlite3_column_int64(row, 0), type = sqlite3_column_int64(row, 1);
	int64_t labels = sqlite3_column_int64(row, 3);
	struct series_table *t = &c->p->series;

	if (id < 0 || id >= (int64_t)t->series.n || type < 0 ||
	    type >= (int64_t)reader->types.v.n || labels < 0 || labels >= (int64_t)reader->sets.v.n)
		return false;
	struct series s = { .type = (uint32_t)type,
			    .period = sqlite3_column_int64(row, 2),
			    .labels = (uint32_t)labels };
	if ((uint64_t)sqlite3_column_int64(row, 4) != place_sum((uint32_t)id, &s))
		return false;
	s.type = reader->types.v.v[type];
	s.labels = reader->sets.v.v[labels];
	if (!series_is_free(t, (uint32_t)id) || series_find(t, &s) != UINT32_MAX)
		return false;
	series_take_place(t, (uint32_t)id, &s);
	return true;
}

int catalog_read_taken(struct catalog *c, const struct chunk_reader *reader, struct err *err)
{
	sqlite3_stmt *s = db_prepare(c->db, "SELECT id, type, period, labels, sum FROM place", err);
	int rc = s ? 0 : -err->code;

	while (rc == 0 && (rc = db_step(c->db, s, err)) > 0)
		rc = take_row(c, reader, s)
			     ? 0
			     : err_set(err, EBADMSG, "%s: a place of a series is damaged",
				       db_path(c->db));
	if (s)
		sqlite3_reset(s);
	return rc;
}

/* --- freeing places --------------------------------------------------------------------------- */

/* Returns the type for free places: that of a series that stays, if there is one. */
static uint32_t place_type(const struct catalog *c, const bool *gone)
{
	const struct series_table *t = &c->p->series;
	uint32_t id = 0;

	while (id + 1 < t->series.n && gone[id])
		id++;
	return t->series.v[id].type;
}

/* Returns a profile of the series that stay, with the same numbers. */
static struct profile *rest_of(const struct catalog *c, const bool *gone)
{
	struct profile *to = profile_new();
	struct profile_copy copy;

	profile_copy_init(&copy, c->p, to);
	strtab_put(&to->strings, "[other]");
	uint32_t type = profile_copy_type(&copy, place_type(c, gone));
	for (uint32_t id = 0; id < c->p->series.series.n; id++) {
		struct series none = series_free_place(id, type);

		if (gone[id])
			series_intern(&to->series, &none);
		else
			profile_copy_series(&copy, id);
	}
	profile_copy_done(&copy);
	return to;
}

static int write_next(struct catalog *c, struct err *err)
{
	int rc = db_begin(c->db, err);

	if (rc)
		return rc;
	rc = db_exec(c->db, "DELETE FROM chunk; DELETE FROM place", err);
	if (rc == 0)
		rc = catalog_write(c, c->next, c->next_writer, err);
	if (rc == 0)
		return db_commit(c->db, err);
	db_rollback(c->db);
	return rc;
}

static void forget_next(struct catalog *c)
{
	profile_free(c->next);
	chunk_writer_free(c->next_writer);
	c->next = NULL;
	c->next_writer = NULL;
}

int catalog_gc(struct catalog *c, const bool *kept, uint32_t n, uint64_t seq, struct err *err)
{
	/* gone[]: includes places that are free already; going: number of others. */
	bool *gone = xcalloc(c->p->series.series.n + 1, sizeof *gone);
	uint32_t going = 0;
	struct err local;
	int rc = 0;

	for (uint32_t id = 0; id < c->p->series.series.n; id++) {
		bool is_free = series_is_free(&c->p->series, id);
		gone[id] = is_free || (id < n && !kept[id] && c->uses.v[id].sequence <= seq);
		going += gone[id] && !is_free;
	}
	if (going) {
		c->next = rest_of(c, gone);
		c->next_writer = chunk_writer_new();
		rc = write_next(c, err ? err : &local);
	}
	free(gone);
	if (rc) {
		forget_next(c);
		/* The state of the file is unknown: the next catalog_sync rewrites it all. */
		chunk_writer_free(c->writer);
		c->writer = NULL;
	}
	return rc;
}

bool catalog_take_rest(struct catalog *c)
{
	struct profile *before = c->p;

	if (!c->next)
		return false;
	c->p = c->next;
	c->next = before;
	chunk_writer_free(c->writer);
	c->writer = c->next_writer;
	c->next_writer = NULL;
	forget_next(c);
	vec_clear(&c->taken.v);
	catalog_note_all(c);
	c->synced = c->p->series.series.n;
	return true;
}

/* --- reusing places --------------------------------------------------------------------------- */

bool catalog_has_waiting(const struct catalog *c)
{
	return c->waiting.v.n != 0;
}

void catalog_reuse(struct catalog *c)
{
	vec_append(&c->free.v, c->waiting.v.v, c->waiting.v.n);
	vec_clear(&c->waiting.v);
}
