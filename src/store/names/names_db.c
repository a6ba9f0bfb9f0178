/* Reads and writes names, with a version counter. */
#include "store/names/names_db_state.h"

#include "base/buf.h"
#include "base/hash.h"
#include "base/mem.h"
#include "profile/frame.h"
#include "profile/profile.h"
#include "store/names/names_db.h"

#include <stdlib.h>
#include <string.h>

/* --- recently seen hashes --- */

enum { SEEN_SET = 8, CACHE_LINE_BYTES = 64 };
_Static_assert(SEEN_SET * sizeof(uint64_t) == CACHE_LINE_BYTES, "a set is a cache line");

void names_seen_init(struct names_seen *s, uint64_t bytes)
{
	*s = (struct names_seen){ .sets = 1 };
	while (s->sets * 2 * CACHE_LINE_BYTES <= bytes)
		s->sets *= 2;
	s->room = xcalloc((s->sets + 1) * SEEN_SET, sizeof *s->room);
	s->slots = s->room +
		   (CACHE_LINE_BYTES - (uintptr_t)s->room % CACHE_LINE_BYTES) / sizeof *s->room;
}

void names_seen_done(struct names_seen *s)
{
	free(s->room);
	*s = (struct names_seen){ 0 };
}

void names_seen_clear(struct names_seen *s)
{
	memset(s->slots, 0, s->sets * CACHE_LINE_BYTES);
}

static uint64_t *set_of(const struct names_seen *s, uint64_t hash)
{
	return s->slots + (hash & (s->sets - 1)) * SEEN_SET;
}

void names_seen_prefetch(const struct names_seen *s, uint64_t hash)
{
	__builtin_prefetch(set_of(s, hash));
}

/* Returns the hash's position in its set, or the last one if missing. Slots of 0 are free. */
static int place_of(const uint64_t *set, uint64_t hash)
{
	int at = 0;

	while (at < SEEN_SET - 1 && set[at] != hash)
		at++;
	return at;
}

static void move_to_front(uint64_t *set, int at, uint64_t hash)
{
	memmove(set + 1, set, at * sizeof *set);
	set[0] = hash;
}

bool names_seen_has(struct names_seen *s, uint64_t hash)
{
	uint64_t *set = set_of(s, hash), key = hash ? hash : 1;
	int at = place_of(set, key);
	bool known = set[at] == key;

	if (known)
		move_to_front(set, at, key);
	return known;
}

bool names_seen_put(struct names_seen *s, uint64_t hash)
{
	uint64_t *set = set_of(s, hash), key = hash ? hash : 1;
	int at = place_of(set, key);
	bool is_new = set[at] != key;

	move_to_front(set, at, key);
	return is_new;
}

uint64_t names_seen_bytes(const struct names_seen *s)
{
	return (s->sets + 1) * CACHE_LINE_BYTES;
}

/* --- the database --- */

/* Number of mappings whose days are cached; then the cache is emptied. */
enum { USED_MAX = 1 << 16, SEEN_BYTES = 1 << 20 };

int names_db_open(const char *path, const struct names_db_opts *opts, struct names_db **out,
		  struct err *err)
{
	struct db_opts o = { .schema = &names_schema,
			     .access = opts->foreign     ? DB_FOREIGN
				       : opts->read_only ? DB_READ
							 : DB_WRITE,
			     .wal = true,
			     .durable = true,
			     .shrinks = true,
			     .cache_bytes = opts->cache_bytes,
			     .vfs = opts->vfs };
	struct names_db *db = xcalloc(1, sizeof *db);
	int rc = db_open(path, &o, &db->db, err);

	if (rc) {
		free(db);
		return rc;
	}
	db->opts = *opts;
	if (!db->opts.reader)
		db->opts.reader = NAMES_READER;
	db->first_sequence = UINT64_MAX;
	names_gathered_init(&db->gathered);
	*out = db;
	return 0;
}

void names_db_close(struct names_db *db)
{
	if (!db)
		return;
	db_close(db->db);
	names_gathered_done(&db->gathered);
	names_seen_done(&db->seen);
	map_done(&db->used);
	buf_done(&db->key);
	free(db);
}

int names_db_verify(struct names_db *db, struct err *err)
{
	return db_verify(db->db, err);
}

/* --- mappings --------------------------------------------------------------------------------- */

static void add_u64(struct buf *b, uint64_t v)
{
	v = htole64(v);
	buf_add(b, &v, sizeof v);
}

/* The last reader whose keys have no number. Numbers are below the letters. */
enum { READER_WITHOUT = 2, READER_MAX = 'A' - 1 };
_Static_assert((int)NAMES_READER <= (int)READER_MAX, "numbers differ from letters");

