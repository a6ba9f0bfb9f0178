// tier: test
#include "base/buf.h"
#include "base/err.h"
#include "format/formats.h"
#include "pprof_cases.h"
#include "rand.h"

#include <errno.h>

START_TEST(a_file_cut_anywhere_is_an_error_or_readable)
{
	struct profile *p = collected_profile();
	struct buf b = written_bytes(p, NULL);
	ck_assert_int_eq(fs_unpack(&b, 1 << 20, NULL), 0);
	int errors = 0;
	for (size_t len = 0; len < b.len; len++) {
		struct profile *cut = profile_new();
		struct err err = { 0 };
		char *copy = malloc(len ? len : 1); /* of exact size, for the sanitizer */
		memcpy(copy, b.data, len);
		int rc = read_bytes(copy, len, cut, &err);
		ck_assert(rc == 0 || (rc == -EBADMSG && err.text[0]));
		errors += rc != 0;
		free(copy);
		profile_free(cut);
	}
	ck_assert_int_gt(errors, (int)b.len / 2);
	buf_done(&b);
	profile_free(p);
}
END_TEST

START_TEST(bad_samples_are_skipped_and_counted)
{
	struct pprof_file f;
	begin_locations(&f);
	file_location(&f, 1, 0, 0, LINES(1));
	file_location(&f, 1, 0, 0, LINES(2));      /* an id again: the first stays */
	file_location(&f, 2, 99, 0, LINES(2, 88)); /* no such mapping, no such function */
	file_sample(&f, 1, 1);
	file_sample(&f, 2, 2);
	file_sample(&f, 3, 4);                             /* no such location */
	put_two_values(&f, 8, 8);                          /* one too many */
	pb_put_bytes(&f.b, PROFILE_SAMPLE, "\x0a\x7f", 2); /* cut inside */
	file_end(&f);
	struct profile *p = profile_of_bytes(f.b.data, f.b.len);
	ck_assert_int_eq(profile_total(p, 0), 3);
	ck_assert_str_eq(profile_str(p, frame_of_sample(p, 0)->function), "one");
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 6);
	profile_free(p);
	buf_done(&f.b);
}
END_TEST

static void check_refused(struct pprof_file *f, const char *words)
{
	struct profile *p = profile_new();
	struct err err = { 0 };
	file_end(f);
	ck_assert_int_eq(read_bytes(f->b.data, f->b.len, p, &err), -EBADMSG);
	ck_assert_msg(strstr(err.text, words) != NULL, "%s", err.text);
	profile_free(p);
	buf_done(&f->b);
}

START_TEST(useless_files_are_refused)
{
	struct pprof_file f;
	begin_locations(&f);
	file_sample(&f, 5, 1);
	file_sample(&f, 6, 1);
	check_refused(&f, "none of 2 samples");
	f = (struct pprof_file){ 0 };
	file_function(&f, 1, "main", "", 0);
	check_refused(&f, "without a sample type");
	f = (struct pprof_file){ 0 };
	for (int i = 0; i <= PPROF_MAX_COLUMNS; i++)
		file_value_type(&f, PROFILE_SAMPLE_TYPE, "a", "b");
	check_refused(&f, "too many");
	f = (struct pprof_file){ 0 };
	buf_adds(&f.b, "\x0b"); /* a group */
	check_refused(&f, "damaged");
}
END_TEST

