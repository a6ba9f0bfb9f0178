/* Loads series from chunks, and assigns numbers to new ones. */
#include "store/catalog/catalog_state.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "profile/chunk_read.h"
#include "profile/chunk_write.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/strtab.h"
#include "store/catalog/catalog.h"
#include "store/sqlite/chunk_table.h"
#include "store/sqlite/db.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#define ACTIVE_NS  (24 * 3600 * 1000000000ll)
#define RECOUNT_NS (60 * 1000000000ll)

static const char *const catalog_objects[] = {
	"CREATE TABLE chunk(id INTEGER PRIMARY KEY, type INT, flags INT, sum INT, data BLOB)",
	"CREATE TABLE kept(id INTEGER PRIMARY KEY, from_ns INT)",
	"CREATE TABLE pin(from_ns INT, to_ns INT)",
	"CREATE TABLE place(id INTEGER PRIMARY KEY, type INT, period INT, labels INT, sum INT)",
	"CREATE TABLE asked(key TEXT PRIMARY KEY, value INT)",
	NULL,
};
static const struct db_schema catalog_schema = {
	.kind = DB_KIND_META, .version = 1, .objects = catalog_objects, .later = 3
};

/* --- values of each label --------------------------------------------------------------------- */

static void count_label(struct catalog *c, const struct label *l)
{
	uint64_t value = l->is_num ? (uint64_t)l->num : l->str;
	uint64_t key = hash_mix((uint64_t)l->key << 1 | l->is_num, value);

	if (map_get(&c->values, key))
		return;
	map_put(&c->values, key, 0);
	uint32_t *n = map_get(&c->n_values, l->key);
	map_put(&c->n_values, l->key, n ? *n + 1 : 1);
}

static struct series_use note_labels(struct catalog *c, uint32_t id)
{
	const struct series_table *t = &c->p->series;
	struct label_set set = t->sets.v[t->series.v[id].labels];
	struct series_use use = { 0 };

	for (uint32_t i = 0; i < set.n; i++) {
		const struct label *l = &t->labels.v[set.first + i];
		count_label(c, l);
		use.is_other |= !l->is_num && l->str == c->other;
	}
	catalog_share_note(c, &use, catalog_owner(c->p, t->labels.v + set.first, set.n));
	c->others += use.is_other;
	return use;
}

void catalog_note_new(struct catalog *c)
{
	while (c->uses.n < c->p->series.series.n) {
		struct series_use use = note_labels(c, c->uses.n);
		if (series_is_free(&c->p->series, c->uses.n))
			vec_push(&c->waiting.v, c->uses.n);
		vec_push(&c->uses, use);
	}
	c->version++;
}

void catalog_note_place(struct catalog *c, uint32_t id)
{
	c->uses.v[id] = note_labels(c, id);
	c->version++;
}

static void count_use(struct catalog *c, const struct series_use *u)
{
	if (!u->is_active || u->is_other)
		return;
	c->active++;
	catalog_share_count(c, u);
}

static void note_again(struct catalog *c, uint32_t id)
{
	struct series_use was = c->uses.v[id];

	c->uses.v[id] = note_labels(c, id);
	if (series_is_free(&c->p->series, id)) {
		vec_push(&c->waiting.v, id);
		return;
	}
	c->uses.v[id].seen_ns = was.seen_ns;
	c->uses.v[id].sequence = was.sequence;
	c->uses.v[id].is_active = was.is_active;
}

void catalog_note_all(struct catalog *c)
{
	struct series_shares before;

	catalog_shares_begin_again(c, &before);
	map_clear(&c->values);
	map_clear(&c->n_values);
	vec_clear(&c->waiting.v);
	vec_clear(&c->free.v);
	c->other = strtab_put(&c->p->strings, "[other]");
	c->others = c->active = 0;
	for (uint32_t id = 0; id < c->uses.n; id++) {
		note_again(c, id);
		count_use(c, &c->uses.v[id]);
	}
	catalog_shares_take_over(c, &before);
	c->version++;
}

/* --- opening ---------------------------------------------------------------------------------- */

static int read_chunk(struct catalog *c, struct chunk_reader *reader, sqlite3_stmt *s,
		      struct buf *raw, struct err *err)
{
	int64_t type = sqlite3_column_int64(s, 0), flags = sqlite3_column_int64(s, 1);
	const void *data = sqlite3_column_blob(s, 3);
	size_t len = sqlite3_column_bytes(s, 3);
	struct cur payload;

