#include "pprof_file.h"
#include "random_profile.h"
#include "spelled_profile.h"

#include "profile/top.h"

#include <errno.h>

static struct profile *read_golden(const char *name)
{
	char path[256];
	struct profile *p = profile_new();
	struct err err = { 0 };
	snprintf(path, sizeof path, "tests/golden/pprof/%s.pb.gz", name);
	int rc = format_read_file(path, NULL, profile_sink(p), &err);
	ck_assert_msg(rc == 0, "%s", err.text);
	return p;
}

/* --- known files ------------------------------------------------------------------------------ */

START_TEST(known_files_have_known_totals)
{
	static const struct {
		const char *name, *type;
		int64_t total;
	} files[] = {
		{ "parca-fib", "samples", 2974 },
		{ "parca-profile1", "samples", 48 },
		{ "parca-fgprof", "samples", 208335 },
		{ "parca-fgprof", "time", 2104393918350 },
		{ "parca-alloc_objects", "alloc_objects", 310797348 },
		{ "parca-alloc_objects", "alloc_space", 116044559690 },
		{ "parca-alloc_objects", "inuse_objects", 74172 },
		{ "parca-alloc_objects", "inuse_space", 14730706 },
		{ "parca-labels", "samples", 173 },
		{ "parca-symbolizer-profile", "samples", 930 },
		{ "pprof-cppbench.cpu_no_samples_type", "cpu", 7120000000 },
		{ "speedscope-simple.prof", "samples", 150 },
	};
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		struct profile *p = read_golden(files[i].name);
		uint32_t type = profile_pick_type(p, files[i].type);
		ck_assert_uint_ne(type, UINT32_MAX);
		ck_assert_int_eq(profile_total(p, type), files[i].total);
		ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
		profile_free(p);
	}
}
END_TEST

START_TEST(labels_and_columns_are_kept)
{
	struct profile *p = read_golden("parca-alloc_objects");
	uint32_t bytes = strtab_find(&p->strings, "bytes");
	uint32_t labels = p->series.series.v[p->samples.series[0]].labels;
	const struct label *l = label_find(&p->series, labels, bytes);
	ck_assert(l && l->is_num && l->num == 48 && l->unit == 0);
	ck_assert_str_eq(profile_str(p, p->series.types.v[p->meta.default_type].sample_type),
			 "alloc_space");
	ck_assert_uint_eq(p->meta.sample_types.n, 4);
	profile_free(p);
}
END_TEST

/* --- go tool pprof and protoc as witnesses ---------------------------------------------------- */

#define GO_PPROF "TZ=UTC go tool pprof -symbolize=none"

static const char *const golden_names[] = { "parca-alloc_objects",
					    "parca-fgprof",
					    "parca-fib",
					    "parca-labels",
					    "parca-no-python",
					    "parca-profile1",
					    "parca-single-stack",
					    "parca-symbolizer-profile",
					    "parca-two-stacks",
					    "pprof-cppbench.cpu_no_samples_type",
					    "pprof-go.nomappings.crash",
					    "speedscope-simple.prof" };
enum { GOLDEN_NAMES = sizeof golden_names / sizeof *golden_names };

static bool has_program(const char *name)
{
	char *found = shell("command -v %s || true", name);
	bool has = *found;
	free(found);
	return has;
}

static void write_to(struct profile *p, const char *path)
{
	struct format_write_opts opts = { 0 };
	struct err err = { 0 };
	int rc = format_write_file(&format_pprof, p, &opts, path, &err);
	ck_assert_msg(rc == 0, "%s", err.text);
}

/* Every golden file, read and written again, in a folder; the first half of a test. */
static void rewrite_golden(char dir[32])
{
	char path[128];
	temp_dir(dir);
	for (size_t i = 0; i < GOLDEN_NAMES; i++) {
		struct profile *p = read_golden(golden_names[i]);
		snprintf(path, sizeof path, "%s/%s.pb.gz", dir, golden_names[i]);
		write_to(p, path);
		profile_free(p);
	}
}