START_TEST(strings_that_are_not_there_are_empty)
{
	struct pprof_file f = { 0 };
	size_t mark = pb_begin(&f.b, PROFILE_SAMPLE_TYPE);
	pb_put_u64(&f.b, VALUE_TYPE_TYPE, 1000);
	pb_end(&f.b, mark);
	mark = pb_begin(&f.b, PROFILE_FUNCTION);
	pb_put_u64(&f.b, FUNCTION_ID, 1);
	pb_put_u64(&f.b, FUNCTION_NAME, UINT64_MAX);
	pb_end(&f.b, mark);
	file_location(&f, 1, 0, 0, LINES(1));
	file_sample(&f, 1, 3);
	struct profile *p = profile_of_file(&f);
	ck_assert_int_eq(profile_total(p, 0), 3);
	ck_assert_uint_gt(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
	profile_free(p);
}
END_TEST

START_TEST(detected_by_content)
{
	struct profile *p = collected_profile();
	struct buf b = written_bytes(p, NULL);
	ck_assert_int_eq(fs_unpack(&b, 1 << 20, NULL), 0);
	ck_assert(pprof_detect(b.data, b.len));
	ck_assert(pprof_detect(b.data, b.len / 2));
	ck_assert(!pprof_detect(b.data, 0));
	static const char *const texts[] = { "main;a 1\n", "\n\n",      "{\"a\": 1}",     "# x",
					     "2024 1\n",   "*star 1\n", "\"quoted\" 5\n", "<svg",
					     "CRESSET" };
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		ck_assert_msg(!pprof_detect(texts[i], strlen(texts[i])), "%s", texts[i]);
	/* A string of the table, and then letters that are no field. */
	char *head = malloc(INPUT_PEEK);
	memset(head, 'k', INPUT_PEEK);
	memcpy(head, "2\1ak", 4);
	ck_assert(!pprof_detect(head, INPUT_PEEK));
	free(head);
	buf_done(&b);
	profile_free(p);
}
END_TEST

/* Frames deeper than the model's limit: the leaf stays, under a marker. */
START_TEST(too_deep_stacks_retain_their_leaf)
{
	struct pprof_file f;
	begin_locations(&f);
	file_location(&f, 1, 0, 0, LINES(1));
	file_location(&f, 2, 0, 0, LINES(2));
	size_t mark = pb_begin(&f.b, PROFILE_SAMPLE);
	size_t ids = pb_begin(&f.b, SAMPLE_LOCATION_ID);
	for (int i = 0; i < 70000; i++)
		pb_put_varint(&f.b, i ? 2 : 1);
	pb_end(&f.b, ids);
	pb_put_u64(&f.b, SAMPLE_VALUE, 1);
	pb_end(&f.b, mark);
	struct profile *p = profile_of_file(&f);
	ck_assert_uint_eq(stack_depth(&p->stacks, p->samples.stack[0]), STACK_MAX_DEPTH);
	ck_assert_str_eq(profile_str(p, frame_of_sample(p, 0)->function), "one");
	uint32_t *frames = malloc(STACK_MAX_DEPTH * sizeof *frames);
	stack_frames(&p->stacks, p->samples.stack[0], frames);
	ck_assert_int_eq(p->frames.frames.v[frames[0]].kind, FRAME_MARKER);
	free(frames);
	profile_free(p);
}
END_TEST

/* --- odd, and legal or at least met in files of others --- */

/* One sample with this stack and value, each field in its own message, not packed. */
static void put_unpacked(struct pprof_file *f, uint64_t a, uint64_t b, int64_t value)
{
	size_t mark = pb_begin(&f->b, PROFILE_SAMPLE);
	pb_put_u64(&f->b, SAMPLE_LOCATION_ID, a);
	pb_put_u64(&f->b, 99, 1); /* unknown fields of every wire type in between */
	pb_put_fixed64(&f->b, 98, 1);
	pb_put_bytes(&f->b, 97, "?", 1);
	buf_add(&f->b, "\x85\x06\1\2\3\4", 6);
	pb_put_u64(&f->b, SAMPLE_LOCATION_ID, b);
	pb_put_u64(&f->b, SAMPLE_VALUE, value);
	pb_end(&f->b, mark);
}

static void put_packed(struct pprof_file *f, uint64_t a, uint64_t b, int64_t value)
{
	size_t mark = pb_begin(&f->b, PROFILE_SAMPLE);
	size_t list = pb_begin(&f->b, SAMPLE_LOCATION_ID);
	pb_put_varint(&f->b, a);
	pb_put_varint(&f->b, b);
	pb_end(&f->b, list);
	list = pb_begin(&f->b, SAMPLE_VALUE);
	pb_put_varint(&f->b, value);
	pb_end(&f->b, list);
	pb_end(&f->b, mark);
}

START_TEST(any_encoding_of_unknown_fields_and_ids)
{
	static const uint64_t ids[] = { 1, 2, 300, UINT32_MAX, 1ull << 40, UINT64_MAX };
	enum { IDS = sizeof ids / sizeof *ids };
	struct pprof_file f;
	begin_locations(&f);
	for (int i = 0; i < IDS; i++)
		file_location(&f, ids[i], 0, 0, LINES(i % 4 + 1));
	for (int i = 0; i < IDS; i++) {
		put_packed(&f, ids[i], ids[(i + 1) % IDS], -5);
		put_unpacked(&f, ids[i], ids[(i + 1) % IDS], 6);
	}
	pb_put_u64(&f.b, 77, 5);
	pb_put_bytes(&f.b, 78, "not yet invented", 16);
	struct profile *p = profile_of_file(&f);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
	ck_assert_int_eq(profile_total(p, 0), IDS);
	ck_assert_uint_eq(p->samples.n, 2 * IDS);
	for (size_t i = 0; i < p->samples.n; i += 2)
		ck_assert_uint_eq(p->samples.stack[i], p->samples.stack[i + 1]);
	profile_free(p);
}
END_TEST

/* Locations from `from` to `to`, as one packed list. */
static void put_list(struct pprof_file *f, const uint8_t *ids, uint32_t from, uint32_t to)
{
	size_t list = pb_begin(&f->b, SAMPLE_LOCATION_ID);
	for (uint32_t i = from; i < to; i++)
		pb_put_varint(&f->b, ids[i]);
	pb_end(&f->b, list);
}

/* A sample of n locations in one of four forms: one list, two lists, a list between single ones, single ones. */
static void put_spelled(struct pprof_file *f, const uint8_t *ids, uint32_t n, uint32_t spelling)
{
	uint32_t third = n / 3, from[] = { 0, 0, third, n }, to[] = { n, third, n - third, n };
	size_t mark = pb_begin(&f->b, PROFILE_SAMPLE);
	for (uint32_t i = 0; i < from[spelling]; i++)
		pb_put_u64(&f->b, SAMPLE_LOCATION_ID, ids[i]);
	put_list(f, ids, from[spelling], to[spelling]);
	if (spelling == 1)
		put_list(f, ids, third, n);
	for (uint32_t i = to[spelling]; spelling == 2 && i < n; i++)
		pb_put_u64(&f->b, SAMPLE_LOCATION_ID, ids[i]);
	pb_put_u64(&f->b, SAMPLE_VALUE, n + 1);
	pb_end(&f->b, mark);
}

/* The stack of a row is these locations, leaf first. */
static void assert_stack(const struct profile *p, size_t row, const uint32_t *frame_of_location,
			 const uint8_t *ids, uint32_t n)
{
	uint32_t frames[16];
	ck_assert_uint_eq(stack_depth(&p->stacks, p->samples.stack[row]), n);
	stack_frames(&p->stacks, p->samples.stack[row], frames);
	for (uint32_t i = 0; i < n; i++)
		ck_assert_uint_eq(frames[n - 1 - i], frame_of_location[ids[i]]);
}

/* Few locations: most lists repeat, near and far, and some name a missing location. */
START_TEST(stacks_that_repeat_in_any_spelling)
{
	enum { N = 3000, LOCATIONS = 4, DEEPEST = 9 };
	static uint8_t ids[N][DEEPEST];
	static uint32_t n[N];
	uint32_t frame_of_location[LOCATIONS + 1], row = 0, bad = 0;
	struct rng r = { 3 };
	struct pprof_file f;
	begin_locations(&f);
	for (int i = 1; i <= LOCATIONS; i++) {
		file_location(&f, i, 0, 0, LINES(i));
		file_sample(&f, i, 1);
	}
	for (int i = 0; i < N; i++) {
		n[i] = rng_below(&r, DEEPEST + 1);
		for (uint32_t k = 0; k < n[i]; k++)
			ids[i][k] = 1 + rng_below(&r, rng_below(&r, 20) ? 2 : LOCATIONS + 1);
		put_spelled(&f, ids[i], n[i], rng_below(&r, 4));
	}
	struct profile *p = profile_of_file(&f);
	for (int i = 1; i <= LOCATIONS; i++)
		frame_of_location[i] = stack_leaf(&p->stacks, p->samples.stack[row++]);
	for (int i = 0; i < N; i++)
		if (memchr(ids[i], LOCATIONS + 1, n[i]))
			bad++;
		else
			assert_stack(p, row++, frame_of_location, ids[i], n[i]);
	ck_assert_uint_eq(p->samples.n, row);
	ck_assert_uint_gt(bad, N / 100);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], bad);
	profile_free(p);
}
END_TEST

