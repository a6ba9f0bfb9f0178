// tier: test
#include "pprof_cases.h"
#include "random_profile.h"
#include "waits_profile.h"

#include "base/buf.h"
#include "profile/tree/top.h"

START_TEST(a_recording_survives_being_a_pprof_file)
{
	struct profile *p = collected_profile(), *again = written_and_read(p);
	assert_same_profile(p, again, 0);
	struct buf once = written_bytes(p, NULL), twice = written_bytes(again, NULL);
	ck_assert(once.len == twice.len && memcmp(once.data, twice.data, once.len) == 0);
	buf_done(&once);
	buf_done(&twice);
	profile_free(again);
	profile_free(p);
}
END_TEST

static void check_has(const char *text, const char *part)
{
	ck_assert_msg(strstr(text, part) != NULL, "no %s in\n%s", part, text);
}

START_TEST(pprof_shows_a_recording)
{
	char dir[32], path[64];
	if (!has_program("go"))
		T_SKIP("go is not installed");
	struct profile *p = collected_profile();
	temp_dir(dir);
	snprintf(path, sizeof path, "%s/r.pb.gz", dir);
	write_to(p, path);
	char *raw = shell(GO_PPROF " -raw %s 2>&1", path);
	check_has(raw, "PeriodType: cpu nanoseconds\nPeriod: 10101010\n");
	check_has(raw, "Time: 2023-11-14 22:13:20 +0000 UTC\nDuration: 30s\n");
	check_has(raw, "samples/count cpu/nanoseconds\n          2   20202020: 1 2 3 4 5 6 7 8 \n");
	check_has(raw, "comm:[web server]\n                pid:[1234] tid:[1235]");
	check_has(raw, "pid:[1234] tid:[1236]");
	check_has(raw, "1: 0x0 M=2 bpf_prog");
	check_has(raw, "2: 0xffffffff81001234 M=2 ksys_read");
	check_has(raw, "3: 0x0 M=3 LazyCompile:f");
	check_has(raw, "4: 0x0 handler app.py:12");
	check_has(raw, "7: 0xffffffffc0123456 M=5");
	check_has(raw, "8: 0xffff9000000001f0 M=6");
	check_has(raw, "/usr/lib/libc.so.6 abcd");
	check_has(raw, "[kernel.kallsyms]  [FN]");
	check_has(raw, "[jit]  [FN]");
	check_has(raw, "cresset: host=db7");
	check_has(raw, "cresset: lost_ring_full=5");
	free(raw);
	char *top = shell(GO_PPROF " -top %s 2>&1", path);
	check_has(top, "30.30ms   100%   100%    30.30ms   100%  bpf_prog");
	free(top);
	/* File offset 0x28abc is that far from the start of libc's range. */
	char *ranges =
		shell(GO_PPROF " -raw %s 2>&1 | awk '/libc/ {print $2} / 5: 0x/ {print $2}'", path);
	uint64_t address, start, limit, offset;
	ck_assert_int_eq(sscanf(ranges, "%" SCNx64 " %" SCNx64 "/%" SCNx64 "/%" SCNx64, &address,
				&start, &limit, &offset),
			 4);
	ck_assert_uint_eq(address - start + offset, 0x28abc);
	ck_assert(start <= address && address < limit);
	free(ranges);
	profile_free(p);
	shell_do("rm -r %s", dir);
}
END_TEST

START_TEST(every_kind_by_name_survives)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	struct type type = { .name = sink_string(s, "samples"),
			     .sample_type = sink_string(s, "samples"),
			     .unit = sink_string(s, "count") };
	struct series series = { .type = s->ops->type(s, &type) };
	static const char *const files[] = { "", "x.go", "y.py" };
	for (int kind = 0; kind < FRAME_KINDS; kind++) {
		for (int i = 0; i < 3; i++) {
			struct frame f = { .kind = kind, .mapping = MAPPING_NONE };
			f.function = sink_string(s, "work");
			f.file = sink_string(s, files[i]);
			uint32_t frame = s->ops->frame(s, &f);
			struct sample sample = { .value = 1,
						 .series = s->ops->series(s, &series),
						 .stack = s->ops->stack(s, &frame, 1) };
			s->ops->sample(s, &sample);
		}
	}
	struct profile *again = written_and_read(p);
	assert_same_profile(p, again, 0);
	profile_free(again);
	profile_free(p);
}
END_TEST

