#include "store/names_db.h"

#include "base/buf.h"
#include "base/hash.h"
#include "base/mem.h"
#include "store/db.h"
#include "store/names_chunk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What names_db_add remembers; then it starts over. */
enum { SEEN_MAX = 1 << 20 };

struct names_db {
	struct db *db;
	struct map seen;      /* hashes of (mapping, offset, lines) that were offered */
	struct map used;      /* hash of a mapping's key → the last day that was noted */
	struct buf key, data; /* kept from call to call */
};

static const char *const objects[] = {
	"CREATE TABLE version(id INTEGER PRIMARY KEY, n INTEGER NOT NULL)",
	"CREATE TABLE mapping(id INTEGER PRIMARY KEY, key BLOB NOT NULL, day INTEGER NOT NULL)",
	"CREATE UNIQUE INDEX mapping_key ON mapping(key)",
	"CREATE INDEX mapping_day ON mapping(day)",
	"CREATE TABLE names(mapping INTEGER NOT NULL, first INTEGER NOT NULL, data BLOB NOT NULL)",
	"CREATE UNIQUE INDEX names_first ON names(mapping, first)",
	NULL,
};
static const struct db_schema schema = { DB_KIND_NAMES, 1, objects };

int names_db_open(const char *path, const struct names_db_opts *opts, struct names_db **out,
		  struct err *err)
{
	struct db_opts o = { .schema = &schema,
			     .access = opts->foreign     ? DB_FOREIGN
				       : opts->read_only ? DB_READ
							 : DB_WRITE,
			     .wal = true,
			     .durable = true,
			     .cache_bytes = opts->cache_bytes,
			     .vfs = opts->vfs };
	struct names_db *db = xcalloc(1, sizeof *db);
	int rc = db_open(path, &o, &db->db, err);

	if (rc) {
		free(db);
		return rc;
	}
	*out = db;
	return 0;
}

void names_db_close(struct names_db *db)
{
	if (!db)
		return;
	db_close(db->db);
	map_done(&db->seen);
	map_done(&db->used);
	buf_done(&db->key);
	buf_done(&db->data);
	free(db);
}

/* --- one value ------------------------------------------------------------------------------- */

/* 1: it is in *out, 0: there is none, else -errno. */
static int read_int(struct names_db *db, sqlite3_stmt *s, int64_t *out, struct err *err)
{
	int rc = db_step(db->db, s, err);

	if (rc > 0) {
		*out = sqlite3_column_int64(s, 0);
		sqlite3_reset(s);
	}
	return rc;
}

static int run(struct names_db *db, sqlite3_stmt *s, struct err *err)
{
	int rc = db_step(db->db, s, err);

	return rc < 0 ? rc : 0;
}

static int read_version(struct names_db *db, uint64_t *version, struct err *err)
{
	sqlite3_stmt *s = db_prepare(db->db, "SELECT n FROM version WHERE id=1", err);
	int64_t n = 0;
	int rc = s ? read_int(db, s, &n, err) : -EIO;

	*version = n;
	return rc < 0 ? rc : 0;
}

static int next_version(struct names_db *db, struct err *err)
{
	sqlite3_stmt *s = db_prepare(
		db->db, "INSERT INTO version VALUES(1,1) ON CONFLICT(id) DO UPDATE SET n=n+1", err);

	return s ? run(db, s, err) : -EIO;
}

/* --- mappings --------------------------------------------------------------------------------- */

static void add_u64(struct buf *b, uint64_t v)
{
	v = htole64(v);
	buf_add(b, &v, sizeof v);
}

/* What it is known by, in db->key. */
static void make_key(struct names_db *db, const struct profile *p, uint32_t mapping)
{
	const struct mapping *m = &p->frames.mappings.v[mapping];
	struct buf *b = &db->key;

	buf_clear(b);
	if (m->build_id_len) {
		buf_addc(b, 'B');
		buf_add(b, m->build_id, m->build_id_len);
		return;
	}
	buf_addc(b, m->build_id_text ? 'T' : 'F');
	if (!m->build_id_text) {
		add_u64(b, m->identity);
		add_u64(b, m->start);
		add_u64(b, m->offset);
	}
	uint32_t text = m->build_id_text ? m->build_id_text : m->name;
	buf_add(b, profile_str(p, text), strtab_len(&p->strings, text));
}