/* Id 0 means none: the entries are skipped, and locations have no mapping or line then. */
START_TEST(ids_of_zero_name_nothing)
{
	struct pprof_file f;
	begin_locations(&f);
	file_mapping(&f, 0, 0x1000, 0x2000, 0, "/never", "");
	file_function(&f, 0, "never", "", 0);
	file_location(&f, 0, 1, 0x400010, LINES(1));
	file_location(&f, 1, 0, 0x10, NULL);
	file_sample(&f, 0, 1);
	file_sample(&f, 1, 2);
	struct profile *p = profile_of_file(&f);
	ck_assert_int_eq(profile_total(p, 0), 2);
	ck_assert_uint_eq(frame_of_sample(p, 0)->offset, 0x10);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 4);
	profile_free(p);
}
END_TEST

START_TEST(a_file_of_next_to_nothing)
{
	/* A sample type without texts, no string table, no tables: a value without a stack. */
	struct pprof_file f = { 0 };
	pb_put_bytes(&f.b, PROFILE_SAMPLE_TYPE, "", 0);
	size_t mark = pb_begin(&f.b, PROFILE_SAMPLE);
	pb_put_u64(&f.b, SAMPLE_VALUE, 7);
	pb_end(&f.b, mark);
	struct profile *p = profile_of_file(&f), *again = written_and_read(p);
	ck_assert_int_eq(profile_total(p, 0), 7);
	ck_assert_uint_eq(p->samples.stack[0], 0);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
	assert_same_profile(p, again, SPELL_MAPPINGS);
	profile_free(again);
	profile_free(p);
}
END_TEST

