/* Handles of readers, and locks against the writer. */
#include "store/day/readers.h"

#include "base/mem.h"
#include "base/vec.h"
#include "profile/frame.h"
#include "profile/profile.h"
#include "profile/stack.h"
#include "profile/strtab.h"
#include "store/catalog/catalog.h"
#include "store/day/store_state.h"

#include <errno.h>
#include <stdint.h>

/* --- updating a dictionary -------------------------------------------------------------------- */

static uint32_t copy_string(const struct profile *from, uint32_t id, struct profile *to)
{
	return strtab_putn(&to->strings, profile_str(from, id), strtab_len(&from->strings, id));
}

static void follow_mappings(struct profile *to, const struct profile *from)
{
	for (size_t i = to->frames.mappings.n; i < from->frames.mappings.n; i++) {
		struct mapping m = from->frames.mappings.v[i];

		m.name = copy_string(from, m.name, to);
		m.build_id_text = copy_string(from, m.build_id_text, to);
		mapping_intern(&to->frames, &m);
	}
}

static void follow_frames(struct profile *to, const struct profile *from)
{
	for (size_t i = to->frames.frames.n; i < from->frames.frames.n; i++) {
		struct frame f = from->frames.frames.v[i];

		if (f.mapping == MAPPING_NONE) {
			f.function = copy_string(from, f.function, to);
			f.file = copy_string(from, f.file, to);
			f.binary = copy_string(from, f.binary, to);
		}
		frame_intern(&to->frames, &f);
	}
}

/* Extends `to`, a prefix of `from` with the same ids. Strings differ, as `to` also has names. */
static void dict_follow(struct profile *to, const struct profile *from)
{
	follow_mappings(to, from);
	follow_frames(to, from);
	for (size_t i = to->stacks.stacks.n; i < from->stacks.stacks.n; i++) {
		const struct stack *st = &from->stacks.stacks.v[i];

		stack_append(&to->stacks, st->parent, st->shared, &from->stacks.own.v[st->own],
			     st->depth - st->shared);
	}
}

/* --- parts ------------------------------------------------------------------------------------ */

struct part_reader *reader_take(struct store *s, const struct store_part *sp)
{
	for (size_t i = 0; i < s->readers.parts.n; i++) {
		struct part_reader *r = s->readers.parts.v[i];

		if (r->of != sp)
			continue;
		s->readers.parts.v[i] = s->readers.parts.v[--s->readers.parts.n];
		return r;
	}
	return NULL;
}

/* Without a writer, the store's own part serves as well, and it has the stacks of replayed
 * batches. */
static int share_part(struct store *s, struct store_part *sp, struct part_reader *r,
		      struct err *err)
{
	pthread_mutex_lock(&s->lock);
	int rc = store_part_use(s, sp, err);
	r->part = sp->part;
	pthread_mutex_unlock(&s->lock);
	return rc;
}

int reader_open(struct store *s, struct store_part *sp, struct part_reader **out, struct err *err)
{
	struct part_opts opts = { .read_only = true,
				  .cache_bytes = s->opts.memory_bytes / 64,
				  .vfs = s->opts.vfs };
	struct part_reader *r = xcalloc(1, sizeof *r);
	int rc;

	r->of = sp;
	r->own = !s->opts.read_only;
	rc = r->own ? part_open(sp->path, sp->day_ns, &opts, &r->part, err)
		    : share_part(s, sp, r, err);
	if (rc)
		free(r);
	else
		*out = r;
	return rc;
}

int reader_snapshot(struct part_reader *r, struct err *err)
{
	return r->own ? part_read_begin(r->part, err) : 0;
}

int reader_load(struct part_reader *r, struct err *err)
{
	int rc = part_load(r->part, err);

	r->loaded |= rc == 0;
	return rc;
}

void reader_follow(struct part_reader *r)
{
	if (r->own && r->of->part)
		dict_follow(part_dict(r->part), part_dict(r->of->part));
}