	if (type < 1 || type >= CHUNK_TYPES_END || !(CHUNK_CATALOG & 1u << type) || flags < 0 ||
	    flags > CHUNK_ZSTD ||
	    (uint64_t)sqlite3_column_int64(s, 2) != chunk_checksum(type, flags, data, len) ||
	    !chunk_unpack(flags, data, len, raw, &payload) || !chunk_apply(reader, type, payload))
		return err_set(err, EBADMSG, "%s: the tables of series are damaged",
			       db_path(c->db));
	return 0;
}

static int load_tables(struct catalog *c, struct err *err)
{
	sqlite3_stmt *s =
		db_prepare(c->db, "SELECT type, flags, sum, data FROM chunk ORDER BY id", err);
	struct chunk_reader reader;
	struct buf raw = { 0 };
	int rc;

	if (!s)
		return -err->code;
	chunk_reader_init(&reader, profile_sink(c->p));
	while ((rc = db_step(c->db, s, err)) > 0) {
		rc = read_chunk(c, &reader, s, &raw, err);
		if (rc)
			break;
	}
	sqlite3_reset(s);
	/* Each series must have the number it was written with. */
	for (size_t i = 0; rc == 0 && i < reader.series.v.n; i++)
		if (reader.series.v.v[i] != i)
			rc = err_set(err, EBADMSG, "%s: a series is duplicated", db_path(c->db));
	if (rc == 0)
		rc = catalog_read_taken(c, &reader, err);
	chunk_reader_done(&reader);
	buf_done(&raw);
	return rc;
}

int catalog_open(const char *path, const struct catalog_opts *opts, struct catalog **out,
		 struct err *err)
{
	struct catalog *c = xcalloc(1, sizeof *c);
	struct db_opts how = { .schema = &catalog_schema,
			       .access = opts->read_only ? DB_READ : DB_WRITE,
			       .wal = true,
			       .durable = true,
			       .vfs = opts->vfs };

	c->p = profile_new();
	c->max_series = opts->max_series;
	c->max_bytes = opts->max_bytes ? opts->max_bytes : UINT64_MAX;
	c->other = strtab_put(&c->p->strings, "[other]");
	int rc = db_open(path, &how, &c->db, err);
	if (!rc)
		rc = catalog_read_kept(c, err);
	if (!rc)
		rc = catalog_read_pins(c, err);
	if (!rc)
		rc = catalog_read_asked(c, err);
	if (!rc)
		rc = load_tables(c, err);
	if (rc) {
		catalog_close(c);
		return rc;
	}
	catalog_note_new(c);
	c->synced = c->p->series.series.n;
	*out = c;
	return 0;
}

void catalog_close(struct catalog *c)
{
	if (!c)
		return;
	db_close(c->db);
	profile_free(c->p);
	profile_free(c->next);
	chunk_writer_free(c->writer);
	chunk_writer_free(c->next_writer);
	vec_done(&c->waiting.v);
	vec_done(&c->free.v);
	vec_done(&c->taken.v);
	vec_done(&c->uses);
	catalog_shares_done(&c->shares);
	vec_done(&c->pins);
	vec_done(&c->labels);
	map_done(&c->values);
	map_done(&c->n_values);
	free(c);
}

int catalog_verify(struct catalog *c, struct err *err)
{
	return db_verify(c->db, err);
}

const struct profile *catalog_profile(const struct catalog *c)
{
	return c->p;
}

/* --- series of a batch ------------------------------------------------------------------------ */

/* Returns the catalog's id of a string of src; UINT32_MAX if missing and not to be added. */
static uint32_t text_of(struct catalog *c, const struct profile *src, uint32_t id, bool add)
{
	const char *s = strtab_get(&src->strings, id);
	uint32_t len = strtab_len(&src->strings, id);

	return add ? strtab_putn(&c->p->strings, s, len) : strtab_findn(&c->p->strings, s, len);
}

static uint32_t type_of(struct catalog *c, const struct profile *src, uint32_t id)
{
	struct type t = src->series.types.v[id];

	t.name = text_of(c, src, t.name, true);
	t.sample_type = text_of(c, src, t.sample_type, true);
	t.unit = text_of(c, src, t.unit, true);
	t.period_type = text_of(c, src, t.period_type, true);
	t.period_unit = text_of(c, src, t.period_unit, true);
	uint32_t types = c->p->series.types.n;
	uint32_t there = type_intern(&c->p->series, &t);
	c->version += c->p->series.types.n != types;
	return there;
}

/* A series of src to be added to the catalog. */
struct wanted_series {
	const struct profile *src;
	const struct label *labels; /* of src */
	uint32_t n;
	uint32_t type; /* the catalog's */
	int64_t period;
	bool *is_other; /* by label */
};

