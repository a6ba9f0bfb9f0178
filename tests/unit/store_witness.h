/* tests/unit/store_witness.h: what a store must hold, computed row by row from the batches alone, and what it does hold, read from its blocks and
 * heads. Rows are compared by content: labels, frames and windows as text, whatever their ids are. */
#ifndef CRESSET_TESTS_STORE_WITNESS_H
#define CRESSET_TESTS_STORE_WITNESS_H

#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"
#include "profile/frame.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/stack.h"
#include "profile/strtab.h"
#include "store/catalog/catalog.h"
#include "store/day/store_state.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>

/* Sums by the content of a row. */
struct tally {
	struct map index;
	VEC(int64_t) sums;
	VEC(uint64_t) keys;
};

static inline void tally_done(struct tally *t)
{
	map_done(&t->index);
	vec_done(&t->sums);
	vec_done(&t->keys);
}

static inline void tally_add(struct tally *t, uint64_t key, int64_t value)
{
	uint32_t *at = map_get(&t->index, key);

	if (at) {
		t->sums.v[*at] += value;
		return;
	}
	map_put(&t->index, key, t->sums.n);
	vec_push(&t->sums, value);
	vec_push(&t->keys, key);
}

static inline int64_t tally_get(const struct tally *t, uint64_t key)
{
	const uint32_t *at = map_get(&t->index, key);

	return at ? t->sums.v[*at] : 0;
}

/* How many rows differ. */
static inline size_t tally_diff(const struct tally *a, const struct tally *b)
{
	size_t n = 0;

	for (size_t i = 0; i < a->keys.n; i++)
		n += a->sums.v[i] != tally_get(b, a->keys.v[i]);
	for (size_t i = 0; i < b->keys.n; i++)
		n += !map_get(&a->index, b->keys.v[i]) && b->sums.v[i] != 0;
	return n;
}

static inline int64_t tally_total(const struct tally *t)
{
	int64_t total = 0;

	for (size_t i = 0; i < t->sums.n; i++)
		total += t->sums.v[i];
	return total;
}

/* --- the content of a row --------------------------------------------------------------------- */

static inline uint64_t text_hash(const struct profile *p, uint32_t id)
{
	return hash_bytes(strtab_get(&p->strings, id), strtab_len(&p->strings, id));
}

static inline uint64_t series_text_hash(const struct profile *p, uint32_t id)
{
	const struct series *s = &p->series.series.v[id];
	const struct type *t = &p->series.types.v[s->type];
	struct label_set set = p->series.sets.v[s->labels];
	uint64_t labels = 0, h = hash_mix(text_hash(p, t->name), text_hash(p, t->sample_type));

	for (uint32_t i = 0; i < set.n; i++) {
		const struct label *l = &p->series.labels.v[set.first + i];
		labels ^= hash_mix(text_hash(p, l->key),
				   l->is_num ? (uint64_t)l->num : text_hash(p, l->str));
	}
	return hash_mix(hash_mix(h, s->period), labels);
}

static inline uint64_t frame_text_hash(const struct profile *p, uint32_t id)
{
	const struct frame *f = &p->frames.frames.v[id];

	if (f->mapping == MAPPING_NONE)
		return hash_mix(hash_mix(f->kind, text_hash(p, f->function)),
				hash_mix(text_hash(p, f->file), text_hash(p, f->binary) + f->line));
	const struct mapping *m = &p->frames.mappings.v[f->mapping];
	uint64_t image = m->build_id_len ? hash_bytes(m->build_id, m->build_id_len)
					 : hash_mix(text_hash(p, m->name), m->identity);
	return hash_mix(hash_mix(f->kind, image), f->offset);
}

static inline uint64_t stack_text_hash(const struct profile *p, uint32_t id)
{
	uint32_t n = stack_depth(&p->stacks, id);
	uint32_t *frames = calloc(n + 1, sizeof *frames);
	uint64_t h = n;

	stack_frames(&p->stacks, id, frames);
	for (uint32_t i = 0; i < n; i++)
		h = hash_mix(h, frame_text_hash(p, frames[i]));
	free(frames);
	return h;
}

static inline uint64_t row_key(uint64_t series, uint64_t stack, int64_t window_ns)
{
	return hash_mix(hash_mix(series, stack), window_ns);
}

