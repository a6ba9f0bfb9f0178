/* tests/unit/part_world.h: a partition, and all rows put into it; and queries to both. */
#ifndef CRESSET_TESTS_PART_WORLD_H
#define CRESSET_TESTS_PART_WORLD_H

#include "rand.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "profile/frame.h"
#include "profile/profile.h"
#include "profile/sink.h"
#include "profile/stack.h"
#include "store/part/part.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORLD_DAY_NS (20778ll * 86400 * 1000000000)

enum { WORLD_SERIES = 5, WORLD_STACKS = 4000, WORLD_HOUR = 360, WORLD_DAY = 24 * WORLD_HOUR };

struct world_row {
	uint32_t series, window, stack;
	int64_t value;
	uint32_t n;
	double squares;
};
struct world {
	struct rng rng;
	bool weighted;
	char dir[32], path[64];
	struct part *p;
	uint64_t sequence;
	VEC(struct world_row) rows;
};

static inline void world_open(struct world *w, bool read_only)
{
	const struct part_opts opts = { .read_only = read_only };
	struct err err = { 0 };
	int rc = part_open(w->path, WORLD_DAY_NS, &opts, &w->p, &err);

	ck_assert_msg(rc == 0, "%s", err.text);
}

static inline void world_init(struct world *w, uint64_t seed, bool weighted)
{
	*w = (struct world){ .rng = { seed }, .weighted = weighted };
	strcpy(w->dir, "/tmp/cresset-part-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(w->dir));
	snprintf(w->path, sizeof w->path, "%s/day.db", w->dir);
	world_open(w, false);
}

static inline void world_remove(const struct world *w)
{
	char command[64];

	snprintf(command, sizeof command, "rm -r %s", w->dir);
	ck_assert_int_eq(system(command), 0);
}

static inline void world_done(struct world *w)
{
	part_close(w->p);
	vec_done(&w->rows);
	world_remove(w);
}

static inline void world_reopen(struct world *w, bool read_only)
{
	part_close(w->p);
	world_open(w, read_only);
}

/* A stack by number: the partition chooses its id; here stacks are identified by the leaf. */
static inline uint32_t world_stack(struct part *p, uint32_t number)
{
	struct profile *dict = part_dict(p);
	struct sink *s = profile_sink(dict);
	uint32_t frames[8], n = 0;
	char name[32];

	for (uint32_t rest = number; n < 7 && rest; rest /= 5) {
		snprintf(name, sizeof name, "f%u_%u", n, rest % 5);
		struct frame f = { .mapping = MAPPING_NONE, .function = sink_string(s, name) };
		frames[n++] = s->ops->frame(s, &f);
	}
	snprintf(name, sizeof name, "leaf%u", number);
	struct frame leaf = { .mapping = MAPPING_NONE, .function = sink_string(s, name) };
	frames[n++] = s->ops->frame(s, &leaf);
	return s->ops->stack(s, frames, n);
}

static inline uint32_t world_number(const struct profile *dict, uint32_t stack)
{
	const struct frame *leaf = &dict->frames.frames.v[stack_leaf(&dict->stacks, stack)];

	return (uint32_t)strtoul(profile_str(dict, leaf->function) + 4, NULL, 10);
}

static int block_row_cmp(const void *a, const void *b)
{
	const struct block_row *x = a, *y = b;

	if (x->stack != y->stack)
		return x->stack < y->stack ? -1 : 1;
	return (x->window > y->window) - (x->window < y->window);
}

/* Random rows of one hour: the world's rows have numbers of stacks, the block's ids. */
static inline size_t world_random_rows(struct world *w, uint32_t series, uint32_t hour, uint32_t n,
				       struct block_row *rows)
{
	size_t kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t a = rng_below(&w->rng, WORLD_STACKS), b = rng_below(&w->rng, WORLD_STACKS);
		uint32_t number = (uint32_t)(a * b / WORLD_STACKS);
		rows[i] = (struct block_row){
			.stack = world_stack(w->p, number),
			.window = (uint32_t)rng_below(&w->rng, WORLD_HOUR),
			.value = 1 + (int64_t)rng_below(&w->rng, 1u << rng_below(&w->rng, 20)),
			.n = 1 + (uint32_t)rng_below(&w->rng, 9),
		};
		rows[i].squares = (double)rows[i].value * (double)rows[i].value / rows[i].n;
	}
	qsort(rows, n, sizeof *rows, block_row_cmp);
	for (uint32_t i = 0; i < n; i++)
		if (kept == 0 || block_row_cmp(&rows[kept - 1], &rows[i]) != 0)
			rows[kept++] = rows[i];
	for (size_t i = 0; i < kept; i++)
		vec_push(&w->rows, (struct world_row){ series, hour * WORLD_HOUR + rows[i].window,
						       world_number(part_dict(w->p), rows[i].stack),
						       rows[i].value, rows[i].n, rows[i].squares });
	return kept;
}

