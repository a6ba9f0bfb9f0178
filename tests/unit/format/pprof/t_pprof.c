// tier: test
#include "pprof_cases.h"

#include "profile/tree/top.h"

#include <errno.h>

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

START_TEST(labels_and_columns_are_preserved)
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

/* Reads and writes every golden file into a directory; the first half of a test. */
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

/* Including parts that pprof -raw does not show: tables keep their lengths. */
START_TEST(protoc_decodes_our_files)
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

/* Self and total of the functions of a type; rows of pprof's text: flat flat% sum% cum cum% name [(inline)]. */
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

START_TEST(pprof_top_equals_our_table)
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
	/* We print the duration of the whole; pprof adds up durations, which are 0 here. */
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

/* The same with our own trees: 85200 KiB in newArena, 50747.40 KiB before. */
START_TEST(pprof_diff_equals_our_difference)
{
	struct profile *first = read_series(0), *last = read_series(SERIES_TIMES - 1);
	struct tree_opts a = { .type = profile_pick_type(first, "alloc_space") };
	struct tree_opts b = { .type = profile_pick_type(last, "alloc_space") };
	struct tree *older, *newer;
	struct top_table top = { 0 };
	ck_assert_int_eq(tree_build(first, &a, &older, NULL), 0);
	ck_assert_int_eq(tree_build(last, &b, &newer, NULL), 0);
	ck_assert_int_eq(older->nodes.v[TREE_ROOT].total * 100 / 1024, 5074740);
	tree_diff(newer, older, false);
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

UNIT_MAIN("pprof", known_files_have_known_totals, labels_and_columns_are_preserved,
	  pprof_finds_every_sample_location_and_mapping_again, pprof_finds_the_same_top_functions,
	  protoc_decodes_our_files, pprof_top_equals_our_table, merged_heap_profiles,
	  last_heap_profile_less_the_first, pprof_diff_equals_our_difference)
