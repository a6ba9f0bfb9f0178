// tier: test
/* What the terminal adds up: sums of functions, of two dictionaries, of rows in stored order; the heatmap. */
#include "known_feed.h"
#include "random_profile.h"

#include "cmd/top/top.h"
#include "profile/tree/top.h"

/* --- sums ------------------------------------------------------------------------------------- */

static struct function_sum *find_sum(struct function_sums *f, const struct tree *t,
				     const struct tree_func *func)
{
	for (size_t i = 0; i < f->all.n; i++) {
		struct function_sum *s = &f->all.v[i];
		if (s->kind == func->kind &&
		    !strcmp(s->name, strtab_get(&t->strings, func->name)) &&
		    !strcmp(s->binary, strtab_get(&t->strings, func->binary)) &&
		    !strcmp(s->file, strtab_get(&t->strings, func->file)))
			return s;
	}
	return NULL;
}

START_TEST(functions_equal_those_of_the_tree)
{
	for (uint64_t seed = 1; seed < 30; seed++) {
		struct random_profile r = random_profile(
			seed, (struct random_shape){ .n_stacks = 80,
						     .n_samples = 300,
						     .waits = seed % 2,
						     .periods_differ = seed % 3 == 0 });
		struct source *s = source_of_profile(r.p);
		struct look l = { .source = s,
				  .type = r.cpu,
				  .pid = SAMPLE_NO_ID,
				  .tid = SAMPLE_NO_ID,
				  .no_kernel = seed % 5 == 0 };
		struct function_sums sums = { 0 };
		struct top_table top = { 0 };
		struct tree *t = NULL;
		struct err err = { 0 };
		s->ops->range(s, &l.from_ns, &l.to_ns);
		ck_assert_int_eq(function_sums_make(&sums, &l, &err), 0);
		ck_assert_int_eq(look_tree(&l, &t, &err), 0);
		top_build(t, &top);
		ck_assert_int_eq(sums.total, top.total);
		size_t n = 0;
		for (size_t i = 0; i < sums.all.n; i++)
			n += sums.all.v[i].self || sums.all.v[i].total;
		ck_assert_uint_eq(n, top.rows.n);
		for (size_t i = 0; i < top.rows.n; i++) {
			struct function_sum *f =
				find_sum(&sums, t, &t->funcs.v[top.rows.v[i].func]);
			ck_assert_ptr_nonnull(f);
			ck_assert_int_eq(f->self, top.rows.v[i].self);
			ck_assert_int_eq(f->total, top.rows.v[i].total);
		}
		top_done(&top);
		tree_free(t);
		function_sums_done(&sums);
		source_close(s);
		profile_free(r.p);
	}
}
END_TEST

/* --- the source that is not sorted ------------------------------------------------------------- */

struct row_digest {
	uint64_t sum; /* in any order */
	size_t n;
};

static int digest_row(void *ctx, const struct source_row *r)
{
	struct row_digest *d = ctx;
	uint64_t h = hash_mix((uint64_t)r->time_ns, (uint64_t)r->length_ns);
	h = hash_mix(h, (uint64_t)r->value);
	h = hash_mix(h, (uint64_t)r->series << 32 | r->stack);
	h = hash_mix(h, (uint64_t)r->pid << 32 | r->tid);
	d->sum += hash_mix(h, r->cpu);
	d->n++;
	return 0;
}

static struct row_digest digest(struct source *s, const bool *wanted, int64_t from_ns,
				int64_t to_ns)
{
	struct row_digest d = { 0 };
	struct err err = { 0 };
	ck_assert_int_eq(s->ops->rows(s, wanted, from_ns, to_ns, digest_row, &d, &err), 0);
	return d;
}

START_TEST(unsorted_rows_equal_a_sorted_source)
{
	size_t seen = 0;
	for (uint64_t seed = 1; seed < 60; seed++) {
		struct random_profile r = random_profile(
			seed, (struct random_shape){
				      .n_stacks = 40, .n_samples = 200, .waits = seed % 3 > 0 });
		if (seed % 2)
			r.p->meta.start_wall_ns = 1700000000000000000;
		struct source *sorted = source_of_profile(r.p), *lying = top_rows_open(r.p);
		bool wanted[RANDOM_SERIES];
		int64_t first, end;
		sorted->ops->range(sorted, &first, &end);
		for (int i = 0; i < 20 && !sorted->is_block; i++) {
			uint64_t span = (uint64_t)(end - first);
			int64_t from = first + (int64_t)rng_below(&r.rng, span);
			int64_t to = from + 1 + (int64_t)rng_below(&r.rng, span);
			for (size_t k = 0; k < RANDOM_SERIES; k++)
				wanted[k] = rng_below(&r.rng, 2);
			struct row_digest a = digest(sorted, wanted, from, to),
					  b = digest(lying, wanted, from, to);
			ck_assert_uint_eq(a.n, b.n);
			ck_assert_uint_eq(a.sum, b.sum);
			seen += a.n;
		}
		source_close(sorted);
		source_close(lying);
		profile_free(r.p);
	}
	ck_assert_uint_gt(seen, 1000);
}
END_TEST

