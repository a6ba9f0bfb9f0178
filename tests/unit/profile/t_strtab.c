// tier: test
#include "unit.h"

#include "profile/strtab.h"

START_TEST(id_0_is_the_empty_string)
{
	struct strtab t;
	strtab_init(&t);
	ck_assert_uint_eq(strtab_put(&t, ""), 0);
	ck_assert_uint_eq(strtab_put(&t, NULL), 0);
	ck_assert_uint_eq(strtab_putn(&t, NULL, 0), 0);
	ck_assert_uint_eq(strtab_find(&t, ""), 0);
	ck_assert_str_eq(strtab_get(&t, 0), "");
	ck_assert_uint_eq(strtab_len(&t, 0), 0);
	strtab_done(&t);
}
END_TEST

START_TEST(equal_strings_have_equal_ids_and_text_stays_in_place)
{
	enum { N = 50000 };
	struct strtab t;
	char text[64];
	strtab_init(&t);
	uint32_t first = strtab_put(&t, "first");
	const char *where = strtab_get(&t, first);
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < N; i++) {
			snprintf(text, sizeof text, "%u%.*s", i, (int)(i % 40),
				 "........................................");
			uint32_t id = strtab_put(&t, text);
			if (id != i + 2 || strcmp(strtab_get(&t, id), text) ||
			    strtab_len(&t, id) != strlen(text) || strtab_find(&t, text) != id)
				ck_abort_msg("%s has id %u", text, id);
		}
	ck_assert_uint_eq(t.all.n, N + 2);
	ck_assert_ptr_eq(strtab_get(&t, first), where);
	strtab_done(&t);
}
END_TEST

START_TEST(missing_strings_are_not_found)
{
	struct strtab t;
	strtab_init(&t);
	ck_assert_uint_eq(strtab_find(&t, "a"), UINT32_MAX);
	strtab_put(&t, "a");
	ck_assert_uint_eq(strtab_find(&t, "a"), 1);
	ck_assert_uint_eq(strtab_find(&t, "A"), UINT32_MAX);
	ck_assert_uint_eq(t.all.n, 2);
	strtab_done(&t);
}
END_TEST

START_TEST(strings_are_bytes)
{
	struct strtab t;
	strtab_init(&t);
	uint32_t a = strtab_putn(&t, "a\0b", 3), b = strtab_putn(&t, "a\0c", 3),
		 c = strtab_put(&t, "a");
	ck_assert(a != b && b != c && a != c);
	ck_assert_uint_eq(strtab_len(&t, a), 3);
	ck_assert_mem_eq(strtab_get(&t, a), "a\0b", 4);
	ck_assert_uint_eq(strtab_putn(&t, "\xff\xfe", 2), strtab_put(&t, "\xff\xfe"));
	strtab_done(&t);
}
END_TEST

START_TEST(longer_ones_are_cut)
{
	struct strtab t;
	strtab_init(&t);
	char *text = malloc(STRTAB_MAX_LEN + 3);
	memset(text, 'x', STRTAB_MAX_LEN + 2);
	text[STRTAB_MAX_LEN + 2] = '\0';
	uint32_t id = strtab_put(&t, text);
	ck_assert_uint_eq(strtab_len(&t, id), STRTAB_MAX_LEN);
	ck_assert_uint_eq(strlen(strtab_get(&t, id)), STRTAB_MAX_LEN);
	ck_assert_uint_eq(strtab_find(&t, text), id);
	text[STRTAB_MAX_LEN] = '\0';
	ck_assert_uint_eq(strtab_put(&t, text), id);
	text[STRTAB_MAX_LEN - 1] = '\0';
	ck_assert_uint_ne(strtab_put(&t, text), id);
	free(text);
	strtab_done(&t);
}
END_TEST

UNIT_MAIN("strtab", id_0_is_the_empty_string, equal_strings_have_equal_ids_and_text_stays_in_place,
	  missing_strings_are_not_found, strings_are_bytes, longer_ones_are_cut)