START_TEST(invalid_utf8_is_read_unchanged)
{
	struct pprof_file f;
	begin_locations(&f);
	file_function(&f, 9, "\xff\xc0 name", "\x80.c", 0);
	file_location(&f, 1, 0, 0, LINES(9));
	file_sample(&f, 1, 1);
	struct profile *p = profile_of_file(&f), *again = written_and_read(p);
	ck_assert_str_eq(profile_str(p, frame_of_sample(p, 0)->function), "\xff\xc0 name");
	ck_assert_str_eq(profile_str(again, frame_of_sample(again, 0)->function),
			 "\ufffd\ufffd name");
	profile_free(again);
	profile_free(p);
}
END_TEST

/* Consecutive gzip members are one file, wherever they are split. */
START_TEST(gzip_of_several_members)
{
	char dir[32], path[64];
	struct err err = { 0 };
	temp_dir(dir);
	shell_do("zcat tests/golden/pprof/parca-fib.pb.gz >%s/plain", dir);
	shell_do("cd %s && (head -c 1 plain | gzip; head -c 3000 plain | tail -c +2 | gzip; "
		 "tail -c +3001 plain | gzip; printf '' | gzip) >members",
		 dir);
	snprintf(path, sizeof path, "%s/members", dir);
	struct profile *p = profile_new(), *want = read_golden("parca-fib");
	ck_assert_int_eq(format_read_file(path, NULL, profile_sink(p), &err), 0);
	assert_same_profile(want, p, 0);
	profile_free(want);
	profile_free(p);
	shell_do("rm -r %s", dir);
}
END_TEST

UNIT_MAIN("pprof_odd", a_file_cut_anywhere_is_an_error_or_readable,
	  bad_samples_are_skipped_and_counted, useless_files_are_refused,
	  strings_that_are_not_there_are_empty, detected_by_content,
	  too_deep_stacks_retain_their_leaf, any_encoding_of_unknown_fields_and_ids,
	  stacks_that_repeat_in_any_spelling, ids_of_zero_name_nothing, a_file_of_next_to_nothing,
	  invalid_utf8_is_read_unchanged, gzip_of_several_members)
