/* Merges gathered names into the tables. */
#include "store/names/names_db_state.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/radix.h"
#include "base/vec.h"

#include <stdlib.h>

struct order { /* of entries */
	VEC(uint32_t) v;
};

/* Sorts by mapping, then offset; entries of one address stay in order of arrival. *ends: where each
 * mapping's entries end, to be freed. */
static void order_entries(const struct names_gathered *g, struct order *out, size_t **ends)
{
	const struct gathered_entry *e = g->entries.v;
	size_t n = g->entries.n, *at = xcalloc(g->days.n + 1, sizeof *at);
	struct radix_key *room = xreallocarray(NULL, 2 * n + 1, sizeof *room);

	for (size_t i = 0; i < n; i++) {
		room[i] = (struct radix_key){ e[i].offset, i };
		at[e[i].mapping + 1]++;
	}
	for (size_t m = 0; m < g->days.n; m++)
		at[m + 1] += at[m];
	const struct radix_key *sorted = radix_sort(room, n);
	vec_reserve(&out->v, n);
	out->v.n = n;
	for (size_t i = 0; i < n; i++)
		out->v.v[at[e[sorted[i].row].mapping]++] = sorted[i].row;
	free(room);
	*ends = at;
}

/* Names of one mapping to be written. */
struct names_writing {
	struct db *db;
	const struct names_gathered *g;
	struct names_copy copy; /* from the gathered names */
	struct names_packer packer;
	int64_t mapping;
	bool changed;
};

static uint64_t offset_of(const struct names_writing *w, uint32_t entry)
{
	return w->g->entries.v[entry].offset;
}

/* Merges old names and new entries into `into`, ascending. Returns whether it differs from the old
 * ones. */
static bool merge_names(struct names_writing *w, const struct names_chunk *old,
			const uint32_t *entries, size_t n, struct names_chunk *into)
{
	const struct names_entry *e = old->entries.v, *end = e + old->entries.n;
	struct names_copy old_copy;
	bool changed = false;

	names_copy_init(&old_copy, &old->strings, &old->names);
	names_copy_to(&old_copy, &into->strings, &into->names);
	names_copy_to(&w->copy, &into->strings, &into->names);
	for (size_t i = 0; i < n || e < end;) {
		uint64_t newer = i < n ? offset_of(w, entries[i]) : 0;
		bool has_old = e < end && (i == n || e->offset <= newer);
		bool has_new = i < n && (e == end || newer <= e->offset);
		uint64_t offset = has_old ? e->offset : newer;
		struct names_lines a = { 0 }, b = { 0 }; /* the old list, the newer one */

		if (has_old)
			a = names_chunk_lines(old, e++);
		if (has_new)
			b = names_gathered_lines(w->g, entries[i++]);
		const struct names_lines *best = names_lines_less(&b, &a) ? &a : &b;
		changed |= best == &b && !(has_old && names_lines_equal(&a, &b));
		names_chunk_append(into, offset, best, best == &b ? &w->copy : &old_copy);
	}
	names_copy_done(&old_copy);
	return changed;
}

/* Names are in order of arrival, so access is random. Prefetches level by level, so that the cache
 * misses of each level overlap. */
static void prefetch_names(const struct names_gathered *g, const uint32_t *entries, size_t n)
{
	uint32_t functions[NAMES_CHUNK_ENTRIES];

	for (size_t i = 0; i < n; i++)
		functions[i] = g->names.lines.v[g->entries.v[entries[i]].run.first].function;
	for (size_t i = 0; i < n; i++) {
		const struct function *f = &g->names.functions.v[functions[i]];

		__builtin_prefetch(strtab_get(&g->strings, f->name));
		__builtin_prefetch(strtab_get(&g->strings, f->file));
	}
}

/* Writes the first names of a mapping, in as many chunks as needed. */
static int write_fresh(struct names_writing *w, const uint32_t *entries, size_t n, struct err *err)
{
	bool fits = n <= NAMES_CHUNK_ENTRIES;

	if (fits) {
		prefetch_names(w->g, entries, n);
		names_pack_begin(&w->packer, &w->copy);
		for (size_t i = 0; i < n; i++) {
			struct names_lines lines = names_gathered_lines(w->g, entries[i]);

			names_pack_add(&w->packer, offset_of(w, entries[i]), &lines, &w->copy);
		}
		fits = names_pack_end(&w->packer);
	}
	if (fits)
		return names_chunk_insert(w->db, w->mapping, offset_of(w, entries[0]),
					  &w->packer.packed, err);
	int rc = write_fresh(w, entries, n / 2, err);
	return rc ? rc : write_fresh(w, entries + n / 2, n - n / 2, err);
}