static void forget_bytes(struct store *s, struct part_reader *r)
{
	s->readers.dict_bytes -= r->bytes;
	r->bytes = 0;
}

void reader_count(struct store *s, struct part_reader *r)
{
	bool is_counted = !r->own && r->of->has_dict; /* counted as the part's */
	struct profile *dict = r->loaded && !is_counted ? part_dict(r->part) : NULL;

	forget_bytes(s, r);
	r->bytes = dict ? dict->sink.ops->kept_bytes(&dict->sink) : 0;
	s->readers.dict_bytes += r->bytes;
}

/* In a read-only store, a dictionary may have stacks that are only in the inbox. */
static bool can_unload(const struct part_reader *r)
{
	return r->loaded && (r->own || (!r->of->has_dict && !r->of->heads.rows));
}

void reader_unload(struct store *s, struct part_reader *r)
{
	if (!can_unload(r))
		return;
	part_unload(r->part);
	names_applied_done(&r->names);
	r->loaded = false;
	forget_bytes(s, r);
}

void reader_close(struct store *s, struct part_reader *r)
{
	if (!r)
		return;
	forget_bytes(s, r);
	if (r->own)
		part_close(r->part);
	names_applied_done(&r->names);
	free(r);
}

void reader_give(struct store *s, struct part_reader *r)
{
	struct part_reader *other = reader_take(s, r->of);

	reader_close(s, other);
	reader_count(s, r);
	if (r->own)
		part_read_end(r->part);
	vec_push(&s->readers.parts, r);
}

void readers_drop(struct store *s, const struct store_part *sp)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->readers.parts.n; i++) {
		struct part_reader *r = s->readers.parts.v[i];

		if (!sp || r->of == sp)
			reader_close(s, r);
		else
			s->readers.parts.v[kept++] = r;
	}
	s->readers.parts.n = kept;
}

uint64_t readers_bytes(const struct store *s)
{
	const struct catalog_copy *c = s->readers.catalog;

	return s->readers.dict_bytes + (c ? c->p->sink.ops->kept_bytes(&c->p->sink) : 0);
}

/* --- names ------------------------------------------------------------------------------------ */

struct names_db *names_reader_take(struct store *s)
{
	return s->readers.names.n ? s->readers.names.v[--s->readers.names.n] : NULL;
}

int names_reader_open(struct store *s, struct names_db **out, struct err *err)
{
	char *path = xasprintf("%s/names.db", s->dir);
	struct names_db_opts opts = { .read_only = true, .beside = s->names, .vfs = s->opts.vfs };
	struct names_db *db = NULL;
	int rc = names_db_open(path, &opts, &db, err);

	free(path);
	if (rc && rc != -ENOENT)
		return rc;
	*out = db;
	return 0;
}

/* --- the catalog ------------------------------------------------------------------------------ */

void catalog_copy_give(struct catalog_copy *c)
{
	if (!c || --c->refs)
		return;
	profile_free(c->p);
	free(c);
}

/* Merging into an empty profile retains all ids. */
struct catalog_copy *catalog_copy_take(struct store *s)
{
	const struct profile *now = catalog_profile(s->catalog);
	struct catalog_copy *c = s->readers.catalog;

	if (!c || c->version != catalog_version(s->catalog)) {
		catalog_copy_give(c);
		c = xcalloc(1, sizeof *c);
		*c = (struct catalog_copy){ .p = profile_new(),
					    .version = catalog_version(s->catalog),
					    .refs = 1 };
		profile_merge(c->p, now);
		c->n_series = c->p->series.series.n;
		s->readers.catalog = c;
	}
	c->refs++;
	return c;
}

void readers_done(struct store *s)
{
	readers_drop(s, NULL);
	vec_done(&s->readers.parts);
	for (size_t i = 0; i < s->readers.names.n; i++)
		names_db_close(s->readers.names.v[i]);
	vec_done(&s->readers.names);
	catalog_copy_give(s->readers.catalog);
	s->readers.catalog = NULL;
}
