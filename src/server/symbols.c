/* Stores uploaded tables, and names frames with them. */
#include "server/symbols.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "profile/names.h"
#include "profile/profile.h"
#include "profile/strtab.h"
#include "server/symbols_files.h"
#include "store/codec/store.h"
#include "symbol/symbol_table.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define DAY_NS INT64_C(86400000000000)

struct entry {
	struct symbols_file file;
	struct symbol_table *table; /* NULL: not in memory */
	uint64_t used;              /* symbols.uses at its last use */
	uint64_t put_ns;            /* monotonic; 0: it is from an earlier process */
	bool was_named;             /* stored frames were named by it once */
	bool is_bad;                /* it could not be read */
};
struct symbols {
	pthread_mutex_t lock;
	struct symbols_opts opts;
	int dir;
	VEC(struct entry) all;
	struct map index; /* hash of the build id → all; on a collision the first has it */
	uint64_t disk_bytes, cache_bytes, uses, named_frames, unreadable;
};

/* --- the list --------------------------------------------------------------------------------- */

static struct entry *find(struct symbols *s, const uint8_t *id, size_t len)
{
	const uint32_t *at = map_get(&s->index, hash_bytes(id, len));
	struct entry *e = at ? &s->all.v[*at] : NULL;

	return e && e->file.id_len == len && memcmp(e->file.id, id, len) == 0 ? e : NULL;
}

static void forget_table(struct symbols *s, struct entry *e)
{
	if (!e->table)
		return;
	s->cache_bytes -= symbol_table_bytes(e->table);
	symbol_table_done(e->table);
	free(e->table);
	e->table = NULL;
}

static void add(struct symbols *s, const struct symbols_file *f, uint64_t put_ns)
{
	map_put(&s->index, hash_bytes(f->id, f->id_len), (uint32_t)s->all.n);
	vec_push(&s->all, (struct entry){ .file = *f, .put_ns = put_ns, .used = ++s->uses });
	s->disk_bytes += f->bytes;
}

/* The last entry takes its place. */
static void remove_at(struct symbols *s, size_t i)
{
	struct entry *e = &s->all.v[i];
	const struct entry *last = &s->all.v[s->all.n - 1];

	symbols_file_unlink(s->dir, &e->file);
	forget_table(s, e);
	s->disk_bytes -= e->file.bytes;
	map_del(&s->index, hash_bytes(e->file.id, e->file.id_len));
	if (e != last) {
		*e = *last;
		map_put(&s->index, hash_bytes(e->file.id, e->file.id_len), (uint32_t)i);
	}
	s->all.n--;
}

static void on_file(void *ctx, const struct symbols_file *f)
{
	struct symbols *s = ctx;

	if (s->all.n < SYMBOLS_MAX && !map_get(&s->index, hash_bytes(f->id, f->id_len)))
		add(s, f, 0);
}

int symbols_open(const char *dir, const struct symbols_opts *opts, struct symbols **out,
		 struct err *err)
{
	int fd = symbols_dir_open(dir, err);

	if (fd < 0)
		return fd;
	struct symbols *s = xcalloc(1, sizeof *s);
	s->opts = *opts;
	s->dir = fd;
	pthread_mutex_init(&s->lock, NULL);
	int rc = symbols_dir_read(fd, on_file, s, err);
	if (rc)
		symbols_close(s);
	else
		*out = s;
	return rc;
}

void symbols_close(struct symbols *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->all.n; i++)
		forget_table(s, &s->all.v[i]);
	vec_done(&s->all);
	map_done(&s->index);
	symbols_dir_close(s->dir);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

bool symbols_has(struct symbols *s, const uint8_t *id, size_t len)
{
	pthread_mutex_lock(&s->lock);
	const struct entry *e = find(s, id, len);
	bool has = e && !e->is_bad;
	pthread_mutex_unlock(&s->lock);
	return has;
}

