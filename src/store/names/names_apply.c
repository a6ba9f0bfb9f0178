/* Sets the names of a dictionary's frames: from the tables, then from those gathered in memory. */
#include "store/names/names_db_state.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/vec.h"
#include "profile/frame.h"
#include "profile/profile.h"
#include "profile/stack.h"
#include "store/names/names_db.h"

#include <errno.h>
#include <stdlib.h>

void names_applied_done(struct names_applied *a)
{
	vec_done(&a->frames);
	vec_done(&a->stacks);
	*a = (struct names_applied){ 0 };
}

/* A frame whose names are looked up. */
struct ask {
	uint32_t mapping, frame;
	uint64_t offset;
};
struct asked {
	VEC(struct ask) v;
};

static int by_place(const void *a, const void *b)
{
	const struct ask *x = a, *y = b;

	if (x->mapping != y->mapping)
		return x->mapping < y->mapping ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* How far a frame is. The names of one that only an older reader has named give way to any. */
enum { APPLIED_NOT, APPLIED, APPLIED_OLDER };

bool names_applied_is_older(const struct names_applied *a, uint32_t frame)
{
	return frame < a->frames.n && a->frames.v[frame] == APPLIED_OLDER;
}

/* --- from the tables -------------------------------------------------------------------------- */

/* Resets all frames if the database has changed; adds new frames. */
static void refresh_applied(struct names_applied *a, uint64_t version, size_t frames)
{
	if (a->version != version)
		a->frames.n = a->n = a->gathered_frames = a->stacks.n = 0;
	a->version = version;
	vec_reserve(&a->frames, frames);
	while (a->frames.n < frames)
		a->frames.v[a->frames.n++] = APPLIED_NOT;
}

static void ask(const struct profile *dict, struct names_applied *a, uint32_t frame,
		struct asked *out)
{
	const struct frame *f = &dict->frames.frames.v[frame];

	if (a->frames.v[frame])
		return;
	a->frames.v[frame] = APPLIED;
	a->n++;
	if (f->mapping != MAPPING_NONE)
		vec_push(&out->v, (struct ask){ f->mapping, frame, f->offset });
}

/* Collects the requested frames that do not have this version's names. */
static void collect_asked(const struct profile *dict, struct names_applied *a,
			  const uint32_t *frames, size_t n, struct asked *out)
{
	if (a->n == dict->frames.frames.n)
		return;
	for (size_t i = 0; i < n; i++)
		ask(dict, a, frames ? frames[i] : i, out);
	if (out->v.n)
		qsort(out->v.v, out->v.n, sizeof *out->v.v, by_place);
}

/* Lists of names of a mapping, by one reader. */
struct applying {
	struct names_db *db;
	struct profile *dict;
	uint8_t *states; /* by frame */
	uint8_t state;
};

static void name_frame(const struct applying *a, const struct names_chunk *chunk,
		       struct names_copy *copy, const struct ask *asked)
{
	const struct names_entry *e = names_chunk_find(chunk, asked->offset);
	struct line there[NAMES_MAX_INLINE];

	if (!e)
		return;
	struct names_lines lines = names_chunk_lines(chunk, e);
	names_copy_lines(copy, &lines, there);
	names_set(&a->dict->names, asked->frame, there, lines.n);
	a->states[asked->frame] = a->state;
}

/* Names the frames that are in one chunk. Returns their number. */
static size_t name_stretch(const struct applying *a, const struct names_stretch *t,
			   const struct ask *asked, size_t n)
{
	struct names_copy copy;
	size_t i = 0;

	names_copy_init(&copy, &t->chunk.strings, &t->chunk.names);
	names_copy_to(&copy, &a->dict->strings, &a->dict->names);
	for (; i < n && asked[i].offset <= t->last; i++)
		name_frame(a, &t->chunk, &copy, &asked[i]);
	names_copy_done(&copy);
	return i;
}

static int apply_key(const struct applying *a, struct names_key key, const struct ask *asked,
		     size_t n, struct err *err)
{
	struct names_db *db = a->db;
	int64_t mapping = 0;
	int rc = names_mapping_find(db->db, key, &mapping, err);

	if (rc <= 0)
		return rc;
	rc = 0;
	for (size_t i = 0; rc == 0 && i < n;) {
		struct names_stretch t;

		rc = names_stretch_find(db->db, mapping, asked[i].offset, &t, err);
		if (rc == 0)
			i += name_stretch(a, &t, asked + i, n - i);
		names_stretch_done(&t);
	}
	return rc;
}

/* Newer readers overwrite older ones. */
static int apply_mapping(struct applying *a, const struct ask *asked, size_t n, struct err *err)
{
	struct names_key key = names_db_key(a->db, a->dict, asked[0].mapping), each;
	struct buf own = { 0 }, room = { 0 };
	uint32_t reader = 0;
	int rc = 0;

	buf_add(&own, key.data, key.len);
	while (rc == 0 &&
	       names_key_next((struct names_key){ own.data, own.len }, &reader, &room, &each)) {
		a->state = reader < a->db->opts.reader ? APPLIED_OLDER : APPLIED;
		rc = apply_key(a, each, asked, n, err);
	}
	buf_done(&own);
	buf_done(&room);
	return rc;
}

static int apply_asked(struct names_db *db, struct profile *dict, struct names_applied *applied,
		       const struct asked *asked, struct err *err)
{
	struct applying a = { .db = db, .dict = dict, .states = applied->frames.v };
	int rc = 0;

	for (size_t i = 0, n; rc == 0 && i < asked->v.n; i += n) {
		const struct ask *first = &asked->v.v[i];
		for (n = 1; i + n < asked->v.n && first[n].mapping == first->mapping; n++)
			continue;
		rc = apply_mapping(&a, first, n, err);
	}
	return rc;
}

/* --- from memory ------------------------------------------------------------------------------ */

/* Gathered names of the requested frames, as lines of the dictionary. */
struct found {
	uint32_t frame, first, n; /* in lines */
};
struct names_found {
	VEC(struct found) v;
	VEC(struct line) lines;
};

static void find_frame(struct names_gathered *g, const struct profile *dict, uint32_t frame,
		       const uint32_t *mappings, struct names_copy *copy, struct names_found *out)
{
	const struct frame *f = &dict->frames.frames.v[frame];
	uint32_t mapping = f->mapping == MAPPING_NONE ? 0 : mappings[f->mapping];
	struct line there[NAMES_MAX_INLINE];
	struct names_lines lines;

	if (!mapping || !names_gathered_find(g, mapping, f->offset, &lines))
		return;
	names_copy_lines(copy, &lines, there);
	vec_push(&out->v, (struct found){ frame, out->lines.n, lines.n });
	vec_append(&out->lines, there, lines.n);
}

static void find_gathered(struct names_db *db, struct names_gathered *g, struct profile *dict,
			  const uint32_t *frames, size_t n, struct names_found *out)
{
	/* By mapping of the dictionary: the gathered one. */
	uint32_t *mappings = xcalloc(dict->frames.mappings.n + 1, sizeof *mappings);
	struct names_copy copy;

	for (uint32_t m = 0; m < dict->frames.mappings.n; m++) {
		struct names_key key = names_db_key(db, dict, m);
		mappings[m] = names_gathered_mapping(g, key.data, key.len);
	}
	names_copy_init(&copy, &g->strings, &g->names);
	names_copy_to(&copy, &dict->strings, &dict->names);
	for (size_t i = 0; i < n; i++)
		find_frame(g, dict, frames ? frames[i] : i, mappings, &copy, out);
	names_copy_done(&copy);
	free(mappings);
}

/* Sets names that are better or newer than those of the tables. */
static void apply_found(struct profile *dict, struct names_applied *applied,
			const struct names_found *found)
{
	for (size_t i = 0; i < found->v.n; i++) {
		const struct found *f = &found->v.v[i];
		struct names_lines old = { .strings = &dict->strings, .names = &dict->names };
		struct names_lines newer = old;

		old.n = names_get(&dict->names, f->frame, &old.lines);
		newer.lines = found->lines.v + f->first;
		newer.n = f->n;
		if (applied->frames.v[f->frame] != APPLIED_OLDER && names_lines_less(&newer, &old))
			continue;
		names_set(&dict->names, f->frame, newer.lines, newer.n);
		applied->frames.v[f->frame] = APPLIED;
	}
}

/* --- of stacks -------------------------------------------------------------------------------- */

/* For more than one in this many stacks, all frames of the dictionary get names: that is done once,
 * and later calls cost nothing. */
enum { MANY = 8 };

/* What is requested. */
struct wanted {
	const uint32_t *frames; /* NULL: all of them */
	size_t n;
	const uint32_t *stacks; /* NULL: see frames */
	size_t n_stacks;
	VEC(uint32_t) of_stacks;
};

/* Updates the bits of stacks that have all names known now. */
static void refresh_stacks(struct names_applied *a, const struct names_gathered *g, size_t stacks)
{
	size_t words = stacks / 64 + 1;

	if (!names_gathered_is_empty(g) && a->stacks_gathered != g->generation)
		a->stacks.n = 0;
	a->stacks_gathered = g->generation;
	vec_reserve(&a->stacks, words);
	while (a->stacks.n < words)
		a->stacks.v[a->stacks.n++] = 0;
}

/* Adds the frames of a stack and of its ancestors; each stack is visited once. */
static void add_frames(const struct stack_table *t, uint32_t stack, uint64_t *seen,
		       struct wanted *out)
{
	while (stack && !(seen[stack / 64] >> stack % 64 & 1)) {
		const struct stack *st = &t->stacks.v[stack];

		seen[stack / 64] |= 1ull << stack % 64;
		vec_append(&out->of_stacks, &t->own.v[st->own], (size_t)(st->depth - st->shared));
		stack = st->parent;
	}
}

/* Under the lock of the gathered names. */
static void want_frames(struct wanted *w, const struct profile *dict, struct names_applied *a,
			const struct names_gathered *g)
{
	const struct stack_table *t = &dict->stacks;

	if (!w->stacks)
		return;
	refresh_stacks(a, g, t->stacks.n);
	for (size_t i = 0; i < w->n_stacks; i++)
		add_frames(t, w->stacks[i], a->stacks.v, w);
	w->frames = w->of_stacks.v;
	w->n = w->of_stacks.n;
}

/* --- both ------------------------------------------------------------------------------------- */

/* Returns whether all frames have the gathered names. */
static bool has_gathered(const struct names_applied *a, const struct names_gathered *g, size_t n)
{
	return names_gathered_is_empty(g) ||
	       (a->gathered == g->generation && a->gathered_frames == n);
}

/* Looks in memory first, then in the tables as of that moment: see names_db_write. */
static int look(struct names_db *db, struct names_gathered *g, struct profile *dict,
		struct names_applied *applied, struct wanted *w, struct names_found *found,
		struct err *err)
{
	size_t all = dict->frames.frames.n;
	uint64_t version = 0;
	int rc;

	pthread_mutex_lock(&g->lock);
	rc = names_version_read(db->db, &version, err);
	if (rc == 0) {
		refresh_applied(applied, version, all);
		want_frames(w, dict, applied, g);
		if (w->n && !has_gathered(applied, g, all))
			find_gathered(db, g, dict, w->frames, w->n, found);
		if (!w->frames && !w->stacks) {
			applied->gathered = g->generation;
			applied->gathered_frames = all;
		}
	}
	pthread_mutex_unlock(&g->lock);
	return rc;
}

static int apply(struct names_db *db, struct profile *dict, struct names_applied *applied,
		 struct wanted *w, struct err *err)
{
	struct names_gathered *g = &(db->opts.beside ?: db)->gathered;
	struct names_found found = { 0 };
	struct asked asked = { 0 };
	int rc = db_exec(db->db, "BEGIN", err);

	if (rc == 0)
		rc = look(db, g, dict, applied, w, &found, err);
	if (rc == 0) {
		collect_asked(dict, applied, w->frames, w->n, &asked);
		rc = apply_asked(db, dict, applied, &asked, err);
	}
	if (rc == 0)
		apply_found(dict, applied, &found);
	else
		names_applied_done(applied);
	db_rollback(db->db);
	vec_done(&found.v);
	vec_done(&found.lines);
	vec_done(&asked.v);
	vec_done(&w->of_stacks);
	return rc;
}

int names_db_apply(struct names_db *db, struct profile *dict, struct names_applied *applied,
		   const uint32_t *frames, size_t n, struct err *err)
{
	struct wanted w = { .frames = frames, .n = frames ? n : dict->frames.frames.n };

	return apply(db, dict, applied, &w, err);
}

int names_db_apply_stacks(struct names_db *db, struct profile *dict, struct names_applied *applied,
			  const uint32_t *stacks, size_t n, struct err *err)
{
	struct wanted w = { .stacks = stacks, .n_stacks = n };

	if (n > dict->stacks.stacks.n / MANY)
		return names_db_apply(db, dict, applied, NULL, 0, err);
	return n ? apply(db, dict, applied, &w, err) : 0;
}