static uint64_t key_hash(const struct names_db *db)
{
	return hash_bytes(db->key.data, db->key.len);
}

static int find_mapping(struct names_db *db, int64_t *id, struct err *err)
{
	sqlite3_stmt *s = db_prepare(db->db, "SELECT id FROM mapping WHERE key=?1", err);

	if (!s)
		return -EIO;
	sqlite3_bind_blob(s, 1, db->key.data, (int)db->key.len, SQLITE_STATIC);
	return read_int(db, s, id, err);
}

static int make_mapping(struct names_db *db, int32_t day, int64_t *id, struct err *err)
{
	sqlite3_stmt *s = db_prepare(
		db->db,
		"INSERT INTO mapping(key,day) VALUES(?1,?2) ON CONFLICT(key) DO UPDATE SET "
		"day=max(day,?2) RETURNING id",
		err);
	int rc;

	if (!s)
		return -EIO;
	sqlite3_bind_blob(s, 1, db->key.data, (int)db->key.len, SQLITE_STATIC);
	sqlite3_bind_int(s, 2, day);
	while ((rc = db_step(db->db, s, err)) > 0)
		*id = sqlite3_column_int64(s, 0);
	return rc;
}

static bool is_used(struct names_db *db, int32_t day)
{
	const uint32_t *noted = map_get(&db->used, key_hash(db));

	return noted && (int32_t)*noted >= day;
}

static int use_mapping(struct names_db *db, int32_t day, struct err *err)
{
	sqlite3_stmt *s =
		db_prepare(db->db, "UPDATE mapping SET day=?2 WHERE key=?1 AND day<?2", err);

	if (!s)
		return -EIO;
	sqlite3_bind_blob(s, 1, db->key.data, (int)db->key.len, SQLITE_STATIC);
	sqlite3_bind_int(s, 2, day);
	return run(db, s, err);
}

/* Of the mappings in p, in one transaction, those that are not noted for this day. */
static int use_mappings(struct names_db *db, const struct profile *p, int32_t day, struct err *err)
{
	int rc = 0;

	for (uint32_t m = 0; rc == 0 && m < p->frames.mappings.n; m++) {
		make_key(db, p, m);
		if (!is_used(db, day))
			rc = use_mapping(db, day, err);
	}
	return rc;
}

static void note_used(struct names_db *db, const struct profile *p, int32_t day)
{
	for (uint32_t m = 0; m < p->frames.mappings.n; m++) {
		make_key(db, p, m);
		if (!is_used(db, day))
			map_put(&db->used, key_hash(db), (uint32_t)day);
	}
}

static bool all_used(struct names_db *db, const struct profile *p, int32_t day)
{
	for (uint32_t m = 0; m < p->frames.mappings.n; m++) {
		make_key(db, p, m);
		if (!is_used(db, day))
			return false;
	}
	return true;
}

int names_db_use(struct names_db *db, const struct profile *p, int32_t day, struct err *err)
{
	if (all_used(db, p, day))
		return 0;
	int rc = db_begin(db->db, err);
	if (rc)
		return rc;
	rc = use_mappings(db, p, day, err);
	if (rc == 0)
		rc = db_commit(db->db, err);
	else
		db_rollback(db->db);
	if (rc == 0)
		note_used(db, p, day);
	return rc;
}

/* --- chunks ----------------------------------------------------------------------------------- */

/* SQLite's integers have a sign. */
static int64_t to_column(uint64_t offset)
{
	return (int64_t)(offset ^ 1ull << 63);
}

static uint64_t from_column(int64_t first)
{
	return (uint64_t)first ^ 1ull << 63;
}

/* A chunk as it is in the table, and up to where its offsets may go. */
struct stretch {
	int64_t row; /* 0: there is none yet */
	uint64_t first, last;
	struct names_chunk chunk;
};

static void stretch_done(struct stretch *t)
{
	names_chunk_done(&t->chunk);
}

