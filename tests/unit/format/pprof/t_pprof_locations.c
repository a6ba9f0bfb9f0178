// tier: test
#include "pprof_cases.h"

START_TEST(addresses_become_file_offsets)
{
	struct pprof_file f;
	begin_locations(&f);
	file_location(&f, 1, 1, 0x400123, NULL);
	file_location(&f, 2, 1, 0x400124, LINES(1));
	file_location(&f, 3, 2, 0xffffffff81000010, NULL);
	file_location(&f, 4, 0, 0x1234, NULL);
	file_location(&f, 5, 7, 0x1234, NULL);
	for (int i = 1; i <= 5; i++)
		file_sample(&f, i, i);
	struct profile *p = end_locations(&f, 5);
	ck_assert_uint_eq(frame_of_sample(p, 0)->offset, 0x1123);
	ck_assert_uint_eq(frame_of_sample(p, 1)->offset, 0x1124);
	ck_assert_uint_eq(frame_of_sample(p, 2)->offset, 0xffffffff81000010);
	ck_assert_int_eq(frame_of_sample(p, 2)->kind, FRAME_KERNEL);
	ck_assert_uint_eq(frame_of_sample(p, 3)->offset, 0x1234);
	ck_assert_uint_ne(frame_of_sample(p, 3)->mapping, frame_of_sample(p, 4)->mapping);
	const struct mapping *m = &p->frames.mappings.v[frame_of_sample(p, 0)->mapping];
	ck_assert(m->build_id_len == 3 && memcmp(m->build_id, "\xc0\xff\xee", 3) == 0);
	ck_assert_str_eq(profile_str(p, p->frames.mappings.v[1].name), "[kernel]");
	profile_free(p);
}
END_TEST

START_TEST(locations_without_address_are_known_by_name)
{
	struct pprof_file f;
	begin_locations(&f);
	file_location(&f, 1, 0, 0, LINES(1));
	file_location(&f, 2, 0, 0, LINES(2));
	file_location(&f, 3, 7, 0, LINES(3));
	file_location(&f, 4, 2, 0, LINES(4));
	for (int i = 1; i <= 4; i++)
		file_sample(&f, i, i);
	struct profile *p = end_locations(&f, 4);
	static const enum frame_kind kinds[] = { FRAME_NATIVE, FRAME_GO, FRAME_PYTHON,
						 FRAME_KERNEL };
	for (int i = 0; i < 4; i++) {
		ck_assert_uint_eq(frame_of_sample(p, i)->mapping, MAPPING_NONE);
		ck_assert_int_eq(frame_of_sample(p, i)->kind, kinds[i]);
		ck_assert_uint_eq(frame_of_sample(p, i)->line, 10 * (i + 1));
	}
	profile_free(p);
}
END_TEST

/* A library without addresses is that of its functions; its mapping is not written twice. */
START_TEST(locations_without_address_retain_their_library)
{
	struct pprof_file f;
	begin_locations(&f);
	file_mapping(&f, 3, 0, 0, 0, "/lib/app.jar", "");
	file_mapping(&f, 4, 0, 0, 0, "/lib/never.jar", "");
	file_location(&f, 1, 1, 0, LINES(1));
	file_location(&f, 2, 3, 0, LINES(1));
	file_location(&f, 3, 3, 0, LINES(3));
	file_location(&f, 4, 0, 0, LINES(1));
	file_location(&f, 5, 3, 0x123, LINES(2));
	for (int i = 1; i <= 5; i++)
		file_sample(&f, i, i);
	struct profile *p = end_locations(&f, 5);
	static const char *const binaries[] = { "/bin/prog", "/lib/app.jar", "/lib/app.jar", "" };
	for (int i = 0; i < 4; i++) {
		ck_assert_uint_eq(frame_of_sample(p, i)->mapping, MAPPING_NONE);
		ck_assert_str_eq(profile_str(p, frame_of_sample(p, i)->binary), binaries[i]);
	}
	ck_assert_int_eq(frame_of_sample(p, 2)->kind, FRAME_PYTHON);
	ck_assert_uint_eq(frame_of_sample(p, 4)->offset, 0x123);
	struct profile *again = written_and_read(p);
	ck_assert_uint_eq(again->frames.mappings.n, p->frames.mappings.n);
	profile_free(again);
	profile_free(p);
}
END_TEST