static uint32_t key_reader(struct names_key key)
{
	uint8_t first = *(const uint8_t *)key.data;

	return first <= READER_MAX ? first : READER_WITHOUT;
}

bool names_key_next(struct names_key key, uint32_t *reader, struct buf *b, struct names_key *out)
{
	uint32_t own = key_reader(key), skipped = own > READER_WITHOUT;

	*reader = *reader ? *reader + 1 : READER_WITHOUT;
	buf_clear(b);
	if (*reader > READER_WITHOUT)
		buf_addc(b, *reader);
	buf_add(b, (const char *)key.data + skipped, key.len - skipped);
	*out = (struct names_key){ b->data, b->len };
	return *reader <= own;
}

struct names_key names_db_key(struct names_db *db, const struct profile *p, uint32_t mapping)
{
	const struct mapping *m = &p->frames.mappings.v[mapping];
	struct buf *b = &db->key;

	buf_clear(b);
	if (db->opts.reader > READER_WITHOUT)
		buf_addc(b, db->opts.reader);
	if (m->build_id_len) {
		buf_addc(b, 'B');
		buf_add(b, m->build_id, m->build_id_len);
		return (struct names_key){ b->data, b->len };
	}
	buf_addc(b, m->build_id_text ? 'T' : 'F');
	if (!m->build_id_text) {
		add_u64(b, m->identity);
		add_u64(b, m->start);
		add_u64(b, m->offset);
	}
	uint32_t text = m->build_id_text ? m->build_id_text : m->name;
	buf_add(b, profile_str(p, text), strtab_len(&p->strings, text));
	return (struct names_key){ b->data, b->len };
}

static void note_first(struct names_db *db, uint64_t seq)
{
	if (db->first_sequence == UINT64_MAX)
		db->first_sequence = seq;
}

/* Returns the hash of the mapping's key. */
static uint64_t use_mapping(struct names_db *db, const struct profile *p, uint32_t mapping,
			    int32_t day, uint64_t seq, bool *is_new)
{
	struct names_key key = names_db_key(db, p, mapping);
	uint64_t hash = hash_bytes(key.data, key.len);
	const uint32_t *noted = map_get(&db->used, hash);

	*is_new = !noted || (int32_t)*noted < day;
	if (!*is_new)
		return hash;
	if (db->used.n == USED_MAX)
		map_clear(&db->used);
	map_put(&db->used, hash, (uint32_t)day);
	names_gathered_use(&db->gathered, key.data, key.len, day);
	note_first(db, seq);
	return hash;
}

static uint64_t *use_mappings(struct names_db *db, const struct profile *p, int32_t day,
			      uint64_t seq, struct names_offer *out)
{
	uint64_t *hashes = xcalloc(p->frames.mappings.n + 1, sizeof *hashes);
	bool is_new;

	for (uint32_t m = 0; m < p->frames.mappings.n; m++) {
		hashes[m] = use_mapping(db, p, m, day, seq, &is_new);
		if (out && is_new)
			vec_push(&out->used, m);
	}
	return hashes;
}

void names_db_use(struct names_db *db, const struct profile *p, int32_t day, uint64_t seq)
{
	pthread_mutex_lock(&db->gathered.lock);
	free(use_mappings(db, p, day, seq, NULL));
	pthread_mutex_unlock(&db->gathered.lock);
}

/* --- adding ----------------------------------------------------------------------------------- */

/* The names of a batch, and the hashes of their functions and mappings. */
struct names_hashing {
	struct names_db *db;
	const struct profile *p;
	uint64_t *functions, *mappings;
};

/* A group of frames with names, whose cache misses overlap. */
enum { LOOK_BATCH = 64, TAKE_AHEAD = 8 };
struct names_look {
	struct names_fresh v[LOOK_BATCH];
	uint32_t n;
};

static struct names_lines frame_lines(const struct profile *p, uint32_t frame)
{
	struct names_lines l = { .strings = &p->strings, .names = &p->names };

	l.n = names_get(&p->names, frame, &l.lines);
	return l;
}

static uint64_t string_hash(const struct profile *p, uint32_t id)
{
	return id ? hash_bytes(profile_str(p, id), strtab_len(&p->strings, id)) : 0;
}