/* Puts the labels, in the catalog's strings, into c->labels. Returns false if a string is
 * missing. */
static bool translate_labels(struct catalog *c, const struct wanted_series *w, bool add)
{
	bool known = true;

	vec_clear(&c->labels);
	for (uint32_t i = 0; i < w->n; i++) {
		struct label l = w->labels[i];
		l.key = text_of(c, w->src, l.key, add);
		if (w->is_other && w->is_other[i]) {
			l = (struct label){ .key = l.key, .str = c->other };
		} else if (l.is_num) {
			l.unit = text_of(c, w->src, l.unit, add);
		} else {
			l.str = text_of(c, w->src, l.str, add);
			l.unit = 0;
		}
		known = known && l.key != UINT32_MAX && l.str != UINT32_MAX && l.unit != UINT32_MAX;
		vec_push(&c->labels, l);
	}
	return known;
}

static uint32_t find_series(struct catalog *c, const struct wanted_series *w)
{
	struct series s = { .type = w->type, .period = w->period };

	if (!translate_labels(c, w, false))
		return UINT32_MAX;
	s.labels = label_set_find(&c->p->series, c->labels.v, c->labels.n);
	return s.labels == UINT32_MAX ? UINT32_MAX : series_find(&c->p->series, &s);
}

static uint32_t add_series(struct catalog *c, const struct wanted_series *w)
{
	struct series s = { .type = w->type, .period = w->period };

	translate_labels(c, w, true);
	s.labels = label_set_intern(&c->p->series, c->labels.v, c->labels.n);
	uint32_t id = series_find(&c->p->series, &s);
	return id == UINT32_MAX ? catalog_put(c, &s) : id;
}

static uint32_t count_values(const struct catalog *c, const struct wanted_series *w, uint32_t label)
{
	uint32_t key = strtab_find(&c->p->strings, profile_str(w->src, w->labels[label].key));
	const uint32_t *n = key == UINT32_MAX ? NULL : map_get(&c->n_values, key);

	return n ? *n : 0;
}

/* Returns the label with the most values, of those not yet `[other]`. */
static uint32_t most_values(const struct catalog *c, const struct wanted_series *w)
{
	uint32_t best = UINT32_MAX, best_n = 0;

	for (uint32_t i = 0; i < w->n; i++) {
		uint32_t n = w->is_other[i] ? 0 : count_values(c, w, i);
		if (!w->is_other[i] && (best == UINT32_MAX || n > best_n)) {
			best = i;
			best_n = n;
		}
	}
	return best;
}

static uint32_t fold_series(struct catalog *c, struct wanted_series *w, struct series_owner owner)
{
	bool may_add = c->others < c->max_series / 8 && catalog_share_takes_other(c, owner);
	uint32_t id = UINT32_MAX;

	w->is_other = xcalloc(w->n + 1, sizeof *w->is_other);
	for (uint32_t left = w->n; left && id == UINT32_MAX; left--) {
		w->is_other[most_values(c, w)] = true;
		id = find_series(c, w);
		if (id == UINT32_MAX && (left == 1 || may_add))
			id = add_series(c, w);
	}
	free(w->is_other);
	w->is_other = NULL;
	c->folded++;
	return id == UINT32_MAX ? add_series(c, w) : id; /* it has no labels */
}

/* Counts active series again; series without recent rows make space for others. */
static void count_active(struct catalog *c, int64_t now_ns)
{
	if (now_ns >= c->counted_ns && now_ns - c->counted_ns < RECOUNT_NS)
		return;
	c->counted_ns = now_ns;
	c->active = 0;
	catalog_shares_release(c, now_ns);
	for (size_t i = 0; i < c->uses.n; i++) {
		struct series_use *u = &c->uses.v[i];
		u->is_active = u->is_active && now_ns - u->seen_ns < ACTIVE_NS;
		count_use(c, u);
	}
}

static void mark_active(struct catalog *c, uint32_t id, int64_t now_ns)
{
	struct series_use *u = &c->uses.v[id];
	bool was_active = u->is_active;

	u->is_active = true;
	u->seen_ns = now_ns;
	if (!was_active)
		count_use(c, u);
}

/* Whether all together leave no space for a series. id: UINT32_MAX if it does not exist. */
static bool is_catalog_full(const struct catalog *c, uint32_t id)
{
	return c->active >= c->max_series ||
	       (id == UINT32_MAX && catalog_size_bytes(c) > c->max_bytes);
}