START_TEST(pprof_finds_every_sample_location_and_mapping_again)
{
	char dir[32];
	if (!has_program("go"))
		T_SKIP("go is not installed");
	rewrite_golden(dir);
	for (size_t i = 0; i < GOLDEN_NAMES; i++) {
		char *got = shell(GO_PPROF " -raw %s/%s.pb.gz 2>&1", dir, golden_names[i]);
		char *want =
			shell("zcat tests/golden/pprof/expected/%s.raw.txt.gz", golden_names[i]);
		ck_assert_msg(strcmp(got, want) == 0, "%s", golden_names[i]);
		free(got);
		free(want);
	}
	shell_do("rm -r %s", dir);
}
END_TEST

START_TEST(pprof_finds_the_same_top_functions)
{
	char dir[32];
	if (!has_program("go"))
		T_SKIP("go is not installed");
	rewrite_golden(dir);
	char *said = shell(
		"cd tests/golden/pprof/expected && n=0 && for want in *.top.*.txt; do "
		"name=${want%%.top.*} type=${want##*.top.} type=${type%%.txt}; "
		"[ -e %s/$name.pb.gz ] || continue; n=$((n + 1)); " GO_PPROF
		" -top -unit=auto -nodecount=10 -nodefraction=0 -sample_index=$type %s/$name.pb.gz "
		"2>/dev/null "
		"| cmp -s - $want || echo differs: $want; done; echo $n",
		dir, dir);
	ck_assert_str_eq(said, "23\n");
	free(said);
	shell_do("rm -r %s", dir);
}
END_TEST

/* Also what pprof -raw does not show: tables have the length they had. */
START_TEST(protoc_decodes_what_is_written)
{
	char dir[32];
	if (!has_program("protoc"))
		T_SKIP("protoc is not installed");
	rewrite_golden(dir);
	for (size_t i = 0; i < GOLDEN_NAMES; i++) {
		char *said = shell(
			"for f in tests/golden/pprof/%s.pb.gz %s/%s.pb.gz; do zcat $f | protoc "
			"-Itests/golden/pprof --decode=perftools.profiles.Profile profile.proto "
			"2>&1 | "
			"grep -E '^(sample_type|mapping|[a-z_]*nanos|period|warning)|  "
			"(filename|build_id|"
			"memory_|file_offset|has_|num_unit)' | sed "
			"'s/\\(filename\\|build_id\\|num_unit\\): .*/\\1/' | "
			"sort | uniq -c | md5sum; done",
			golden_names[i], dir, golden_names[i]);
		size_t half = strlen(said) / 2;
		ck_assert_msg(half > 0 && memcmp(said, said + half, half) == 0, "%s: %s",
			      golden_names[i], said);
		free(said);
	}
	shell_do("rm -r %s", dir);
}
END_TEST

/* Self and total of the functions of a type; rows of pprof's text: flat flat% sum% cum cum% name
 * [(inline)]. */
static void check_top(const char *name, const char *type)
{
	struct profile *p = read_golden(name);
	struct tree_opts opts = { .type = profile_pick_type(p, type) };
	struct tree *t;
	struct top_table top = { 0 };
	int rows = 0;
	ck_assert_int_eq(tree_build(p, &opts, &t, NULL), 0);
	top_build(t, &top);
	char *text =
		shell("sed 's/ (inline)$//' tests/golden/pprof/expected/%s.top.%s.txt", name, type);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		long long flat, cum;
		char function[512];
		if (sscanf(line, "%lld %*f%% %*f%% %lld %*f%% %511s", &flat, &cum, function) != 3)
			continue;
		bool found = false;
		for (size_t i = 0; i < top.rows.n && !found; i++) {
			const struct top_row *r = &top.rows.v[i];
			found = strcmp(strtab_get(&t->strings, t->funcs.v[r->func].name),
				       function) == 0 &&
				r->self == flat && r->total == cum;
		}
		ck_assert_msg(found, "%s: %s", name, line);
		rows++;
	}
	ck_assert_int_gt(rows, 3);
	free(text);
	top_done(&top);
	tree_free(t);
	profile_free(p);
}