/* --- two dictionaries ------------------------------------------------------------------------- */

struct two_sources {
	struct source base;
	struct source *part[2];
};

static const struct profile *two_catalog(struct source *base)
{
	struct source *first = ((struct two_sources *)base)->part[0];
	return first->ops->catalog(first);
}

static int two_rows(struct source *base, const bool *wanted, int64_t from_ns, int64_t to_ns,
		    source_row_fn row, void *ctx, struct err *err)
{
	struct two_sources *t = (struct two_sources *)base;
	int rc = 0;
	for (int i = 0; rc == 0 && i < 2; i++)
		rc = t->part[i]->ops->rows(t->part[i], wanted, from_ns, to_ns, row, ctx, err);
	return rc;
}

/* The same samples again, with their own dictionary, double the values, not the number of functions. */
START_TEST(functions_of_two_dictionaries_are_put_together)
{
	static const struct source_ops ops = { .catalog = two_catalog, .rows = two_rows };
	const struct random_shape shape = { .n_stacks = 60, .n_samples = 200 };
	struct random_profile one = random_profile(7, shape), same = random_profile(7, shape);
	struct two_sources both = { { .ops = &ops },
				    { source_of_profile(one.p), source_of_profile(same.p) } };
	struct look l = {
		.source = both.part[0], .type = one.cpu, .pid = SAMPLE_NO_ID, .tid = SAMPLE_NO_ID
	};
	struct function_sums sums = { 0 }, twice = { 0 };
	struct err err = { 0 };
	both.part[0]->ops->range(both.part[0], &l.from_ns, &l.to_ns);
	ck_assert_int_eq(function_sums_make(&sums, &l, &err), 0);
	l.source = &both.base;
	ck_assert_int_eq(function_sums_make(&twice, &l, &err), 0);
	ck_assert_int_eq(twice.total, 2 * sums.total);
	ck_assert_uint_eq(twice.order.n, sums.order.n);
	for (size_t i = 0; i < sums.order.n; i++) {
		const struct function_sum *a = &sums.all.v[sums.order.v[i]],
					  *b = &twice.all.v[twice.order.v[i]];
		ck_assert_str_eq(a->name, b->name);
		ck_assert_int_eq(b->self, 2 * a->self);
		ck_assert_int_eq(b->total, 2 * a->total);
		ck_assert(i == 0 || sums.all.v[sums.order.v[i - 1]].self >= a->self);
	}
	function_sums_done(&sums);
	function_sums_done(&twice);
	source_close(both.part[0]);
	source_close(both.part[1]);
	profile_free(one.p);
	profile_free(same.p);
}
END_TEST

START_TEST(a_heatmap_adds_up)
{
	struct known_feed f;
	struct err err = { 0 };
	known_open(&f, samples, sizeof samples / sizeof *samples);
	for (uint32_t type = 0; type < 2; type++)
		for (uint32_t rows = 1; rows < 60; rows += 7) {
			struct scan s = { 0 };
			struct look l = { .source = f.source,
					  .type = type,
					  .to_ns = f.span_ns,
					  .pid = SAMPLE_NO_ID,
					  .tid = SAMPLE_NO_ID };
			int64_t sum = 0;
			ck_assert_int_eq(scan_heat(&s, &l, 40, rows, &err), 0);
			ck_assert_uint_eq(s.heat.columns, 2);
			for (uint32_t i = 0; i < s.heat.columns * rows; i++)
				sum += s.heat.cells[i];
			ck_assert_int_le(llabs(sum - s.total), rows * 2); /* cells are rounded */
			ck_assert_int_eq(s.total, type ? 500 * MS : 1000 * MS);
			scan_done(&s);
		}
	known_close(&f);
}
END_TEST

UNIT_MAIN("tui_sums", functions_equal_those_of_the_tree, unsorted_rows_equal_a_sorted_source,
	  functions_of_two_dictionaries_are_put_together, a_heatmap_adds_up)