static uint64_t *hash_functions(const struct profile *p)
{
	uint64_t *hashes = xcalloc(p->names.functions.n + 1, sizeof *hashes);

	for (size_t i = 0; i < p->names.functions.n; i++) {
		const struct function *f = &p->names.functions.v[i];

		hashes[i] = hash_mix(hash_mix(string_hash(p, f->name), string_hash(p, f->linkage)),
				     hash_mix(string_hash(p, f->file), f->start_line));
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

static void pick_fresh(struct names_db *db, struct names_look *look, struct names_offer *out)
{
	for (uint32_t i = 0; i < look->n; i++)
		if (!names_seen_has(&db->seen, look->v[i].hash))
			vec_push(&out->fresh, look->v[i]);
	look->n = 0;
}

static void find_fresh(const struct names_hashing *h, struct names_offer *out)
{
	struct names_look look = { .n = 0 };

	for (uint32_t i = 0; i < h->p->frames.frames.n; i++) {
		const struct frame *f = &h->p->frames.frames.v[i];
		struct names_lines l = frame_lines(h->p, i);

		if (f->mapping == MAPPING_NONE || l.n == 0)
			continue;
		uint64_t place = hash_mix(h->mappings[f->mapping], f->offset);
		uint64_t hash = hash_lines(&l, h->functions, place);
		look.v[look.n++] = (struct names_fresh){ i, hash };
		names_seen_prefetch(&h->db->seen, hash);
		if (look.n == LOOK_BATCH)
			pick_fresh(h->db, &look, out);
	}
	pick_fresh(h->db, &look, out);
}

void names_db_offer(struct names_db *db, const struct profile *p, int32_t day, uint64_t seq,
		    struct names_offer *out)
{
	struct names_hashing h = { .db = db, .p = p, .functions = hash_functions(p) };

	if (!db->seen.slots)
		names_seen_init(&db->seen, db->opts.seen_bytes ?: SEEN_BYTES);
	*out = (struct names_offer){ .p = p, .day = day };
	pthread_mutex_lock(&db->gathered.lock);
	h.mappings = use_mappings(db, p, day, seq, out);
	pthread_mutex_unlock(&db->gathered.lock);
	find_fresh(&h, out);
	free(h.functions);
	free(h.mappings);
}

void names_offer_done(struct names_offer *o)
{
	vec_done(&o->fresh);
	vec_done(&o->used);
	*o = (struct names_offer){ 0 };
}

bool names_offer_is_all(const struct names_offer *o)
{
	const struct profile *p = o->p;
	size_t frames = p->frames.frames.n, others = frames / 8;

	return o->fresh.n + others >= frames &&
	       p->strings.all.n <= 3 * p->names.functions.n + 2 * p->frames.mappings.n + others;
}

/* State of names_db_take. */
struct names_taking {
	struct names_db *db;
	const struct names_offer *o;
	VEC(uint32_t) frames; /* the ones that no earlier batch had */
	uint32_t *mappings;   /* the gathered mapping by the profile's; 0: not looked up yet */
};

static void pick_frames(struct names_taking *t)
{
	struct names_seen *seen = &t->db->seen;
	const struct names_fresh *fresh = t->o->fresh.v;
	size_t n = t->o->fresh.n;

	vec_reserve(&t->frames, n);
	for (size_t i = 0; i < n; i++) {
		if (i + TAKE_AHEAD < n)
			names_seen_prefetch(seen, fresh[i + TAKE_AHEAD].hash);
		if (names_seen_put(seen, fresh[i].hash))
			t->frames.v[t->frames.n++] = fresh[i].frame;
	}
}

static void take_frame(struct names_taking *t, uint32_t frame, const struct line *lines, uint32_t n)
{
	const struct frame *f = &t->o->p->frames.frames.v[frame];
	struct names_gathered *g = &t->db->gathered;
	uint32_t *mapping = &t->mappings[f->mapping];

	if (!*mapping) {
		struct names_key key = names_db_key(t->db, t->o->p, f->mapping);
		*mapping = names_gathered_use(g, key.data, key.len, t->o->day);
	}
	names_gathered_put(g, *mapping, f->offset, lines, n);
}

/* Looks each function and string up in memory. */
static void take_some(struct names_taking *t)
{
	const struct profile *p = t->o->p;
	struct names_gathered *g = &t->db->gathered;
	struct line there[NAMES_MAX_INLINE];
	struct names_copy copy;

	names_copy_init(&copy, &p->strings, &p->names);
	names_copy_to(&copy, &g->strings, &g->names);
	for (size_t i = 0; i < t->frames.n; i++) {
		struct names_lines lines = frame_lines(p, t->frames.v[i]);

		names_copy_lines(&copy, &lines, there);
		take_frame(t, t->frames.v[i], there, lines.n);
	}
	names_copy_done(&copy);
}

static void take_all(struct names_taking *t)
{
	const struct profile *p = t->o->p;
	struct line there[NAMES_MAX_INLINE];
	struct names_gathered *g = &t->db->gathered;
	uint32_t by = names_gathered_append(g, &p->strings, &p->names);

	vec_reserve(&g->entries, g->entries.n + t->frames.n);
	vec_reserve(&g->names.lines, g->names.lines.n + p->names.lines.n);
	for (size_t i = 0; i < t->frames.n; i++) {
		struct names_lines lines = frame_lines(p, t->frames.v[i]);

		for (uint32_t k = 0; k < lines.n; k++) {
			there[k] = lines.lines[k];
			there[k].function += by;
		}
		take_frame(t, t->frames.v[i], there, lines.n);
	}
}

static void take_fresh(struct names_db *db, const struct names_offer *o)
{
	struct names_taking t = { .db = db, .o = o };

	t.mappings = xcalloc(o->p->frames.mappings.n + 1, sizeof *t.mappings);
	pick_frames(&t);
	if (t.frames.n == o->fresh.n && names_offer_is_all(o))
		take_all(&t);
	else
		take_some(&t);
	vec_done(&t.frames);
	free(t.mappings);
}

void names_db_take(struct names_db *db, const struct names_offer *o, uint64_t seq)
{
	if (o->fresh.n == 0)
		return;
	note_first(db, seq);
	pthread_mutex_lock(&db->gathered.lock);
	take_fresh(db, o);
	pthread_mutex_unlock(&db->gathered.lock);
}

void names_db_forget_offers(struct names_db *db)
{
	pthread_mutex_lock(&db->gathered.lock);
	map_clear(&db->used);
	db->epoch++;
	pthread_mutex_unlock(&db->gathered.lock);
}

uint64_t names_db_epoch(const struct names_db *db)
{
	return db->epoch;
}

void names_db_add(struct names_db *db, const struct profile *p, int32_t day, uint64_t seq)
{
	struct names_offer offer;

	names_db_offer(db, p, day, seq, &offer);
	names_db_take(db, &offer, seq);
	names_offer_done(&offer);
}

uint64_t names_db_first_sequence(const struct names_db *db)
{
	return db->first_sequence;
}

static uint64_t gathered_bytes(const struct names_db *db)
{
	return names_gathered_is_empty(&db->gathered) ? 0 : names_gathered_bytes(&db->gathered);
}

uint64_t names_db_gathered_bytes(struct names_db *db)
{
	pthread_mutex_lock(&db->gathered.lock);
	uint64_t bytes = gathered_bytes(db);
	pthread_mutex_unlock(&db->gathered.lock);
	return bytes;
}

uint64_t names_db_memory_bytes(struct names_db *db)
{
	pthread_mutex_lock(&db->gathered.lock);
	uint64_t bytes = gathered_bytes(db) + map_size_bytes(&db->used) +
			 (db->seen.slots ? names_seen_bytes(&db->seen) : 0);
	pthread_mutex_unlock(&db->gathered.lock);
	return bytes;
}

/* --- writing ---------------------------------------------------------------------------------- */

static int commit(struct names_db *db, int rc, struct err *err)
{
	if (rc == 0)
		rc = db_commit(db->db, err);
	else
		db_rollback(db->db);
	return rc;
}

int names_db_write(struct names_db *db, struct err *err)
{
	if (names_gathered_is_empty(&db->gathered))
		return 0;
	int rc = db_begin(db->db, err);
	if (rc)
		return rc;
	rc = commit(db, names_write_all(db, err), err);
	if (rc)
		return rc;
	/* Names are in the tables before they leave memory, so a reader that looks in memory first
	 * finds each in at least one of the two. */
	pthread_mutex_lock(&db->gathered.lock);
	names_gathered_clear(&db->gathered);
	pthread_mutex_unlock(&db->gathered.lock);
	db->first_sequence = UINT64_MAX;
	return 0;
}

/* Forgets offers, so that these names are accepted again. */
static void forget_seen(struct names_db *db)
{
	pthread_mutex_lock(&db->gathered.lock);
	if (db->seen.slots)
		names_seen_clear(&db->seen);
	pthread_mutex_unlock(&db->gathered.lock);
	names_db_forget_offers(db);
}

int names_db_collect(struct names_db *db, int32_t before_day, struct err *err)
{
	int rc = names_db_write(db, err); /* the days of their mappings */

	if (rc == 0)
		rc = db_begin(db->db, err);
	if (rc)
		return rc;
	int dropped = names_mapping_drop(db->db, before_day, err);
	rc = commit(db, dropped < 0 ? dropped : 0, err);
	if (rc)
		return rc;
	if (dropped)
		forget_seen(db);
	return dropped ? 1 : db_give_back(db->db, err);
}