START_TEST(our_own_table_says_the_same)
{
	check_top("parca-fib", "samples");
	check_top("parca-profile1", "samples");
	check_top("parca-fgprof", "samples");
	check_top("parca-labels", "samples");
	check_top("parca-alloc_objects", "alloc_objects");
	check_top("parca-alloc_objects", "inuse_objects");
}
END_TEST

static const char *const series_times[] = { "1644509272337470000", "1644509275338070000",
					    "1644509278338696000", "1644509281339135000",
					    "1644509284338649000", "1644509287338709000",
					    "1644509290338056000", "1644509293338714000",
					    "1644509296350592000", "1644509299337903000" };
enum { SERIES_TIMES = sizeof series_times / sizeof *series_times };

static struct profile *read_series(int i)
{
	char name[64];
	snprintf(name, sizeof name, "series/%s", series_times[i]);
	return read_golden(name);
}

START_TEST(merged_heap_profiles)
{
	char dir[32], path[64];
	if (!has_program("go"))
		T_SKIP("go is not installed");
	struct profile *all = read_series(0);
	int64_t sum = profile_total(all, profile_pick_type(all, "alloc_space"));
	for (int i = 1; i < SERIES_TIMES; i++) {
		struct profile *one = read_series(i);
		sum += profile_total(one, profile_pick_type(one, "alloc_space"));
		profile_merge(all, one);
		profile_free(one);
	}
	ck_assert_int_eq(profile_total(all, profile_pick_type(all, "alloc_space")), sum);
	temp_dir(dir);
	snprintf(path, sizeof path, "%s/all.pb.gz", dir);
	write_to(all, path);
	/* We say how long all of it took; pprof adds up durations, which are 0 here. */
	char *said = shell(GO_PPROF " -top -nodecount=10 -nodefraction=0 -sample_index=alloc_space "
				    "%s 2>/dev/null | grep -v ^Duration",
			   path);
	char *want = shell("cat tests/golden/pprof/expected/series-merged.top.alloc_space.txt");
	ck_assert_str_eq(said, want);
	free(said);
	free(want);
	profile_free(all);
	shell_do("rm -r %s", dir);
}
END_TEST

START_TEST(last_heap_profile_less_the_first)
{
	char dir[32], path[64];
	if (!has_program("go"))
		T_SKIP("go is not installed");
	temp_dir(dir);
	for (int i = 0; i < SERIES_TIMES; i += SERIES_TIMES - 1) {
		struct profile *p = read_series(i);
		snprintf(path, sizeof path, "%s/%d.pb.gz", dir, i);
		write_to(p, path);
		profile_free(p);
	}
	char *said = shell(GO_PPROF " -top -nodecount=10 -nodefraction=0 -sample_index=alloc_space "
				    "-diff_base %s/0.pb.gz %s/%d.pb.gz 2>/dev/null",
			   dir, dir, SERIES_TIMES - 1);
	char *want =
		shell("cat tests/golden/pprof/expected/series-diff-first-last.top.alloc_space.txt");
	ck_assert_str_eq(said, want);
	free(said);
	free(want);
	shell_do("rm -r %s", dir);
}
END_TEST

/* The same by our own trees: 85200 KiB in newArena, 50747.40 KiB before. */
START_TEST(our_own_difference_says_the_same)
{
	struct profile *first = read_series(0), *last = read_series(SERIES_TIMES - 1);
	struct tree_opts a = { .type = profile_pick_type(first, "alloc_space") };
	struct tree_opts b = { .type = profile_pick_type(last, "alloc_space") };
	struct tree *older, *newer;
	struct top_table top = { 0 };
	ck_assert_int_eq(tree_build(first, &a, &older, NULL), 0);
	ck_assert_int_eq(tree_build(last, &b, &newer, NULL), 0);
	ck_assert_int_eq(older->nodes.v[TREE_ROOT].total * 100 / 1024, 5074740);
	tree_diff(newer, older);
	top_build(newer, &top);
	bool found = false;
	for (size_t i = 0; i < top.rows.n; i++) {
		const struct top_row *r = &top.rows.v[i];
		const char *name = strtab_get(&newer->strings, newer->funcs.v[r->func].name);
		if (strcmp(name, "github.com/dgraph-io/badger/v3/skl.newArena") != 0)
			continue;
		ck_assert_int_eq((r->self - r->other_self) / 1024, 85200);
		found = true;
	}
	ck_assert(found);
	top_done(&top);
	tree_free(older);
	tree_free(newer);
	profile_free(first);
	profile_free(last);
}
END_TEST