/* Adds a series, or one that it is folded into. */
static uint32_t make_series(struct catalog *c, struct wanted_series *w, uint32_t id, int64_t now_ns)
{
	struct series_owner owner = catalog_owner(w->src, w->labels, w->n);
	struct series_share *full = catalog_share_full(c, owner);

	if (full)
		catalog_share_folded(c, full, w->src, w->labels, w->n, now_ns);
	if (full || (is_catalog_full(c, id) && !catalog_share_is_small(c, owner)))
		return fold_series(c, w, owner);
	return id == UINT32_MAX ? add_series(c, w) : id;
}

uint32_t catalog_resolve(struct catalog *c, const struct profile *src, uint32_t series,
			 int64_t now_ns)
{
	const struct series *s = &src->series.series.v[series];
	struct label_set set = src->series.sets.v[s->labels];
	struct wanted_series w = { .src = src,
				   .labels = src->series.labels.v + set.first,
				   .n = set.n,
				   .type = type_of(c, src, s->type),
				   .period = s->period > 0 ? s->period : 0 };

	count_active(c, now_ns);
	uint32_t id = find_series(c, &w);
	bool fits = id != UINT32_MAX && (c->uses.v[id].is_active || c->uses.v[id].is_other);
	if (!fits)
		id = make_series(c, &w, id, now_ns);
	mark_active(c, id, now_ns);
	return id;
}

bool catalog_use(struct catalog *c, uint32_t series, int64_t now_ns)
{
	count_active(c, now_ns);
	bool is_right = c->uses.v[series].is_active && !c->uses.v[series].is_other;
	mark_active(c, series, now_ns);
	return is_right;
}

void catalog_had(struct catalog *c, uint32_t series, uint64_t seq)
{
	c->uses.v[series].sequence = seq;
}

bool catalog_has(const struct catalog *c, uint32_t series)
{
	return series < c->p->series.series.n && !series_is_free(&c->p->series, series);
}

uint64_t catalog_version(const struct catalog *c)
{
	return c->version;
}

uint32_t catalog_count(const struct catalog *c)
{
	return c->p->series.series.n - c->waiting.v.n - c->free.v.n;
}

bool catalog_is_weighted(const struct catalog *c, uint32_t series)
{
	const struct series *s = &c->p->series.series.v[series];
	const struct type *t = &c->p->series.types.v[s->type];

	return s->period <= 0 && t->aggregation == AGG_SUM &&
	       strcmp(profile_str(c->p, t->sample_type), "samples") != 0;
}

/* --- writing ---------------------------------------------------------------------------------- */

static int put_chunk(void *ctx, enum chunk_type type, uint32_t flags, const void *payload,
		     size_t len, struct err *err)
{
	struct catalog *c = ctx;

	return chunk_table_add(c->db, type, flags, payload, len, err);
}

int catalog_write(struct catalog *c, const struct profile *p, struct chunk_writer *writer,
		  struct err *err)
{
	const struct chunk_out out = { .put = put_chunk, .ctx = c };

	return chunk_write(writer, p, CHUNK_CATALOG, &out, err);
}

/* A rewritten table has every series at its number and needs no rows in `place`. */
static int write_tables(struct catalog *c, struct err *err)
{
	bool is_rewrite = !c->writer;
	int rc = db_begin(c->db, err);

	if (!rc && is_rewrite) {
		c->writer = chunk_writer_new();
		rc = db_exec(c->db, "DELETE FROM chunk; DELETE FROM place", err);
	}
	if (!rc)
		rc = catalog_write(c, c->p, c->writer, err);
	if (!rc && !is_rewrite)
		rc = catalog_write_taken(c, err);
	return rc ? rc : db_commit(c->db, err);
}

int catalog_sync(struct catalog *c, struct err *err)
{
	struct err local;
	int rc;

	if (c->synced == c->p->series.series.n && !c->taken.v.n)
		return 0;
	rc = write_tables(c, err ? err : &local);
	if (rc) {
		db_rollback(c->db);
		chunk_writer_free(c->writer);
		c->writer = NULL;
		return rc;
	}
	c->synced = c->p->series.series.n;
	vec_clear(&c->taken.v);
	return 0;
}

uint64_t catalog_folded(const struct catalog *c)
{
	return c->folded;
}

uint64_t catalog_size_bytes(const struct catalog *c)
{
	return c->p->sink.ops->kept_bytes(&c->p->sink) + vec_size_bytes(&c->uses) +
	       map_size_bytes(&c->values) + map_size_bytes(&c->n_values) + catalog_shares_bytes(c);
}

uint64_t catalog_file_bytes(const struct catalog *c)
{
	return db_files_bytes(db_path(c->db));
}