/* --- tables in memory ------------------------------------------------------------------------- */

static struct entry *used_longest_ago(struct symbols *s, bool in_memory, const struct entry *but)
{
	struct entry *oldest = NULL;

	for (size_t i = 0; i < s->all.n; i++) {
		struct entry *e = &s->all.v[i];
		if (e != but && (e->table || !in_memory) && (!oldest || e->used < oldest->used))
			oldest = e;
	}
	return oldest;
}

static int load(struct symbols *s, struct entry *e)
{
	struct symbol_table t;
	struct entry *oldest;
	struct buf b = { 0 };
	int rc = symbols_file_read(s->dir, &e->file, &b);

	if (rc == 0)
		rc = symbol_table_read(b.data, b.len, &t, NULL);
	buf_done(&b);
	if (rc) {
		e->is_bad = true; /* another table may be sent */
		s->unreadable++;
		return rc;
	}
	e->table = xmalloc(sizeof t);
	*e->table = t;
	s->cache_bytes += symbol_table_bytes(&t);
	while (s->cache_bytes > s->opts.cache_bytes && (oldest = used_longest_ago(s, true, e)))
		forget_table(s, oldest);
	return 0;
}

/* Returns NULL if no table exists. The result is valid until the next call. */
static const struct symbol_table *table_of(struct symbols *s, const struct mapping *m)
{
	struct entry *e = m->build_id_len ? find(s, m->build_id, m->build_id_len) : NULL;

	if (!e || e->is_bad || (!e->table && load(s, e)))
		return NULL;
	e->used = ++s->uses;
	symbols_file_use(s->dir, &e->file, (int64_t)clock_wall_ns());
	return e->table;
}

/* --- names ------------------------------------------------------------------------------------ */

static uint32_t put_text(struct profile *p, const struct symbol_table *t, uint32_t text)
{
	struct symbol_table_text found = symbol_table_text(t, text);

	return strtab_putn(&p->strings, found.s, found.len);
}

static bool name_frame(struct profile *p, uint32_t frame, const struct symbol_table *t)
{
	const struct symbol_table_function *found =
		symbol_table_find(t, p->frames.frames.v[frame].offset);

	if (!found)
		return false;
	const struct function f = { .name = put_text(p, t, found->name),
				    .linkage = put_text(p, t, found->linkage),
				    .file = put_text(p, t, found->file),
				    .start_line = found->start_line };
	const struct line line = { .function = function_intern(&p->names, &f) };
	names_set(&p->names, frame, &line, 1);
	return true;
}

static bool wants_name(const struct profile *p, uint32_t frame, uint32_t mapping)
{
	const struct frame *f = &p->frames.frames.v[frame];
	const struct line *lines;

	return f->mapping == mapping && f->kind == FRAME_NATIVE &&
	       names_get(&p->names, frame, &lines) == 0;
}

/* Frames by mapping, so that each table is used once. */
struct frame_lists {
	uint32_t *first, *next; /* by mapping; by frame */
};

static struct frame_lists frame_lists_make(const struct profile *p)
{
	uint32_t n = (uint32_t)p->frames.frames.n, mappings = (uint32_t)p->frames.mappings.n;
	struct frame_lists l = { xmalloc((mappings + 1) * sizeof *l.first),
				 xmalloc((n + 1) * sizeof *l.next) };

	memset(l.first, 0xff, (mappings + 1) * sizeof *l.first);
	for (uint32_t f = n; f-- > 0;) {
		uint32_t m = p->frames.frames.v[f].mapping;
		if (m == MAPPING_NONE)
			continue;
		l.next[f] = l.first[m];
		l.first[m] = f;
	}
	return l;
}

static void frame_lists_done(struct frame_lists *l)
{
	free(l->first);
	free(l->next);
}