/* --- types ------------------------------------------------------------------------------------ */

static void put_pair(struct pprof_file *f, int64_t period)
{
	file_value_type(f, PROFILE_SAMPLE_TYPE, "samples", "count");
	file_value_type(f, PROFILE_SAMPLE_TYPE, "cpu", "nanoseconds");
	file_value_type(f, PROFILE_PERIOD_TYPE, "cpu", "nanoseconds");
	pb_put_u64(&f->b, PROFILE_PERIOD, period);
	file_function(f, 1, "main", "main.c", 0);
	file_location(f, 1, 0, 0, LINES(1));
}

static void put_two_values(struct pprof_file *f, int64_t a, int64_t b)
{
	size_t mark = pb_begin(&f->b, PROFILE_SAMPLE);
	pb_put_u64(&f->b, SAMPLE_LOCATION_ID, 1);
	pb_put_u64(&f->b, SAMPLE_VALUE, a);
	pb_put_u64(&f->b, SAMPLE_VALUE, b);
	pb_end(&f->b, mark);
}

START_TEST(samples_and_their_time_are_one_type)
{
	struct pprof_file f = { 0 };
	put_pair(&f, 1000);
	put_two_values(&f, 3, 3000);
	put_two_values(&f, 0, 0);
	struct profile *p = profile_of_file(&f);
	ck_assert_uint_eq(p->series.types.n, 1);
	ck_assert_str_eq(profile_str(p, p->series.types.v[0].name), "cpu");
	ck_assert_int_eq(p->series.series.v[0].period, 1000);
	ck_assert_int_eq(profile_total(p, 0), 3);
	struct profile *again = written_and_read(p);
	ck_assert_uint_eq(again->series.types.n, 1);
	assert_same_profile(p, again, SPELL_MAPPINGS);
	profile_free(again);
	profile_free(p);
}
END_TEST

START_TEST(times_that_are_not_the_samples_stay)
{
	struct pprof_file f = { 0 };
	put_pair(&f, 1000);
	put_two_values(&f, 3, 3000);
	put_two_values(&f, 1, 1001);
	struct profile *p = profile_of_file(&f);
	ck_assert_uint_eq(p->series.types.n, 2);
	ck_assert_int_eq(profile_total(p, profile_pick_type(p, "samples")), 4);
	ck_assert_int_eq(profile_total(p, profile_pick_type(p, "cpu")), 4001);
	struct profile *again = written_and_read(p);
	assert_same_profile(p, again, SPELL_MAPPINGS);
	profile_free(again);
	profile_free(p);
}
END_TEST

/* A column of samples alone gets no time column by being read and written. */
START_TEST(a_lone_column_stays_alone)
{
	struct profile *p = read_golden("parca-symbolizer-profile"), *again = written_and_read(p);
	ck_assert_uint_eq(again->series.types.n, 1);
	ck_assert_uint_eq(again->meta.sample_types.n, 1);
	assert_same_profile(p, again, SPELL_MAPPINGS);
	profile_free(again);
	profile_free(p);
}
END_TEST

START_TEST(equal_columns_are_told_apart)
{
	struct pprof_file f = { 0 };
	for (int i = 0; i < 2; i++)
		file_value_type(&f, PROFILE_SAMPLE_TYPE, "objects", "count");
	file_function(&f, 1, "main", "main.c", 0);
	file_location(&f, 1, 0, 0, LINES(1));
	put_two_values(&f, 5, 7);
	struct profile *p = profile_of_file(&f);
	ck_assert_uint_eq(p->series.types.n, 2);
	ck_assert_int_eq(profile_total(p, 0), 5);
	ck_assert_int_eq(profile_total(p, 1), 7);
	struct profile *again = written_and_read(p);
	assert_same_profile(p, again, SPELL_MAPPINGS);
	profile_free(again);
	profile_free(p);
}
END_TEST