/* 1: a chunk is in t, 0: there was none. */
static int read_chunk(struct names_db *db, sqlite3_stmt *s, struct stretch *t, struct err *err)
{
	int rc = db_step(db->db, s, err);

	if (rc <= 0)
		return rc;
	t->row = sqlite3_column_int64(s, 0);
	t->first = from_column(sqlite3_column_int64(s, 1));
	if (names_chunk_decode(sqlite3_column_blob(s, 2), sqlite3_column_bytes(s, 2), &t->chunk,
			       NULL)) { /* what is damaged is as if it were not there */
		names_chunk_done(&t->chunk);
		names_chunk_init(&t->chunk);
	}
	sqlite3_reset(s);
	return 1;
}

/* Sets t->last: the next chunk begins behind it. */
static int read_last(struct names_db *db, int64_t mapping, struct stretch *t, struct err *err)
{
	sqlite3_stmt *s = db_prepare(db->db,
				     "SELECT first FROM names WHERE mapping=?1 AND first>?2 ORDER "
				     "BY first LIMIT 1",
				     err);
	int64_t next;

	if (!s)
		return -EIO;
	sqlite3_bind_int64(s, 1, mapping);
	sqlite3_bind_int64(s, 2, to_column(t->first));
	int rc = read_int(db, s, &next, err);
	t->last = rc > 0 ? from_column(next) - 1 : UINT64_MAX;
	return rc < 0 ? rc : 0;
}

static sqlite3_stmt *chunk_before(struct names_db *db, struct err *err)
{
	return db_prepare(db->db,
			  "SELECT rowid, first, data FROM names WHERE mapping=?1 AND first<=?2 "
			  "ORDER BY first DESC LIMIT 1",
			  err);
}

static sqlite3_stmt *chunk_behind(struct names_db *db, struct err *err)
{
	return db_prepare(db->db,
			  "SELECT rowid, first, data FROM names WHERE mapping=?1 AND first>?2 "
			  "ORDER BY first LIMIT 1",
			  err);
}

/* The chunk in which this offset is, or would be: the first one has what is before it, too. t: to be given to stretch_done whatever is
 * returned. */
static int find_stretch(struct names_db *db, int64_t mapping, uint64_t offset, struct stretch *t,
			struct err *err)
{
	sqlite3_stmt *(*const looks[])(struct names_db *, struct err *) = { chunk_before,
									    chunk_behind };
	int rc = 0;

	*t = (struct stretch){ .last = UINT64_MAX };
	names_chunk_init(&t->chunk);
	for (int i = 0; rc == 0 && i < 2; i++) {
		sqlite3_stmt *s = looks[i](db, err);

		if (!s)
			return -EIO;
		sqlite3_bind_int64(s, 1, mapping);
		sqlite3_bind_int64(s, 2, to_column(offset));
		rc = read_chunk(db, s, t, err);
	}
	return rc > 0 ? read_last(db, mapping, t, err) : rc;
}

static int delete_chunk(struct names_db *db, int64_t row, struct err *err)
{
	sqlite3_stmt *s = db_prepare(db->db, "DELETE FROM names WHERE rowid=?1", err);

	if (!s)
		return -EIO;
	sqlite3_bind_int64(s, 1, row);
	return run(db, s, err);
}

static int insert_chunk(struct names_db *db, int64_t mapping, const struct names_chunk *c,
			struct err *err)
{
	sqlite3_stmt *s =
		db_prepare(db->db, "INSERT INTO names(mapping,first,data) VALUES(?1,?2,?3)", err);

	if (!s)
		return -EIO;
	sqlite3_bind_int64(s, 1, mapping);
	sqlite3_bind_int64(s, 2, to_column(c->entries.v[0].offset));
	sqlite3_bind_blob64(s, 3, db->data.data, db->data.len, SQLITE_STATIC);
	return run(db, s, err);
}

/* --- adding ----------------------------------------------------------------------------------- */

/* Names that are new, or look so. */
struct offer {
	uint32_t mapping;
	uint64_t offset;
	uint32_t frame;
	uint64_t hash; /* for db->seen */
};
struct offers {
	VEC(struct offer) v;
};

static struct names_lines frame_lines(const struct profile *p, uint32_t frame)
{
	struct names_lines l = { .strings = &p->strings, .names = &p->names };

	l.n = names_get(&p->names, frame, &l.lines);
	return l;
}

static uint64_t string_hash(const struct profile *p, uint32_t id)
{
	return hash_bytes(profile_str(p, id), strtab_len(&p->strings, id));
}