void symbols_name(struct symbols *s, struct profile *p)
{
	struct frame_lists l = frame_lists_make(p);
	const struct symbol_table *t;

	pthread_mutex_lock(&s->lock);
	for (uint32_t m = 0; s->all.n && m < p->frames.mappings.n; m++) {
		if (!(t = table_of(s, &p->frames.mappings.v[m])))
			continue;
		for (uint32_t f = l.first[m]; f != UINT32_MAX; f = l.next[f])
			if (wants_name(p, f, m))
				s->named_frames += name_frame(p, f, t);
	}
	pthread_mutex_unlock(&s->lock);
	frame_lists_done(&l);
}

/* --- adding tables ---------------------------------------------------------------------------- */

static int compare(struct symbols *s, const struct entry *e, const void *data, size_t n,
		   struct err *err)
{
	struct buf b = { 0 };
	int rc = symbols_file_read(s->dir, &e->file, &b);
	bool same = rc == 0 && b.len == n && memcmp(b.data, data, n) == 0;

	buf_done(&b);
	return same ? 0 : err_set(err, EEXIST, "another symbol table of this build id is stored");
}

static int make_room(struct symbols *s, uint64_t bytes, struct err *err)
{
	const struct entry *e;

	if (bytes > s->opts.disk_bytes)
		return err_set(err, ENOSPC, "no space for a symbol table of %llu bytes",
			       (unsigned long long)bytes);
	while ((s->disk_bytes + bytes > s->opts.disk_bytes || s->all.n >= SYMBOLS_MAX) &&
	       (e = used_longest_ago(s, false, NULL)))
		remove_at(s, (size_t)(e - s->all.v));
	return 0;
}

static int put(struct symbols *s, const struct symbols_file *f, const void *data, bool *is_new,
	       struct err *err)
{
	struct entry *e = find(s, f->id, f->id_len);

	*is_new = !e || e->is_bad;
	if (!*is_new)
		return compare(s, e, data, f->bytes, err);
	if (e)
		remove_at(s, (size_t)(e - s->all.v));
	int rc = make_room(s, f->bytes, err);
	if (rc == 0)
		rc = symbols_file_write(s->dir, f, data, err);
	if (rc == 0)
		add(s, f, clock_mono_ns());
	return rc;
}

static int check(const uint8_t *id, size_t len, const void *data, size_t n, struct err *err)
{
	struct symbol_table t;
	int rc = symbol_table_read(data, n, &t, err);

	if (rc)
		return rc;
	bool is_it = t.build_id_len == len && memcmp(t.build_id, id, len) == 0;
	symbol_table_done(&t);
	return is_it ? 0 : err_set(err, EBADMSG, "the symbol table is of another build id");
}

int symbols_put(struct symbols *s, const uint8_t *id, size_t len, const void *data, size_t n,
		bool *is_new, struct err *err)
{
	struct symbols_file f = {
		.id_len = len, .bytes = n, .is_new = true, .used_ns = (int64_t)clock_wall_ns()
	};
	int rc = check(id, len, data, n, err);

	if (rc)
		return rc;
	memcpy(f.id, id, len);
	pthread_mutex_lock(&s->lock);
	rc = put(s, &f, data, is_new, err);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

/* --- stored frames ---------------------------------------------------------------------------- */

/* A table is applied to stored frames as soon as it is there, and again when the batches that came
 * next to it are stored. */
static bool is_due(const struct entry *e, uint64_t now_ns)
{
	return e->file.is_new && !e->is_bad &&
	       (!e->was_named || now_ns - e->put_ns >= SYMBOLS_SETTLE_NS);
}

static bool any_due(struct symbols *s, uint64_t now_ns)
{
	bool due = false;

	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->all.n && !due; i++)
		due = is_due(&s->all.v[i], now_ns);
	pthread_mutex_unlock(&s->lock);
	return due;
}

struct late {
	struct symbols *s;
	struct store *store;
	uint64_t now_ns;
	struct err *err;
};