/* What was sampled at 200 Hz counts half in a file of 100 Hz; its time is exact. */
START_TEST(rates_that_differ_are_brought_together)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	struct type cpu = { .name = sink_string(s, "cpu"),
			    .sample_type = sink_string(s, "samples"),
			    .unit = sink_string(s, "count"),
			    .period_type = sink_string(s, "cpu"),
			    .period_unit = sink_string(s, "nanoseconds") };
	struct series series = { .type = s->ops->type(s, &cpu) };
	for (int i = 1; i <= 2; i++) {
		series.period = 10000000 / i;
		struct sample sample = { .series = s->ops->series(s, &series), .value = 10 };
		s->ops->sample(s, &sample);
	}
	struct profile *again = written_and_read(p);
	ck_assert_int_eq(profile_total(again, profile_pick_type(again, "samples")), 15);
	profile_free(again);
	profile_free(p);
}
END_TEST

START_TEST(one_type_can_be_asked_for)
{
	struct profile *p = read_golden("parca-alloc_objects");
	struct buf b = written_bytes(p, "inuse_space");
	struct profile *one = profile_of_bytes(b.data, b.len);
	ck_assert_uint_eq(one->series.types.n, 1);
	ck_assert_int_eq(profile_total(one, 0), 14730706);
	profile_free(one);
	buf_done(&b);
	b = written_bytes(p, "space"); /* the name that all four share */
	one = profile_of_bytes(b.data, b.len);
	ck_assert_uint_eq(one->series.types.n, 4);
	profile_free(one);
	buf_done(&b);
	profile_free(p);
}
END_TEST

/* --- labels ----------------------------------------------------------------------------------- */

static void put_label(struct pprof_file *f, const char *key, const char *str, int64_t num,
		      const char *unit)
{
	size_t mark = pb_begin(&f->b, SAMPLE_LABEL);
	pb_put_u64(&f->b, LABEL_KEY, file_text(f, key));
	if (str)
		pb_put_u64(&f->b, LABEL_STR, file_text(f, str));
	if (num)
		pb_put_u64(&f->b, LABEL_NUM, num);
	if (unit)
		pb_put_u64(&f->b, LABEL_NUM_UNIT, file_text(f, unit));
	pb_end(&f->b, mark);
}

START_TEST(pid_tid_and_cpu_are_columns)
{
	struct pprof_file f = { 0 };
	file_value_type(&f, PROFILE_SAMPLE_TYPE, "samples", "count");
	file_function(&f, 1, "main", "", 0);
	file_location(&f, 1, 0, 0, LINES(1));
	size_t mark = pb_begin(&f.b, PROFILE_SAMPLE);
	pb_put_u64(&f.b, SAMPLE_LOCATION_ID, 1);
	pb_put_u64(&f.b, SAMPLE_VALUE, 1);
	put_label(&f, "pid", NULL, 42, NULL);
	put_label(&f, "tid", NULL, 43, NULL);
	put_label(&f, "cpu", NULL, 0, NULL);
	put_label(&f, "pid", NULL, 99, NULL);   /* a second one */
	put_label(&f, "tid", "text", 0, NULL);  /* text */
	put_label(&f, "cpu", NULL, 3, "bytes"); /* a quantity */
	put_label(&f, "cpu", NULL, -1, NULL);   /* no cpu */
	put_label(&f, "comm", "", 0, NULL);
	put_label(&f, "key", "a", 0, NULL);
	put_label(&f, "key", "b", 0, NULL);
	pb_end(&f.b, mark);
	struct profile *p = profile_of_file(&f);
	ck_assert_uint_eq(p->samples.pid[0], 42);
	ck_assert_uint_eq(p->samples.tid[0], 43);
	ck_assert_uint_eq(p->samples.cpu[0], 0);
	uint32_t set = p->series.series.v[p->samples.series[0]].labels;
	ck_assert_uint_eq(p->series.sets.v[set].n, 7);
	const struct label *comm = label_find(&p->series, set, strtab_find(&p->strings, "comm"));
	ck_assert(comm && !comm->is_num && comm->str == 0);
	struct profile *again = written_and_read(p);
	assert_same_profile(p, again, SPELL_MAPPINGS);
	profile_free(again);
	profile_free(p);
}
END_TEST

