// tier: test
#include "rand.h"
#include "unit.h"

#include "profile/series.h"

START_TEST(types_differ_in_every_part)
{
	struct series_table t = { 0 };
	struct type type = { .name = 1 };
	uint32_t first = type_intern(&t, &type);
	uint32_t *const parts[] = { &type.sample_type, &type.unit, &type.period_type,
				    &type.period_unit, &type.name };
	for (uint32_t i = 0; i < 5; i++) {
		*parts[i] = 7;
		ck_assert_uint_eq(type_intern(&t, &type), first + i + 1);
		ck_assert_uint_eq(type_intern(&t, &type), first + i + 1);
	}
	type.aggregation = AGG_SNAPSHOT;
	ck_assert_uint_eq(type_intern(&t, &type), first + 6);
	series_table_done(&t);
}
END_TEST

START_TEST(label_sets_are_sorted_and_have_no_doubles)
{
	struct series_table t = { 0 };
	struct label a = { .key = 2, .str = 9 }, b = { .key = 1, .str = 8 },
		     c = { .key = 2, .str = 4 };
	uint32_t id = label_set_intern(&t, (struct label[]){ a, b, c, a, a }, 5);
	ck_assert_uint_eq(label_set_intern(&t, (struct label[]){ c, a, b }, 3), id);
	ck_assert_uint_eq(t.sets.v[id].n, 3);
	const struct label *got = &t.labels.v[t.sets.v[id].first];
	ck_assert(got[0].key == 1 && got[1].str == 4 && got[2].str == 9);
	ck_assert_uint_eq(label_set_intern(&t, NULL, 0), 0);
	ck_assert_uint_ne(id, 0);
	ck_assert_uint_ne(label_set_intern(&t, (struct label[]){ a, b }, 2), id);
	series_table_done(&t);
}
END_TEST

START_TEST(numbers_and_strings_are_different_labels)
{
	struct series_table t = { 0 };
	struct label str = { .key = 1, .str = 5 }, num = { .key = 1, .num = 5, .is_num = 1 };
	struct label unit = num, stale = str;
	unit.unit = 3;
	stale.num = 77; /* ignored in a string label */
	uint32_t a = label_set_intern(&t, &str, 1), b = label_set_intern(&t, &num, 1);
	uint32_t c = label_set_intern(&t, &unit, 1);
	ck_assert(a != b && b != c && a != c);
	ck_assert_uint_eq(label_set_intern(&t, &stale, 1), a);
	num.num = -5;
	ck_assert_uint_ne(label_set_intern(&t, &num, 1), b);
	series_table_done(&t);
}
END_TEST

START_TEST(labels_are_found_by_key)
{
	struct series_table t = { 0 };
	ck_assert_ptr_null(label_find(&t, 0, 1));
	struct label labels[] = { { .key = 4, .str = 1 },
				  { .key = 2, .str = 9 },
				  { .key = 2, .str = 3 } };
	uint32_t id = label_set_intern(&t, labels, 3);
	ck_assert_uint_eq(label_find(&t, id, 4)->str, 1);
	ck_assert_uint_eq(label_find(&t, id, 2)->str, 3);
	ck_assert_ptr_null(label_find(&t, id, 3));
	ck_assert_ptr_null(label_find(&t, id, UINT32_MAX));
	ck_assert_ptr_null(label_find(&t, 0, 4));
	series_table_done(&t);
}
END_TEST

START_TEST(series_are_interned)
{
	struct series_table t = { 0 };
	uint32_t type = type_intern(&t, &(struct type){ .name = 1 });
	uint32_t other = type_intern(&t, &(struct type){ .name = 2 });
	struct series s = { .type = type, .period = 10 };
	uint32_t a = series_intern(&t, &s);
	s.period = -10;
	uint32_t b = series_intern(&t, &s);
	s.type = other;
	uint32_t c = series_intern(&t, &s);
	s.labels = label_set_intern(&t, &(struct label){ .key = 1, .str = 2 }, 1);
	uint32_t d = series_intern(&t, &s);
	ck_assert(a == 0 && b == 1 && c == 2 && d == 3);
	ck_assert_uint_eq(series_intern(&t, &s), d);
	ck_assert_uint_eq(t.series.n, 4);
	series_table_done(&t);
}
END_TEST

/* Sets are equal if and only if they have the same labels, in any order. There are few labels, so sets are bits of a mask. */
START_TEST(random_sets_are_equal_when_they_hold_the_same)
{
	enum { LABELS = 10, ROUNDS = 5000 };
	struct series_table t = { 0 };
	struct rng r = { 3 };
	uint32_t id_of_mask[1 << LABELS];
	memset(id_of_mask, 0xff, sizeof id_of_mask);
	size_t n_masks = 0;
	for (int round = 0; round < ROUNDS; round++) {
		struct label labels[12];
		uint32_t n = rng_below(&r, 13), mask = 0;
		for (uint32_t i = 0; i < n; i++) {
			uint32_t k = rng_below(&r, LABELS);
			labels[i] = (struct label){ .key = k / 4, .num = k, .is_num = 1 };
			mask |= 1u << k;
		}
		uint32_t id = label_set_intern(&t, labels, n);
		n_masks += id_of_mask[mask] == UINT32_MAX;
		if (id_of_mask[mask] == UINT32_MAX)
			id_of_mask[mask] = id;
		if (id_of_mask[mask] != id || t.sets.v[id].n != (uint32_t)__builtin_popcount(mask))
			ck_abort_msg("set %x has id %u", mask, id);
	}
	ck_assert_uint_eq(t.sets.n, n_masks);
	series_table_done(&t);
}
END_TEST

UNIT_MAIN("series", types_differ_in_every_part, label_sets_are_sorted_and_have_no_doubles,
	  numbers_and_strings_are_different_labels, labels_are_found_by_key, series_are_interned,
	  random_sets_are_equal_when_they_hold_the_same)