/* --- the content of a batch ------------------------------------------------------------------- */

/* The share within [from, to) of a sample that covers length_ns from 0 on. */
static inline int64_t part_of(int64_t value, int64_t length_ns, int64_t from, int64_t to)
{
	from = from < 0 ? 0 : from;
	to = to > length_ns ? length_ns : to;
	return (int64_t)((__int128)value * to / length_ns) -
	       (int64_t)((__int128)value * from / length_ns);
}

/* Times of p are Unix time. Rows before kept_ns are left out. */
static inline void tally_batch(struct tally *t, const struct profile *p, int64_t kept_ns)
{
	for (size_t i = 0; i < p->samples.n; i++) {
		uint64_t series = series_text_hash(p, p->samples.series[i]);
		uint64_t stack = stack_text_hash(p, p->samples.stack[i]);
		int64_t at = p->samples.time_ns[i], length = sample_length_ns(&p->samples, i);
		int64_t value = p->samples.value[i];
		int64_t window = at / BLOCK_WINDOW_NS * BLOCK_WINDOW_NS;
		if (at < kept_ns)
			continue;
		if (length <= 0)
			tally_add(t, row_key(series, stack, window), value);
		for (; length > 0 && window < at + length; window += BLOCK_WINDOW_NS)
			tally_add(
				t, row_key(series, stack, window),
				part_of(value, length, window - at, window + BLOCK_WINDOW_NS - at));
	}
}

/* --- the content of a store ------------------------------------------------------------------- */

static inline void tally_heads(struct tally *t, struct store *s, struct store_part *sp)
{
	const struct profile *catalog = catalog_profile(s->catalog);

	for (size_t i = 0; i < sp->heads.all.n; i++) {
		const struct head *h = &sp->heads.all.v[i];
		uint64_t series = series_text_hash(catalog, h->series);
		for (size_t k = 0; k < h->rows.n; k++)
			tally_add(t,
				  row_key(series,
					  stack_text_hash(part_dict(sp->part), h->rows.v[k].stack),
					  h->from_ns + h->rows.v[k].window * BLOCK_WINDOW_NS),
				  h->rows.v[k].value);
	}
}

static inline void tally_block(struct tally *t, struct store *s, struct store_part *sp,
			       const struct part_ref *ref)
{
	uint64_t series = series_text_hash(catalog_profile(s->catalog), ref->series);
	struct block_columns rows = { 0 };
	struct err err = { 0 };

	int rc = part_read_columns(sp->part, ref, 0, ref->windows, &rows, &err);
	if (rc == -ENODATA) /* retention */
		return;
	ck_assert_msg(rc == 0, "%s", err.text);
	for (size_t i = 0; i < rows.n; i++)
		tally_add(t,
			  row_key(series, stack_text_hash(part_dict(sp->part), rows.stack[i]),
				  ref->from_ns + rows.window[i] * BLOCK_WINDOW_NS),
			  rows.value[i]);
	block_columns_done(&rows);
}

static inline void tally_store(struct tally *t, struct store *s)
{
	struct err err = { 0 };

	for (size_t i = 0; i < s->parts.n; i++) {
		struct store_part *sp = s->parts.v[i];
		struct part_ref *refs = NULL;
		size_t n = 0;
		ck_assert_msg(store_part_load(s, sp, &err) == 0, "%s", err.text);
		ck_assert_msg(part_find(sp->part, NULL, 0, INT64_MIN, INT64_MAX, &refs, &n, &err) ==
				      0,
			      "%s", err.text);
		for (size_t k = 0; k < n; k++)
			tally_block(t, s, sp, &refs[k]);
		free(refs);
		tally_heads(t, s, sp);
	}
}

/* Only days that are kept: others may be gone, or not yet. */
static inline void tally_kept(struct tally *t, struct store *s)
{
	size_t n = s->parts.n, first = 0;
	struct store_part **all = s->parts.v;

	while (first < n && all[first]->day_ns < s->kept_from_ns)
		first++;
	s->parts.v += first;
	s->parts.n -= first;
	tally_store(t, s);
	s->parts.v = all;
	s->parts.n = n;
}

#endif