/* --- locations -------------------------------------------------------------------------------- */

/* A file with a sample for each location; functions 1 … 4. */
static void begin_locations(struct pprof_file *f)
{
	static const char *const names[] = { "one", "two", "three", "four" };
	static const char *const files[] = { "a.c", "b.go", "c.py", "" };
	*f = (struct pprof_file){ 0 };
	file_value_type(f, PROFILE_SAMPLE_TYPE, "samples", "count");
	for (int i = 0; i < 4; i++)
		file_function(f, i + 1, names[i], files[i], i);
	file_mapping(f, 1, 0x400000, 0x500000, 0x1000, "/bin/prog", "c0ffee");
	file_mapping(f, 2, 0, 0, 0, "[kernel.kallsyms]", "");
	file_mapping(f, 7, 0, 0, 0, "", "");
}

/* Reads the file and checks that its samples stay n different stacks of one frame, also when
 * written and read again. */
static struct profile *end_locations(struct pprof_file *f, uint32_t n)
{
	struct profile *p = profile_of_file(f), *again = written_and_read(p);
	ck_assert_uint_eq(p->samples.n, n);
	ck_assert_uint_eq(p->stacks.stacks.n, n + 1);
	assert_same_profile(p, again, SPELL_MAPPINGS);
	profile_free(again);
	return p;
}

static const struct frame *frame_of_sample(const struct profile *p, size_t i)
{
	return &p->frames.frames.v[stack_leaf(&p->stacks, p->samples.stack[i])];
}

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

/* A library without addresses in it is what its functions are in; its mapping is not written twice. */
START_TEST(locations_without_address_keep_their_library)
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

/* One function with different functions inlined into it, and one address with different names: none
 * may merge. */
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

/* Two files that use a chain of inlined functions agree on its frame, whatever else they hold. */
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

START_TEST(everything_a_line_says_is_kept)
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

/* --- what our own recordings hold ------------------------------------------------------------- */

/* As the collector makes them: no run-time ranges, the kernel, frames by name, labels and
 * columns. */