static uint64_t *hash_functions(const struct profile *p)
{
	uint64_t *hashes = xcalloc(p->names.functions.n, sizeof *hashes);

	for (size_t i = 0; i < p->names.functions.n; i++) {
		const struct function *f = &p->names.functions.v[i];

		hashes[i] = hash_mix(hash_mix(string_hash(p, f->name), string_hash(p, f->linkage)),
				     hash_mix(string_hash(p, f->file), f->start_line));
	}
	return hashes;
}

static uint64_t *hash_mappings(struct names_db *db, const struct profile *p)
{
	uint64_t *hashes = xcalloc(p->frames.mappings.n, sizeof *hashes);

	for (uint32_t m = 0; m < p->frames.mappings.n; m++) {
		make_key(db, p, m);
		hashes[m] = key_hash(db);
	}
	return hashes;
}

static uint64_t hash_lines(const struct names_lines *l, const uint64_t *functions, uint64_t place)
{
	for (uint32_t i = 0; i < l->n; i++) {
		const struct line *x = &l->lines[i];

		place = hash_mix(place, hash_mix(functions[x->function],
						 (uint64_t)x->line << 32 | x->column));
	}
	return place;
}

static int by_place(const void *a, const void *b)
{
	const struct offer *x = a, *y = b;

	if (x->mapping != y->mapping)
		return x->mapping < y->mapping ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* The names in p that were not offered lately, by mapping and offset. */
static void collect_offers(struct names_db *db, const struct profile *p, struct offers *out)
{
	uint64_t *functions = hash_functions(p), *mappings = hash_mappings(db, p);

	for (uint32_t i = 0; i < p->frames.frames.n; i++) {
		const struct frame *f = &p->frames.frames.v[i];
		struct names_lines l = frame_lines(p, i);

		if (f->mapping == MAPPING_NONE || l.n == 0)
			continue;
		struct offer o = { f->mapping, f->offset, i, 0 };
		o.hash = hash_lines(&l, functions, hash_mix(mappings[f->mapping], f->offset));
		if (!map_get(&db->seen, o.hash))
			vec_push(&out->v, o);
	}
	if (out->v.n)
		qsort(out->v.v, out->v.n, sizeof *out->v.v, by_place);
	free(functions);
	free(mappings);
}

static void note_seen(struct names_db *db, const struct offers *offers)
{
	if (db->seen.n + offers->v.n > SEEN_MAX)
		map_clear(&db->seen);
	for (size_t i = 0; i < offers->v.n; i++)
		map_put(&db->seen, offers->v.v[i].hash, 1);
}

/* Of an old list and a newer one; either may be empty. */
static const struct names_lines *pick_lines(const struct names_lines *old,
					    const struct names_lines *newer)
{
	return names_lines_less(newer, old) ? old : newer;
}

/* Both, ascending, in `into`; whether that is something else than the old ones. */
static bool merge_offers(const struct names_chunk *old, const struct profile *p,
			 const struct offer *offers, size_t n, struct names_chunk *into)
{
	const struct names_entry *e = old->entries.v, *end = e + old->entries.n;
	bool changed = false;

	for (size_t i = 0; i < n || e < end;) {
		bool has_old = e < end && (i == n || e->offset <= offers[i].offset);
		bool has_new = i < n && (e == end || offers[i].offset <= e->offset);
		uint64_t offset = has_old ? e->offset : offers[i].offset;
		struct names_lines a = { 0 }, b = { 0 };

		if (has_old)
			a = names_chunk_lines(old, e++);
		if (has_new)
			b = frame_lines(p, offers[i++].frame);
		const struct names_lines *best = pick_lines(&a, &b);
		changed |= best == &b && !(has_old && names_lines_equal(&a, &b));
		names_chunk_append(into, offset, best);
	}
	return changed;
}

static void append_range(const struct names_chunk *from, size_t first, size_t n,
			 struct names_chunk *into)
{
	for (size_t i = first; i < first + n; i++) {
		struct names_lines l = names_chunk_lines(from, &from->entries.v[i]);

		names_chunk_append(into, from->entries.v[i].offset, &l);
	}
}

/* In as many pieces as it needs. */
static int write_chunk(struct names_db *db, int64_t mapping, const struct names_chunk *c,
		       struct err *err)
{
	if (c->entries.n <= NAMES_CHUNK_ENTRIES && names_chunk_encode(c, &db->data))
		return insert_chunk(db, mapping, c, err);

	size_t half = c->entries.n / 2, from[] = { 0, half, c->entries.n };
	int rc = 0;
	for (int i = 0; rc == 0 && i < 2; i++) {
		struct names_chunk part;

		names_chunk_init(&part);
		append_range(c, from[i], from[i + 1] - from[i], &part);
		rc = write_chunk(db, mapping, &part, err);
		names_chunk_done(&part);
	}
	return rc;
}

/* Adds to one chunk those of the offers, of one mapping, that belong to it. *taken: how many that are. */
static int add_to_stretch(struct names_db *db, const struct profile *p, int64_t mapping,
			  const struct offer *offers, size_t n, size_t *taken, bool *changed,
			  struct err *err)
{
	struct names_chunk merged;
	struct stretch t;
	int rc = find_stretch(db, mapping, offers[0].offset, &t, err);

	names_chunk_init(&merged);
	if (rc == 0) {
		for (*taken = 1; *taken < n && offers[*taken].offset <= t.last;)
			++*taken;
		if (merge_offers(&t.chunk, p, offers, *taken, &merged)) {
			*changed = true;
			if (t.row)
				rc = delete_chunk(db, t.row, err);
			if (rc == 0)
				rc = write_chunk(db, mapping, &merged, err);
		}
	}
	names_chunk_done(&merged);
	stretch_done(&t);
	return rc;
}

static int add_to_mapping(struct names_db *db, const struct profile *p, const struct offer *offers,
			  size_t n, int32_t day, bool *changed, struct err *err)
{
	int64_t mapping = 0;
	size_t taken = 0;

	make_key(db, p, offers[0].mapping);
	int rc = make_mapping(db, day, &mapping, err);
	for (size_t i = 0; rc == 0 && i < n; i += taken)
		rc = add_to_stretch(db, p, mapping, offers + i, n - i, &taken, changed, err);
	return rc;
}

static size_t run_length(const struct offer *offers, size_t n)
{
	size_t i = 1;

	while (i < n && offers[i].mapping == offers[0].mapping)
		i++;
	return i;
}

static int add_offers(struct names_db *db, const struct profile *p, const struct offers *offers,
		      int32_t day, struct err *err)
{
	bool changed = false;
	int rc = 0;

	for (size_t i = 0, n; rc == 0 && i < offers->v.n; i += n) {
		n = run_length(offers->v.v + i, offers->v.n - i);
		rc = add_to_mapping(db, p, offers->v.v + i, n, day, &changed, err);
	}
	if (rc == 0)
		rc = use_mappings(db, p, day, err);
	if (rc == 0 && changed)
		rc = next_version(db, err);
	return rc;
}

int names_db_add(struct names_db *db, const struct profile *p, int32_t day, struct err *err)
{
	struct offers offers = { 0 };
	int rc = 0;

	collect_offers(db, p, &offers);
	if (offers.v.n || !all_used(db, p, day)) {
		rc = db_begin(db->db, err);
		if (rc == 0) {
			rc = add_offers(db, p, &offers, day, err);
			if (rc)
				db_rollback(db->db);
			else
				rc = db_commit(db->db, err);
		}
	}
	if (rc == 0) {
		note_seen(db, &offers);
		note_used(db, p, day);
	}
	vec_done(&offers.v);
	return rc;
}

/* --- collecting ------------------------------------------------------------------------------- */

static int delete_before(struct names_db *db, const char *sql, int32_t day, struct err *err)
{
	sqlite3_stmt *s = db_prepare(db->db, sql, err);

	if (!s)
		return -EIO;
	sqlite3_bind_int(s, 1, day);
	return run(db, s, err);
}

int names_db_collect(struct names_db *db, int32_t before_day, struct err *err)
{
	static const char names[] = "DELETE FROM names WHERE mapping IN "
				    "(SELECT id FROM mapping WHERE day<?1)";
	static const char mappings[] = "DELETE FROM mapping WHERE day<?1";
	int rc = db_begin(db->db, err);

	if (rc)
		return rc;
	rc = delete_before(db, names, before_day, err);
	if (rc == 0)
		rc = delete_before(db, mappings, before_day, err);
	if (rc) {
		db_rollback(db->db);
		return rc;
	}
	map_clear(&db->seen); /* they may come again */
	map_clear(&db->used);
	return db_commit(db->db, err);
}

/* --- giving names ----------------------------------------------------------------------------- */

void names_applied_done(struct names_applied *a)
{
	vec_done(&a->frames);
	*a = (struct names_applied){ 0 };
}

/* Everything is to be asked again when the database has changed, new frames for the first time. */
static void refresh_applied(struct names_applied *a, uint64_t version, size_t frames)
{
	if (a->version != version)
		a->frames.n = a->n = 0;
	a->version = version;
	vec_reserve(&a->frames, frames);
	while (a->frames.n < frames)
		a->frames.v[a->frames.n++] = false;
}

static void ask(const struct profile *dict, struct names_applied *a, uint32_t frame,
		struct offers *out)
{
	const struct frame *f = &dict->frames.frames.v[frame];

	if (a->frames.v[frame])
		return;
	a->frames.v[frame] = true;
	a->n++;
	if (f->mapping != MAPPING_NONE)
		vec_push(&out->v, (struct offer){ f->mapping, f->offset, frame, 0 });
}

/* Those asked for that do not have this version's names. */
static void collect_asked(const struct profile *dict, struct names_applied *a,
			  const uint32_t *frames, size_t n, struct offers *out)
{
	if (a->n == dict->frames.frames.n)
		return;
	if (!frames)
		n = dict->frames.frames.n;
	for (size_t i = 0; i < n; i++)
		ask(dict, a, frames ? frames[i] : i, out);
	if (out->v.n)
		qsort(out->v.v, out->v.n, sizeof *out->v.v, by_place);
}

static void name_frame(struct profile *dict, struct names_copy *copy, const struct offer *asked)
{
	const struct names_entry *e = names_chunk_find(copy->from, asked->offset);
	struct line lines[NAMES_MAX_INLINE];

	if (!e)
		return;
	names_copy_lines(copy, e, lines);
	names_set(&dict->names, asked->frame, lines, e->run.n);
}

/* Those that are in one chunk. Returns how many that are. */
static size_t name_stretch(struct profile *dict, const struct stretch *t, const struct offer *asked,
			   size_t n)
{
	struct names_copy copy;
	size_t i = 0;

	names_copy_init(&copy, &t->chunk, &dict->strings, &dict->names);
	for (; i < n && asked[i].offset <= t->last; i++)
		name_frame(dict, &copy, &asked[i]);
	names_copy_done(&copy);
	return i;
}

static int apply_mapping(struct names_db *db, struct profile *dict, const struct offer *asked,
			 size_t n, struct err *err)
{
	int64_t mapping = 0;

	make_key(db, dict, asked[0].mapping);
	int rc = find_mapping(db, &mapping, err);
	if (rc <= 0)
		return rc;
	rc = 0;
	for (size_t i = 0; rc == 0 && i < n;) {
		struct stretch t;

		rc = find_stretch(db, mapping, asked[i].offset, &t, err);
		if (rc == 0)
			i += name_stretch(dict, &t, asked + i, n - i);
		stretch_done(&t);
	}
	return rc;
}

static int apply_asked(struct names_db *db, struct profile *dict, const struct offers *asked,
		       struct err *err)
{
	int rc = 0;

	for (size_t i = 0, n; rc == 0 && i < asked->v.n; i += n) {
		n = run_length(asked->v.v + i, asked->v.n - i);
		rc = apply_mapping(db, dict, asked->v.v + i, n, err);
	}
	return rc;
}

/* In one read transaction, so that version and names belong together. */
int names_db_apply(struct names_db *db, struct profile *dict, struct names_applied *applied,
		   const uint32_t *frames, size_t n, struct err *err)
{
	struct offers asked = { 0 };
	uint64_t version = 0;
	int rc = db_exec(db->db, "BEGIN", err);

	if (rc == 0)
		rc = read_version(db, &version, err);
	if (rc == 0) {
		refresh_applied(applied, version, dict->frames.frames.n);
		collect_asked(dict, applied, frames, n, &asked);
		rc = apply_asked(db, dict, &asked, err);
	}
	if (rc)
		names_applied_done(applied);
	db_rollback(db->db);
	vec_done(&asked.v);
	return rc;
}