START_TEST(random_profiles_survive)
{
	struct random_shape shape = { .n_stacks = 60, .n_samples = 400 };
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct random_profile r = random_profile(seed, shape);
		struct profile *again = written_and_read(r.p);
		assert_same_profile(r.p, again, 0);
		struct buf once = written_bytes(r.p, NULL), twice = written_bytes(again, NULL);
		struct profile *third = profile_of_bytes(twice.data, twice.len);
		assert_same_profile(again, third, 0);
		profile_free(third);
		buf_done(&once);
		buf_done(&twice);
		profile_free(again);
		profile_free(r.p);
	}
}
END_TEST

/* Names with any bytes: the file is valid, pprof and protoc read it, and the names are those of esc_utf8. */
START_TEST(hostile_names_make_a_valid_file)
{
	static const char *const names[] = { "<script>alert(1)</script>",
					     "\xff\xfe\x80",
					     "a\nb\tc",
					     "\x1b]0;x\x07",
					     "\xed\xa0\x80",
					     "\xc0\xaf" };
	enum { NAMES = sizeof names / sizeof *names };
	char dir[32], path[64];
	struct pprof_file f = { 0 };
	file_value_type(&f, PROFILE_SAMPLE_TYPE, names[1], names[0]);
	for (int i = 0; i < NAMES; i++) {
		file_function(&f, i + 1, names[i], names[NAMES - 1 - i], 0);
		file_location(&f, i + 1, 0, 0, LINES(i + 1));
		file_sample(&f, i + 1, 1);
	}
	struct profile *p = profile_of_file(&f), *again = written_and_read(p);
	ck_assert_uint_eq(again->samples.n, NAMES);
	ck_assert_uint_ne(strtab_find(&again->strings, names[0]), UINT32_MAX);
	ck_assert_uint_ne(strtab_find(&again->strings, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"),
			  UINT32_MAX);
	profile_free(again);
	temp_dir(dir);
	snprintf(path, sizeof path, "%s/x.pb.gz", dir);
	write_to(p, path);
	profile_free(p);
	if (has_program("protoc")) {
		char *said =
			shell("zcat %s | protoc -Itests/golden/pprof "
			      "--decode=perftools.profiles.Profile profile.proto 2>&1 >/dev/null",
			      path);
		ck_assert_str_eq(said, "");
		free(said);
	}
	if (has_program("go"))
		shell_do(GO_PPROF " -top %s >/dev/null 2>&1", path);
	shell_do("rm -r %s", dir);
}
END_TEST

START_TEST(comments_and_the_rest_are_preserved)
{
	struct pprof_file f;
	begin_locations(&f);
	file_location(&f, 1, 0, 0, LINES(1));
	file_sample(&f, 1, 1);
	pb_put_u64(&f.b, PROFILE_COMMENT, file_text(&f, "a comment"));
	pb_put_u64(&f.b, PROFILE_COMMENT, file_text(&f, "cresset: of the future=1"));
	pb_put_u64(&f.b, PROFILE_COMMENT, file_text(&f, "cresset: cpus=many"));
	pb_put_u64(&f.b, PROFILE_COMMENT, file_text(&f, "cresset: host=db7"));
	pb_put_u64(&f.b, PROFILE_DROP_FRAMES, file_text(&f, "malloc.*"));
	pb_put_u64(&f.b, PROFILE_KEEP_FRAMES, file_text(&f, "keep"));
	pb_put_u64(&f.b, PROFILE_DOC_URL, file_text(&f, "https://example.org/doc"));
	pb_put_u64(&f.b, PROFILE_DEFAULT_SAMPLE_TYPE, file_text(&f, "samples"));
	pb_put_u64(&f.b, PROFILE_TIME_NANOS, 1700000000000000001);
	pb_put_u64(&f.b, PROFILE_DURATION_NANOS, 77);
	struct profile *p = end_locations(&f, 1);
	ck_assert_uint_eq(p->meta.comments.n, 3);
	ck_assert_str_eq(profile_str(p, p->meta.comments.v[0]), "a comment");
	ck_assert_str_eq(profile_str(p, p->meta.host), "db7");
	ck_assert_str_eq(profile_str(p, p->meta.drop_frames), "malloc.*");
	ck_assert_str_eq(profile_str(p, p->meta.doc_url), "https://example.org/doc");
	struct profile *again = written_and_read(p);
	ck_assert_str_eq(profile_str(again, again->meta.default_column), "samples");
	profile_free(again);
	profile_free(p);
}
END_TEST

static size_t label_keys(const struct profile *p, const char *key)
{
	uint32_t id = strtab_find(&p->strings, key);
	size_t n = 0;
	for (size_t i = 0; i < p->series.labels.n; i++)
		n += p->series.labels.v[i].key == id;
	return n;
}

/* The labels repeat what stacks and types say: they do not come back, nor twice. */
START_TEST(states_of_waits_are_labels_for_others_only)
{
	struct profile *p =
		waits_profile(WAITS_CPU | WAITS_OFF_CPU | WAITS_SCHED_WAIT | WAITS_WALL);
	struct profile *again = written_and_read(p);
	assert_same_profile(p, again, 0);
	ck_assert_uint_eq(label_keys(again, "state"), 0);
	struct profile *third = written_and_read(again);
	assert_same_profile(p, third, 0);
	profile_free(third);
	profile_free(again);
	profile_free(p);
}
END_TEST

/* The profile's own labels of that name are unchanged. */
START_TEST(own_labels_called_state_stay)
{
	struct profile *p = waits_profile(WAITS_WALL);
	struct sink *s = profile_sink(p);
	struct label state = { .key = sink_string(s, "state"), .str = sink_string(s, "Bavaria") };
	struct series series = { .type = 0, .labels = s->ops->labels(s, &state, 1) };
	struct sample sample = { .value = 5,
				 .series = s->ops->series(s, &series),
				 .stack = waits_stack(p, "main;[blocked: other]"),
				 .pid = 1,
				 .tid = 1,
				 .cpu = 1 };
	s->ops->sample(s, &sample);
	struct profile *again = written_and_read(p);
	assert_same_profile(p, again, 0);
	ck_assert_uint_eq(label_keys(again, "state"), 1);
	ck_assert_uint_eq(label_keys(again, "reason"), 0);
	profile_free(again);
	profile_free(p);
}
END_TEST

START_TEST(pprof_finds_waits_by_their_state)
{
	char dir[32], path[64];
	if (!has_program("go") || !has_program("protoc"))
		T_SKIP("go or protoc is not installed");
	struct profile *p =
		waits_profile(WAITS_CPU | WAITS_OFF_CPU | WAITS_SCHED_WAIT | WAITS_WALL);
	temp_dir(dir);
	snprintf(path, sizeof path, "%s/w.pb.gz", dir);
	write_to(p, path);
	char *raw = shell(GO_PPROF " -raw %s 2>&1", path);
	check_has(raw,
		  "samples/count cpu/nanoseconds[dflt] off-cpu/nanoseconds sched-wait/nanoseconds "
		  "wall/nanoseconds");
	free(raw);
	static const struct {
		const char *focus, *type, *total;
	} cases[] = {
		{ "state=off-cpu", "wall", "22700ms" },
		{ "state=on-cpu", "wall", "7200ms" },
		{ "state=sched-wait", "wall", "1100ms" },
		{ "state=sched-wait", "sched-wait", "1100ms" },
		{ "state=on-cpu", "cpu", "7000ms" },
		{ "reason=disk", "off-cpu", "2500ms" },
		{ "reason=poll", "off-cpu", "18000ms" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char want[64];
		char *top = shell(GO_PPROF " -unit=ms -sample_index=%s -tagfocus=%s -top %s 2>&1",
				  cases[i].type, cases[i].focus, path);
		snprintf(want, sizeof want, "Showing nodes accounting for %s,", cases[i].total);
		check_has(top, want);
		free(top);
	}
	char *labels = shell("gzip -dc %s | protoc --decode_raw | grep -c 'disk I/O'", path);
	ck_assert_str_eq(
		labels,
		"2\n"); /* the marker and the label's value, each once in the table of strings */
	free(labels);
	profile_free(p);
	shell_do("rm -r %s", dir);
}
END_TEST

UNIT_MAIN("pprof_write", a_recording_survives_being_a_pprof_file, pprof_shows_a_recording,
	  states_of_waits_are_labels_for_others_only, own_labels_called_state_stay,
	  pprof_finds_waits_by_their_state, every_kind_by_name_survives, random_profiles_survive,
	  hostile_names_make_a_valid_file, comments_and_the_rest_are_preserved)