static bool mapping_is_due(const struct late *l, const struct mapping *m)
{
	pthread_mutex_lock(&l->s->lock);
	const struct entry *e = m->build_id_len ? find(l->s, m->build_id, m->build_id_len) : NULL;
	bool due = e && is_due(e, l->now_ns);
	pthread_mutex_unlock(&l->s->lock);
	return due;
}

/* Returns the frames of the mappings that are due, without names. */
static struct profile *frames_of(const struct late *l, const struct profile *dict)
{
	struct profile *p = profile_new();
	uint32_t *now = xmalloc((dict->frames.mappings.n + 1) * sizeof *now);

	for (size_t i = 0; i < dict->frames.mappings.n; i++) {
		struct mapping m = dict->frames.mappings.v[i];
		now[i] = MAPPING_NONE;
		if (!mapping_is_due(l, &m))
			continue;
		m.name = strtab_put(&p->strings, profile_str(dict, m.name));
		m.build_id_text = 0;
		now[i] = mapping_intern(&p->frames, &m);
	}
	for (size_t i = 0; i < dict->frames.frames.n; i++) {
		struct frame f = dict->frames.frames.v[i];
		if (f.mapping == MAPPING_NONE || now[f.mapping] == MAPPING_NONE ||
		    f.kind != FRAME_NATIVE)
			continue;
		f.mapping = now[f.mapping];
		frame_intern(&p->frames, &f);
	}
	free(now);
	return p;
}

static int name_dict(void *ctx, const struct profile *dict)
{
	const struct late *l = ctx;
	struct profile *p = frames_of(l, dict);
	int rc = 0;

	if (p->frames.frames.n) {
		symbols_name(l->s, p);
		rc = store_add_names(l->store, p, l->err);
	}
	profile_free(p);
	return rc;
}

static void note_named(struct symbols *s, uint64_t now_ns)
{
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->all.n; i++) {
		struct entry *e = &s->all.v[i];
		/* Tables that came after the pass started wait for the next one. */
		if (!is_due(e, now_ns) || e->put_ns > now_ns)
			continue;
		e->was_named = true;
		if (now_ns - e->put_ns >= SYMBOLS_SETTLE_NS)
			symbols_file_commit(s->dir, &e->file);
	}
	pthread_mutex_unlock(&s->lock);
}

static int name_stored(struct symbols *s, struct store *store, uint64_t now_ns, struct err *err)
{
	struct late l = { s, store, now_ns, err };
	struct store_view *v;
	int rc = store_view_open(store, &v, err);

	if (rc)
		return rc;
	rc = store_dicts(v, name_dict, &l, err);
	store_view_close(v);
	if (rc == 0)
		note_named(s, now_ns);
	return rc;
}

/* Ages are relative to the time from which the store counts ages, so setting the clock removes no
 * tables. */
static void collect(struct symbols *s, struct store *store)
{
	struct store_kept kept;

	store_get_kept(store, &kept);
	pthread_mutex_lock(&s->lock);
	for (size_t i = s->all.n; i-- > 0;)
		if (kept.age_ns - s->all.v[i].file.used_ns > s->opts.retention_ns + DAY_NS)
			remove_at(s, i);
	pthread_mutex_unlock(&s->lock);
}

int symbols_maintain(struct symbols *s, struct store *store, struct err *err)
{
	uint64_t now_ns = clock_mono_ns();

	collect(s, store);
	return any_due(s, now_ns) ? name_stored(s, store, now_ns, err) : 0;
}

void symbols_get_stats(struct symbols *s, struct symbols_stats *out)
{
	pthread_mutex_lock(&s->lock);
	*out = (struct symbols_stats){ .tables = s->all.n,
				       .disk_bytes = s->disk_bytes,
				       .memory_bytes = s->cache_bytes,
				       .named_frames = s->named_frames,
				       .unreadable = s->unreadable };
	pthread_mutex_unlock(&s->lock);
}
