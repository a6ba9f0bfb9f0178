/* Separates binaries of a profile from others of a store with the same build id or path. */
#include "base/err.h"
#include "base/mem.h"
#include "profile/profile.h"
#include "store/codec/store.h"
#include "store/day/readers.h"
#include "store/day/store_state.h"

enum { MAX_ROUNDS = 64 }; /* limit: files with one build id, each with other names */

/* The frames and names of p, without samples. It shares p's memory. */
static struct profile files_of(const struct profile *p)
{
	return (struct profile){ .sink = p->sink,
				 .strings = p->strings,
				 .frames = p->frames,
				 .names = p->names,
				 .origins = p->origins };
}

/* Names by an older reader give way to others. */
static void forget_older(struct profile *p, const struct names_applied *applied)
{
	for (uint32_t i = 0; i < p->frames.frames.n; i++)
		if (names_applied_is_older(applied, i))
			names_set(&p->names, i, NULL, 0);
}

/* Returns p's frames with the names that the store has. */
static struct profile *stored_files(struct names_db *db, const struct profile *p, struct err *err)
{
	struct names_applied applied = { 0 };
	struct profile *stored = profile_new(), bare = files_of(p);

	bare.names = (struct names){ 0 };
	bare.origins = (struct origin_table){ 0 };
	profile_merge(stored, &bare);
	int rc = names_db_apply(db, stored, &applied, NULL, 0, err);
	if (rc == 0)
		forget_older(stored, &applied);
	names_applied_done(&applied);
	if (rc == 0)
		return stored;
	profile_free(stored);
	return NULL;
}

/* Returns 1 if some file of *p is not the one in the store, and has a separate mapping now. */
static int split_once(struct names_db *db, struct profile **p, struct err *err)
{
	struct profile *stored = stored_files(db, *p, err), files = files_of(*p);

	if (!stored)
		return -err->code;
	size_t known = stored->frames.mappings.n;
	profile_merge_file(stored, &files);
	bool differs = stored->frames.mappings.n > known;
	profile_free(stored);
	stored = differs ? stored_files(db, *p, err) : NULL;
	if (!stored)
		return differs ? -err->code : 0;
	profile_merge_file(stored, *p);
	profile_free(*p);
	*p = stored;
	return 1;
}

static int open_names(struct store *s, struct names_db **out, struct err *err)
{
	store_lock(s);
	*out = names_reader_take(s);
	store_unlock(s);
	return *out ? 0 : names_reader_open(s, out, err);
}

static void give_names(struct store *s, struct names_db *db)
{
	store_lock(s);
	vec_push(&s->readers.names, db);
	store_unlock(s);
}

int store_own_files(struct store *s, struct profile **p, struct err *err)
{
	struct names_db *db = NULL;
	struct err local = { 0 };
	int rc = open_names(s, &db, &local), more = db != NULL;

	for (int i = 0; rc == 0 && more && i < MAX_ROUNDS; i++) {
		more = split_once(db, p, &local);
		rc = more < 0 ? more : 0;
	}
	if (db)
		give_names(s, db);
	if (rc && err)
		*err = local;
	return rc;
}