/* A block of each series in each of these hours, one transaction per hour. */
static inline void world_add_hours(struct world *w, uint32_t from, uint32_t to, uint32_t n)
{
	struct block_row *rows = xmalloc(WORLD_SERIES * n * sizeof *rows);
	struct part_block blocks[WORLD_SERIES];
	struct err err = { 0 };

	for (uint32_t hour = from; hour < to; hour++) {
		for (uint32_t i = 0; i < WORLD_SERIES; i++) {
			blocks[i] = (struct part_block){
				.series = i,
				.from_ns = WORLD_DAY_NS + hour * WORLD_HOUR * BLOCK_WINDOW_NS,
				.windows = WORLD_HOUR,
				.weighted = w->weighted,
				.rows = rows + i * n,
			};
			blocks[i].n = world_random_rows(w, i, hour, n, rows + i * n);
		}
		int rc = part_add(w->p, blocks, WORLD_SERIES, ++w->sequence, &err);
		ck_assert_msg(rc == 0, "%s", err.text);
	}
	free(rows);
}

/* --- questions -------------------------------------------------------------------------------- */

/* Some series, windows [from, to) of the day. */
struct question {
	bool wanted[WORLD_SERIES];
	uint32_t from, to;
};
struct answer {
	int64_t by_stack[WORLD_STACKS], by_window[WORLD_DAY];
	double count[WORLD_STACKS], squares[WORLD_STACKS]; /* of whole blocks */
};

static inline struct question world_question(struct world *w)
{
	struct question q = { .from = (uint32_t)rng_below(&w->rng, WORLD_DAY) };

	q.to = q.from + (uint32_t)rng_below(&w->rng, WORLD_DAY - q.from + 1);
	if (rng_below(&w->rng, 3) == 0)
		q = (struct question){ .to = WORLD_DAY };
	for (uint32_t i = 0; i < WORLD_SERIES; i++)
		q.wanted[i] = rng_below(&w->rng, 2);
	return q;
}

static inline void answer_of_rows(const struct world *w, const struct question *q, struct answer *a)
{
	for (size_t i = 0; i < w->rows.n; i++) {
		const struct world_row *r = &w->rows.v[i];
		if (!q->wanted[r->series] || r->window < q->from || r->window >= q->to)
			continue;
		a->by_stack[r->stack] += r->value;
		a->by_window[r->window] += r->value;
		a->count[r->stack] += r->n;
		a->squares[r->stack] += r->squares;
	}
}

static inline void add_block(struct world *w, const struct question *q, const struct part_ref *ref,
			     struct block_sums *sums, struct answer *a)
{
	int64_t windows[BLOCK_MAX_WINDOWS], *totals;
	struct err err = { 0 };
	uint32_t first = (uint32_t)((ref->from_ns - WORLD_DAY_NS) / BLOCK_WINDOW_NS);
	uint32_t from = q->from > first ? q->from - first : 0;
	uint32_t to = q->to < first + ref->windows ? q->to - first : ref->windows;

	int rc = part_read_summary(w->p, ref, sums, &err);
	ck_assert_msg(rc == 0, "%s", err.text);
	totals = xcalloc(sums->n + 1, sizeof *totals);
	if (from == 0 && to == ref->windows)
		memcpy(totals, sums->total, sums->n * sizeof *totals);
	else
		rc = part_read_window_range(w->p, ref, sums, from, to, totals, &err);
	ck_assert_msg(rc == 0, "%s", err.text);
	for (uint32_t i = 0; i < sums->n; i++) {
		uint32_t number = world_number(part_dict(w->p), sums->stack[i]);
		a->by_stack[number] += totals[i];
		a->count[number] += sums->count ? sums->count[i] : 0;
		a->squares[number] += sums->count ? sums->squares[i] : 0;
	}
	free(totals);
	rc = part_read_windows(w->p, ref, windows, &err);
	ck_assert_msg(rc == 0, "%s", err.text);
	for (uint32_t i = from; i < to; i++)
		a->by_window[first + i] += windows[i];
}

static inline void answer_of_part(struct world *w, const struct question *q, struct answer *a)
{
	struct part_ref *refs = NULL;
	struct block_sums sums = { 0 };
	struct err err = { 0 };
	size_t n = 0;
	int rc = part_find(w->p, q->wanted, WORLD_SERIES, WORLD_DAY_NS + q->from * BLOCK_WINDOW_NS,
			   WORLD_DAY_NS + q->to * BLOCK_WINDOW_NS, &refs, &n, &err);

	ck_assert_msg(rc == 0, "%s", err.text);
	for (size_t i = 0; i < n; i++) {
		ck_assert(q->wanted[refs[i].series]);
		if (i)
			ck_assert(refs[i - 1].series < refs[i].series ||
				  (refs[i - 1].series == refs[i].series &&
				   refs[i - 1].from_ns <= refs[i].from_ns));
		add_block(w, q, &refs[i], &sums, a);
	}
	block_sums_done(&sums);
	free(refs);
}

static inline bool world_agrees(struct world *w, const struct question *q)
{
	struct answer *rows = xcalloc(1, sizeof *rows), *part = xcalloc(1, sizeof *part);
	bool same, whole = q->from == 0 && q->to == WORLD_DAY;

	answer_of_rows(w, q, rows);
	answer_of_part(w, q, part);
	same = memcmp(rows->by_stack, part->by_stack, sizeof rows->by_stack) == 0 &&
	       memcmp(rows->by_window, part->by_window, sizeof rows->by_window) == 0;
	for (int i = 0; whole && w->weighted && i < WORLD_STACKS; i++)
		same &= rows->count[i] == part->count[i] &&
			fabs(rows->squares[i] - part->squares[i]) <= 1e-6 * rows->squares[i];
	free(rows);
	free(part);
	return same;
}

#endif