static struct profile *collected_profile(void)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	struct mapping libc = { .name = sink_string(s, "/usr/lib/libc.so.6"),
				.build_id = { 0xab, 0xcd },
				.build_id_len = 2 };
	struct mapping prog = { .name = sink_string(s, "/opt/prog"), .identity = 77 };
	struct mapping kernel = { .name = sink_string(s, "[kernel]") };
	struct mapping module = { .name = sink_string(s, "[ext4]"),
				  .build_id = { 1, 2, 3 },
				  .build_id_len = 3 };
	struct mapping bpf = { .name = sink_string(s, "[bpf]"), .identity = 99 };
	uint32_t libc_id = s->ops->mapping(s, &libc), prog_id = s->ops->mapping(s, &prog);
	uint32_t kernel_id = s->ops->mapping(s, &kernel), module_id = s->ops->mapping(s, &module);
	uint32_t bpf_id = s->ops->mapping(s, &bpf);
	struct frame frames[] = {
		{ .kind = FRAME_KERNEL, .mapping = module_id, .offset = 0x1f0 },
		{ .kind = FRAME_KERNEL, .mapping = bpf_id, .offset = 0xffffffffc0123456 },
		{ .kind = FRAME_NATIVE, .mapping = prog_id, .offset = 0x1a2b },
		{ .kind = FRAME_NATIVE, .mapping = libc_id, .offset = 0x28abc },
		{ .kind = FRAME_PYTHON,
		  .mapping = MAPPING_NONE,
		  .function = sink_string(s, "handler"),
		  .file = sink_string(s, "app.py"),
		  .line = 12 },
		{ .kind = FRAME_JIT,
		  .mapping = MAPPING_NONE,
		  .function = sink_string(s, "LazyCompile:f") },
		{ .kind = FRAME_KERNEL, .mapping = kernel_id, .offset = 0xffffffff81001234 },
		{ .kind = FRAME_KERNEL,
		  .mapping = MAPPING_NONE,
		  .function = sink_string(s, "bpf_prog") },
	};
	enum { FRAMES = sizeof frames / sizeof *frames };
	uint32_t ids[FRAMES];
	for (int i = 0; i < FRAMES; i++)
		ids[i] = s->ops->frame(s, &frames[i]);
	struct function read_fn = { .name = sink_string(s, "ksys_read"),
				    .linkage = sink_string(s, "ksys_read") };
	struct line line = { .function = s->ops->function(s, &read_fn) };
	s->ops->names(s, ids[6], &line, 1);
	struct type cpu = { .name = sink_string(s, "cpu"),
			    .sample_type = sink_string(s, "samples"),
			    .unit = sink_string(s, "count"),
			    .period_type = sink_string(s, "cpu"),
			    .period_unit = sink_string(s, "nanoseconds") };
	struct label comm = { .key = sink_string(s, "comm"), .str = sink_string(s, "web server") };
	struct series series = { .type = s->ops->type(s, &cpu),
				 .period = 10101010,
				 .labels = s->ops->labels(s, &comm, 1) };
	for (int i = 0; i < 3; i++) {
		struct sample sample = { .time_ns = 1000 + i,
					 .value = 1,
					 .series = s->ops->series(s, &series),
					 .stack = s->ops->stack(s, ids, FRAMES),
					 .pid = 1234,
					 .tid = 1235 + i % 2,
					 .cpu = SAMPLE_NO_ID };
		s->ops->sample(s, &sample);
	}
	struct profile_meta *meta = s->ops->meta(s);
	meta->start_wall_ns = 1700000000000000000;
	meta->start_mono_ns = 12345;
	meta->duration_ns = 30000000000;
	meta->host = sink_string(s, "db7");
	meta->kernel = sink_string(s, "6.1.0-13-amd64");
	meta->command = sink_string(s, "cresset record -a");
	meta->clock = sink_string(s, "cpu-clock");
	meta->cpus = 2;
	meta->own_cpu_ns = 123456789;
	meta->own_peak_bytes = 7654321;
	s->ops->loss(s, LOSS_RING_FULL, 5);
	s->ops->loss(s, LOSS_LATE, 1);
	return p;
}

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
	/* File offset 0x28abc lies that far behind the start of libc's range. */
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

/* Names of any bytes: the file is valid, pprof and protoc read it, and the names are what esc_utf8
 * makes of them. */
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

START_TEST(comments_and_the_rest_are_kept)
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

/* --- malformed -------------------------------------------------------------------------------- */

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

START_TEST(files_of_which_nothing_can_be_used_are_refused)
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

START_TEST(content_tells_the_format)
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

/* Frames deeper than the model takes: the leaf stays under a marker. */
START_TEST(stacks_that_are_too_deep_keep_their_leaf)
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

UNIT_MAIN("pprof", known_files_have_known_totals, labels_and_columns_are_kept,
	  pprof_finds_every_sample_location_and_mapping_again, pprof_finds_the_same_top_functions,
	  protoc_decodes_what_is_written, our_own_table_says_the_same, merged_heap_profiles,
	  last_heap_profile_less_the_first, our_own_difference_says_the_same,
	  samples_and_their_time_are_one_type, times_that_are_not_the_samples_stay,
	  a_lone_column_stays_alone, equal_columns_are_told_apart,
	  rates_that_differ_are_brought_together, one_type_can_be_asked_for,
	  pid_tid_and_cpu_are_columns, addresses_become_file_offsets,
	  locations_without_address_are_known_by_name, locations_without_address_keep_their_library,
	  locations_that_differ_in_names_only_stay_apart,
	  a_location_without_names_agrees_with_one_that_has_some, chains_are_equal_in_every_file,
	  everything_a_line_says_is_kept, a_recording_survives_being_a_pprof_file,
	  pprof_shows_a_recording, every_kind_by_name_survives, random_profiles_survive,
	  hostile_names_make_a_valid_file, comments_and_the_rest_are_kept,
	  a_file_cut_anywhere_is_an_error_or_readable, bad_samples_are_skipped_and_counted,
	  files_of_which_nothing_can_be_used_are_refused, strings_that_are_not_there_are_empty,
	  content_tells_the_format, stacks_that_are_too_deep_keep_their_leaf)