static int write_merged(struct names_writing *w, const struct names_stretch *t,
			const uint32_t *entries, size_t n, struct err *err)
{
	struct names_chunk merged;
	int rc = 0;

	names_chunk_init(&merged);
	if (merge_names(w, &t->chunk, entries, n, &merged)) {
		w->changed = true;
		rc = names_stretch_write(w->db, w->mapping, t, &merged, &w->packer, err);
	}
	names_chunk_done(&merged);
	return rc;
}

/* Writes the entries that belong to the same chunk as the first one. *taken: their number. */
static int write_stretch(struct names_writing *w, const uint32_t *entries, size_t n, size_t *taken,
			 struct err *err)
{
	struct names_stretch t;
	int rc = names_stretch_find(w->db, w->mapping, offset_of(w, entries[0]), &t, err);

	for (*taken = 1; *taken < n && offset_of(w, entries[*taken]) <= t.last;)
		++*taken;
	if (rc == 0 && t.row) {
		rc = write_merged(w, &t, entries, *taken, err);
	} else if (rc == 0) {
		w->changed = true;
		rc = write_fresh(w, entries, *taken, err);
	}
	names_stretch_done(&t);
	return rc;
}

/* Retains the best list of each address; lists are in order of arrival. Returns the number of
 * addresses. */
static size_t keep_best(const struct names_writing *w, uint32_t *entries, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (!kept || offset_of(w, entries[kept - 1]) != offset_of(w, entries[i])) {
			entries[kept++] = entries[i];
			continue;
		}
		struct names_lines old = names_gathered_lines(w->g, entries[kept - 1]);
		struct names_lines next = names_gathered_lines(w->g, entries[i]);
		if (!names_lines_less(&next, &old))
			entries[kept - 1] = entries[i];
	}
	return kept;
}

/* Notes the day, for names by older readers as well. */
static int use_mapping(struct names_writing *w, struct names_key key, int32_t day, struct err *err)
{
	struct buf room = { 0 };
	struct names_key each;
	uint32_t reader = 0;
	int rc = 0;

	while (rc == 0 && names_key_next(key, &reader, &room, &each))
		rc = names_mapping_use(w->db, each, day, err);
	buf_done(&room);
	return rc;
}

static int write_mapping(struct names_writing *w, uint32_t mapping, uint32_t *entries, size_t n,
			 struct err *err)
{
	struct names_key key = { strtab_get(&w->g->keys, mapping),
				 strtab_len(&w->g->keys, mapping) };
	int32_t day = w->g->days.v[mapping];
	size_t taken = 0;

	int rc = use_mapping(w, key, day, err);
	if (rc || n == 0)
		return rc;
	rc = names_mapping_make(w->db, key, day, &w->mapping, err);
	n = keep_best(w, entries, n);
	for (size_t i = 0; rc == 0 && i < n; i += taken)
		rc = write_stretch(w, entries + i, n - i, &taken, err);
	return rc;
}

int names_write_all(struct names_db *db, struct err *err)
{
	struct names_gathered *g = &db->gathered;
	struct names_writing w = { .db = db->db, .g = g };
	struct order order = { 0 };
	size_t *ends;
	int rc = 0;

	order_entries(g, &order, &ends);
	names_copy_init(&w.copy, &g->strings, &g->names);
	for (uint32_t mapping = 1; rc == 0 && mapping < g->days.n; mapping++) {
		size_t first = ends[mapping - 1];

		rc = write_mapping(&w, mapping, order.v.v + first, ends[mapping] - first, err);
	}
	if (rc == 0 && w.changed)
		rc = names_version_next(db->db, err);
	names_packer_done(&w.packer);
	names_copy_done(&w.copy);
	vec_done(&order.v);
	free(ends);
	return rc;
}