/* One function with different functions inlined into it, and one address with different names: neither may be merged. */
START_TEST(locations_that_differ_in_names_only_stay_apart)
{
	struct pprof_file f;
	begin_locations(&f);
	file_location(&f, 1, 0, 0, LINES(4));
	file_location(&f, 2, 0, 0, LINES(1, 4));
	file_location(&f, 3, 0, 0, LINES(2, 4));
	file_location(&f, 4, 0, 0, LINES(1, 2, 4));
	file_location(&f, 5, 1, 0, LINES(1));
	file_location(&f, 6, 1, 0, LINES(2));
	file_location(&f, 7, 1, 0x400010, LINES(1));
	file_location(&f, 8, 1, 0x400010, LINES(3));
	file_location(&f, 9, 1, 0, NULL);
	for (int i = 1; i <= 9; i++)
		file_sample(&f, i, i);
	struct profile *p = end_locations(&f, 9);
	struct shown_line lines[4];
	uint32_t frame = stack_leaf(&p->stacks, p->samples.stack[3]);
	ck_assert_uint_eq(profile_frame_lines(p, frame, lines, 4), 3);
	ck_assert_str_eq(profile_str(p, lines[0].name), "one");
	ck_assert_str_eq(profile_str(p, lines[2].name), "four");
	profile_free(p);
}
END_TEST

/* The names of one location are the names of its address. */
START_TEST(a_location_without_names_agrees_with_one_that_has_some)
{
	struct pprof_file f;
	begin_locations(&f);
	file_location(&f, 1, 1, 0x400010, NULL);
	file_location(&f, 2, 1, 0x400010, LINES(1));
	file_location(&f, 3, 1, 0x400010, NULL);
	for (int i = 1; i <= 3; i++)
		file_sample(&f, i, i);
	struct profile *p = profile_of_file(&f), *again = written_and_read(p);
	ck_assert_uint_eq(p->stacks.stacks.n, 1 + 1);
	assert_same_profile(p, again, SPELL_MAPPINGS);
	profile_free(again);
	profile_free(p);
}
END_TEST

/* Two files with the same chain of inlined functions agree on its frame, whatever else they contain. */
START_TEST(chains_are_equal_in_every_file)
{
	struct pprof_file f;
	begin_locations(&f);
	file_location(&f, 1, 0, 0, LINES(1, 4));
	file_location(&f, 2, 0, 0, LINES(2, 4));
	file_sample(&f, 1, 1);
	file_sample(&f, 2, 1);
	struct profile *a = profile_of_file(&f);
	begin_locations(&f);
	file_location(&f, 77, 0, 0, LINES(2, 4));
	file_location(&f, 5, 0, 0, LINES(3));
	file_location(&f, 3, 0, 0, LINES(1, 4));
	file_sample(&f, 77, 1);
	file_sample(&f, 5, 1);
	file_sample(&f, 3, 1);
	struct profile *b = profile_of_file(&f);
	profile_merge(a, b);
	ck_assert_uint_eq(a->stacks.stacks.n, 1 + 3);
	profile_free(a);
	profile_free(b);
}
END_TEST

START_TEST(every_field_of_a_line_is_preserved)
{
	struct pprof_file f;
	begin_locations(&f);
	size_t fn = pb_begin(&f.b, PROFILE_FUNCTION);
	pb_put_u64(&f.b, FUNCTION_ID, 9);
	pb_put_u64(&f.b, FUNCTION_NAME, file_text(&f, "shown"));
	pb_put_u64(&f.b, FUNCTION_SYSTEM_NAME, file_text(&f, "_Zlinked"));
	pb_put_u64(&f.b, FUNCTION_FILENAME, file_text(&f, "x.cc"));
	pb_put_u64(&f.b, FUNCTION_START_LINE, 5);
	pb_end(&f.b, fn);
	size_t location = pb_begin(&f.b, PROFILE_LOCATION);
	pb_put_u64(&f.b, LOCATION_ID, 1);
	size_t line = pb_begin(&f.b, LOCATION_LINE);
	pb_put_u64(&f.b, LINE_FUNCTION_ID, 9);
	pb_put_u64(&f.b, LINE_LINE, 6);
	pb_put_u64(&f.b, LINE_COLUMN, 7);
	pb_end(&f.b, line);
	pb_put_u64(&f.b, LOCATION_IS_FOLDED, 1);
	pb_end(&f.b, location);
	file_sample(&f, 1, 1);
	struct profile *p = end_locations(&f, 1);
	const struct line *lines;
	ck_assert_uint_eq(names_get(&p->names, stack_leaf(&p->stacks, p->samples.stack[0]), &lines),
			  1);
	const struct function *function = &p->names.functions.v[lines[0].function];
	ck_assert_str_eq(profile_str(p, function->name), "shown");
	ck_assert_str_eq(profile_str(p, function->linkage), "_Zlinked");
	ck_assert_uint_eq(function->start_line, 5);
	ck_assert_uint_eq(lines[0].line, 6);
	ck_assert_uint_eq(lines[0].column, 7 | LINE_FOLDED);
	profile_free(p);
}
END_TEST

UNIT_MAIN("pprof_locations", addresses_become_file_offsets,
	  locations_without_address_are_known_by_name,
	  locations_without_address_retain_their_library,
	  locations_that_differ_in_names_only_stay_apart,
	  a_location_without_names_agrees_with_one_that_has_some, chains_are_equal_in_every_file,
	  every_field_of_a_line_is_preserved)
