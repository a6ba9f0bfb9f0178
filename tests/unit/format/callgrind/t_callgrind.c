// tier: test
#include "format/formats.h"
#include "random_profile.h"
#include "written.h"

#include "base/buf.h"
#include "base/err.h"
#include "format/callgrind/callgrind.h"
#include "format/callgrind/callgrind_graph.h"
#include "profile/tree/top.h"

#include <errno.h>
#include <time.h>

static struct profile *read_memory(const char *text, size_t len, int *rc, struct err *err)
{
	struct profile *p = profile_new();
	struct input *in;
	ck_assert_int_eq(input_open_memory(text, len, &in, err), 0);
	*rc = callgrind_read(in, profile_sink(p), err);
	input_close(in);
	return p;
}

static struct profile *read_text(const char *text)
{
	struct err err = { 0 };
	int rc;
	struct profile *p = read_memory(text, strlen(text), &rc, &err);
	ck_assert_msg(rc == 0, "%s", err.text);
	return p;
}

static struct profile *read_file(const char *path)
{
	struct profile *p = profile_new();
	struct err err = { 0 };
	int rc = format_read_file(path, NULL, profile_sink(p), &err);
	ck_assert_msg(rc == 0, "%s", err.text);
	return p;
}

/* The type that is shown first. */
static const char *default_type(const struct profile *p)
{
	return profile_str(p, p->series.types.v[profile_pick_type(p, NULL)].sample_type);
}

static char *folded_of(struct profile *p, const char *type)
{
	struct format_write_opts opts = { .type = type };
	return written(&format_folded, p, &opts);
}

/* Checks the folded stacks of one type. */
static void check_folded(const char *text, const char *type, const char *want)
{
	struct profile *p = read_text(text);
	char *got = folded_of(p, type);
	ck_assert_str_eq(got, want);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
	free(got);
	profile_free(p);
}

/* --- sums of functions ------------------------------------------------------------------------ */

enum sum { SUM_SELF, SUM_TOTAL };

/* "file:function" → its sum; functions of a type that has none are left out. */
struct sums {
	struct top_table top;
	struct tree *tree;
};

static struct sums sums_of(struct profile *p, uint32_t type)
{
	struct sums s = { 0 };
	struct tree_opts opts = { .type = type };
	struct err err = { 0 };
	ck_assert_msg(tree_build(p, &opts, &s.tree, &err) == 0, "%s", err.text);
	top_build(s.tree, &s.top);
	return s;
}

static void sums_done(struct sums *s)
{
	top_done(&s->top);
	tree_free(s->tree);
}

static int64_t sum_of(const struct sums *s, const char *function, enum sum what)
{
	int64_t sum = 0;
	char name[STRTAB_MAX_LEN];
	for (size_t i = 0; i < s->top.rows.n; i++) {
		const struct top_row *r = &s->top.rows.v[i];
		const struct tree_func *f = &s->tree->funcs.v[r->func];
		const char *file = strtab_get(&s->tree->strings, f->file);
		snprintf(name, sizeof name, "%s:%s", *file ? file : "???",
			 strtab_get(&s->tree->strings, f->name));
		if (strcmp(name, function) == 0)
			sum += what == SUM_SELF ? r->self : r->total;
	}
	return sum;
}

/* Compares with the output of callgrind_annotate: one number per type, then file:function. */
static void check_annotated(const char *name, enum sum what)
{
	char path[128], line[4096];
	snprintf(path, sizeof path, "tests/golden/callgrind/%s.out", name);
	struct profile *p = read_file(path);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
	for (uint32_t type = 0; type < p->series.types.n; type++) {
		struct sums sums = sums_of(p, type);
		int64_t all = 0;
		snprintf(path, sizeof path, "tests/golden/callgrind/expected/%s.%s.txt", name,
			 what == SUM_SELF ? "self" : "total");
		FILE *f = fopen(path, "r");
		ck_assert_ptr_nonnull(f);
		while (fgets(line, sizeof line, f)) {
			char *at = line;
			int64_t want = 0;
			for (uint32_t i = 0; i < p->series.types.n; i++) {
				int64_t v = strtoll(at, &at, 10);
				want = i == type ? v : want;
			}
			at[strcspn(at, "\n")] = '\0';
			ck_assert_msg(sum_of(&sums, at + 1, what) == want,
				      "%s type %u%s: %lld, want %lld", name, type, at,
				      (long long)sum_of(&sums, at + 1, what), (long long)want);
			all += want;
		}
		fclose(f);
		if (what == SUM_SELF)
			ck_assert_int_eq(sums.top.total, all);
		sums_done(&sums);
	}
	profile_free(p);
}

/* --- known files ------------------------------------------------------------------------------ */

/* The manual's example in its three spellings: no cost is divided, so the stacks are exact. */
START_TEST(the_manuals_example)
{
	static const char *const files[] = { "example", "name-compression",
					     "subposition-compression" };
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		char path[128];
		snprintf(path, sizeof path, "tests/golden/callgrind/callgrind.%s.log", files[i]);
		struct profile *p = read_file(path);
		char *got = folded_of(p, NULL);
		ck_assert_str_eq(got,
				 "main 20\nmain;func1 100\nmain;func1;func2 300\nmain;func2 400\n");
		free(got);
		profile_free(p);
	}
}
END_TEST

START_TEST(self_costs_equal_callgrind_annotate)
{
	static const char *const files[] = { "calls",    "instr",  "threads",
					     "contexts", "levels", "cachegrind" };
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		check_annotated(files[i], SUM_SELF);
}
END_TEST

/* Without recursion, inclusive costs, too. */
START_TEST(inclusive_costs_equal_callgrind_annotate)
{
	check_annotated("calls", SUM_TOTAL);
}
END_TEST

START_TEST(metadata_of_the_run)
{
	struct profile *p = read_file("tests/golden/callgrind/threads.out");
	bool seen[3] = { 0 };
	ck_assert_str_eq(profile_str(p, p->meta.command), "./threads");
	ck_assert_str_eq(profile_str(p, p->meta.comments.v[0]),
			 "stacks estimated from a call graph (callgrind): self values are exact");
	for (size_t i = 0; i < p->samples.n; i++) {
		ck_assert_uint_eq(p->samples.pid[i], 4242);
		ck_assert_uint_lt(p->samples.tid[i], 4);
		seen[p->samples.tid[i] - 1] = true;
	}
	ck_assert(seen[0] && seen[1]);
	profile_free(p);
	p = read_file("tests/golden/callgrind/instr.out");
	ck_assert_uint_eq(p->series.types.n, 13);
	ck_assert_str_eq(default_type(p), "Ir");
	ck_assert_str_eq(profile_str(p, p->series.types.v[0].unit), "instructions");
	profile_free(p);
}
END_TEST

/* A tree of allocations (--xtree-memory=full) has several events; the first one is shown. */
START_TEST(trees_of_allocations_open_with_their_first_event)
{
	struct profile *p = read_file("tests/golden/callgrind/xtree-memory.kcg");
	static const char *const units[] = { "bytes", "count", "bytes", "count", "bytes", "count" };
	static const int64_t totals[] = { 1200000, 600, 1232000, 1100, 32000, 500 };
	ck_assert_str_eq(default_type(p), "curB");
	for (uint32_t i = 0; i < 6; i++) {
		ck_assert_str_eq(profile_str(p, p->series.types.v[i].unit), units[i]);
		ck_assert_int_eq(profile_total(p, i), totals[i]);
	}
	char *got = folded_of(p, NULL);
	ck_assert_str_eq(got, "main;big 900000\nmain;small_ 300000\n");
	free(got);
	profile_free(p);
}
END_TEST

/* As that of a program that leaks (--xtree-leak=yes): nothing is reachable. */
START_TEST(a_type_without_costs_is_not_shown)
{
	struct profile *p = read_text("event: RB : Reachable Bytes\nevent: DB : lost Bytes\n"
				      "events: RB DB DBk\nfn=f\n1 0 700 3\n");
	ck_assert_str_eq(default_type(p), "DB");
	profile_free(p);
	p = read_text("events: A B\nfn=f\n1 0 0\n");
	ck_assert_str_eq(default_type(p), "A");
	profile_free(p);
}
END_TEST

/* --- the grammar ------------------------------------------------------------------------------ */

START_TEST(lines_of_every_kind)
{
	/* Numbered names, defined anywhere; hexadecimal; blanks; comments; CRLF; jumps. */
	check_folded("version: 1\r\ncreator: x\r\npositions: instr line\r\nevents: Ir Dr\r\n\r\n"
		     "fn=(2) work\r\nfl=(1) a.c\r\nfn=(1) main\r\n0x10 +3 0x10 2\r\n"
		     "jfi=(3) c.c\njfn=(3) gone\njcnd=1/2 +4 +1\n* * 99\njump=1 0x40 7\n* *\n"
		     "ob=(1) a.out\n  cob=(1)\ncfl=(2) b.c\ncfn=(2)\ncalls=3 0x20 5\n# comment\n\n"
		     "+1 * 5 1\nob=(1)\nfl=(2)\nfn=(2)\n* -1 5 1\ntotals: 21 3\n",
		     "Ir", "main 16\nmain;work 5\n");
	/* Missing costs are 0, and so is cachegrind's "."; later lines add to earlier ones. */
	check_folded("events: A B\nfn=f\n1 1\n1 . 7\n2 3\n", "A", "f 4\n");
	check_folded("events: A B\nfn=f\n1 1\n1 . 7\n2 3\n", "B", "f 7\n");
	/* Inlined code is a separate frame: one function, two files. */
	check_folded("events: A\nfl=a.c\nfn=f\n1 1\nfi=a.h\n5 2\ncfi=b.c\ncfn=g\ncalls=1 1\n6 4\n"
		     "fe=a.c\n9 8\nfl=b.c\nfn=g\n1 4\n",
		     "A", "f 9\nf;f 2\nf;f;g 4\n");
	/* Costs before any function. */
	check_folded("events: A\n1 5\n", "A", "[unknown] 5\n");
	/* Computed types. */
	check_folded("event: S = 2 A + 3*B : both\nevents: A B\nfn=f\n1 10 1\n", "S", "f 23\n");
	/* Negative costs, like xdebug's memory; the function of a cost line before the header. */
	check_folded("version: 1\ncreator: xdebug 3\npositions: line\n\nevents: Time_(10ns) Mem\n\n"
		     "fl=(1) php:internal\nfn=(1) php::strlen\n1 5 -32\n\nfl=(2) /x.php\n"
		     "fn=(2) {main}\n\nsummary: 25 0\n\n1 20 64\ncfl=(1)\ncfn=(1)\n"
		     "calls=1 0 0\n3 5 -32\n",
		     "Mem", "{main} 64\n{main};php::strlen -32\n");
}
END_TEST

START_TEST(units_are_in_names)
{
	struct profile *p = read_text("event: sys : kernel time (ns)\n"
				      "events: Time_(10ns) Mem_(bytes) cpu(ms) sys other\n"
				      "fn=f\n1 2 3 4 5 6\n");
	static const char *const units[] = { "nanoseconds", "bytes", "milliseconds", "nanoseconds",
					     "count" };
	for (uint32_t i = 0; i < 5; i++)
		ck_assert_str_eq(profile_str(p, p->series.types.v[i].unit), units[i]);
	ck_assert_int_eq(profile_total(p, 0), 20);
	profile_free(p);
	p = read_text("event: DB : Definitely lost Bytes (direct plus indirect)\n"
		      "event: DBk : Definitely lost Blocks\nevent: X : Bytesize\n"
		      "events: DB DBk X\nfn=f\n1 2 3 4\n");
	ck_assert_str_eq(profile_str(p, p->series.types.v[0].unit), "bytes");
	ck_assert_str_eq(profile_str(p, p->series.types.v[1].unit), "count");
	ck_assert_str_eq(profile_str(p, p->series.types.v[2].unit), "count");
	profile_free(p);
}
END_TEST

START_TEST(costs_are_divided_as_a_whole)
{
	/* c gets 3 from a and 1 from b: its callees are divided 3 : 1, whoever called. */
	check_folded(
		"events: A\nfn=a\n1 1\ncfn=c\ncalls=1 1\n1 30\nfn=b\n1 2\ncfn=c\ncalls=1 1\n1 10\n"
		"fn=c\n1 4\ncfn=d\ncalls=1 1\n1 28\ncfn=e\ncalls=1 1\n1 8\nfn=d\n1 28\nfn=e\n1 8\n",
		"A", "a 1\na;c 3\na;c;d 21\na;c;e 6\nb 2\nb;c 1\nb;c;d 7\nb;c;e 2\n");
}
END_TEST

START_TEST(recursion_is_shown_once)
{
	check_folded("events: A\nfn=main\n1 1\ncfn=f\ncalls=1 1\n1 50\nfn=f\n1 50\n"
		     "cfn=f\ncalls=9 1\n1 333\n",
		     "A", "main 1\nmain;f 50\n");
	/* Mutual recursion: the cycle is followed once. */
	check_folded("events: A\nfn=main\n1 1\ncfn=even\ncalls=1 1\n1 30\nfn=even\n1 10\ncfn=odd\n"
		     "calls=9 1\n1 150\nfn=odd\n1 12\ncfn=even\ncalls=9 1\n1 140\ncfn=leaf\n"
		     "calls=1 1\n1 8\nfn=leaf\n1 8\n",
		     "A", "main 1\nmain;even 10\nmain;even;odd 12\nmain;even;odd;leaf 8\n");
}
END_TEST

START_TEST(threads_have_separate_graphs)
{
	static const char text[] =
		"thread: 1\nevents: A\nfn=(1) f\n1 1\ncfn=(2) g\ncalls=1 1\n1 10\nfn=(2)\n1 10\n"
		"thread: 2\nevents: A\nfn=(3) h\n1 2\ncfn=(2)\ncalls=1 1\n1 7\nfn=(2)\n1 7\n";
	struct profile *p = read_text(text);
	struct format_write_opts opts = { .tree = { .by = { BY_TID }, .n_by = 1 } };
	char *got = written(&format_folded, p, &opts);
	ck_assert_str_eq(got, "?-?/1;f 1\n?-?/1;f;g 10\n?-?/2;h 2\n?-?/2;h;g 7\n");
	free(got);
	profile_free(p);
}
END_TEST

/* --- damage ----------------------------------------------------------------------------------- */

START_TEST(bad_lines_are_counted)
{
	static const struct {
		const char *text;
		int64_t total;
		uint64_t skipped;
	} cases[] = {
		{ "events: A\nfn=f\n1 1\n1 2 3\n1 x\n+ 1\nnonsense\n1 4x\n", 1, 5 },
		{ "events: A\nfn=(7)\n1 1\ncfn=(9)\ncalls=1 1\n1 5\n", 1, 2 },
		{ "events: A\nfn=f\n1 1\ncalls=1 1\n1 5\n", 1, 1 },   /* nobody called */
		{ "events: A\nfn=f\n1 1\ncfn=g\ncalls=1 1\n", 1, 1 }, /* cut */
		{ "1 5\nevents: A\nfn=f\n1 1\n", 1, 1 },              /* no header yet */
		{ "event: S = X\nevents: A\nfn=f\n1 1\npid: -4\n", 1, 2 },
		{ "event: S = S\nevents: A\nthread: no\nevents: A\nfn=f\n1 1\n", 1, 2 },
		{ "events: A\nfn=f\n1 9223372036854775807\n1 99999999999999999999\n", INT64_MAX,
		  0 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct profile *p = read_text(cases[i].text);
		ck_assert_int_eq(profile_total(p, 0), cases[i].total);
		ck_assert_msg(p->meta.loss[LOSS_INPUT_SKIPPED] == cases[i].skipped, "%s",
			      cases[i].text);
		profile_free(p);
	}
}
END_TEST

START_TEST(nothing_usable_is_an_error)
{
	static const char *const cases[][2] = {
		{ "", "no \"events:\" line" },
		{ "# callgrind format\n", "no \"events:\" line" },
		{ "fn=f\n1 2\n", "no \"events:\" line" },
		{ "events: A\n", "without a line of costs" },
		{ "events: A\nfn=f\n", "without a line of costs" },
		{ "events: a b c d e f g h i j k l m n o p q r s t u v w x y z A B C D E F G H I J "
		  "K L M N O P Q R S T U V W X Y Z 0 1 2 3 4 5 6 7 8 9 aa bb cc dd\nfn=f\n1 1\n",
		  "too many events" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct err err = { 0 };
		int rc;
		profile_free(read_memory(cases[i][0], strlen(cases[i][0]), &rc, &err));
		ck_assert_int_eq(rc, -EBADMSG);
		ck_assert_msg(strstr(err.text, cases[i][1]), "%s", err.text);
	}
}
END_TEST

/* Truncated anywhere: the rest adds up to no more than the whole. */
START_TEST(cut_anywhere)
{
	char *text = shell("cat tests/golden/callgrind/instr.out");
	size_t len = strlen(text);
	for (size_t n = 0; n < len; n++) {
		struct err err = { 0 };
		int rc;
		struct profile *p = read_memory(text, n, &rc, &err);
		ck_assert(rc == 0 || rc == -EBADMSG);
		if (rc == 0)
			ck_assert_int_le(profile_total(p, 0), 13701);
		profile_free(p);
	}
	free(text);
}
END_TEST

/* --- graphs with more paths than atoms -------------------------------------------------------- */

static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + 1e-9 * t.tv_nsec;
}

/* f0 calls l0 and r0, both call f1, and so on: 2^n paths, and each function has its own cost. */
static char *diamonds(int n, int64_t unit)
{
	struct buf b = { 0 };
	buf_adds(&b, "events: A\n");
	for (int i = 0; i < n; i++) {
		long long rest = (n - i) * 4 * unit; /* of f(i): itself 2, left and right 1 each */
		buf_addf(&b, "fn=f%d\n1 %lld\n", i, (long long)(2 * unit));
		for (const char *side = "lr"; *side; side++)
			buf_addf(&b, "cfn=%c%d\ncalls=1 1\n1 %lld\n", *side, i, rest / 2 - unit);
		for (const char *side = "lr"; *side; side++) {
			buf_addf(&b, "fn=%c%d\n1 %lld\n", *side, i, (long long)unit);
			if (i + 1 < n)
				buf_addf(&b, "cfn=f%d\ncalls=1 1\n1 %lld\n", i + 1,
					 rest / 2 - 2 * unit);
		}
	}
	return buf_steal(&b);
}

START_TEST(diamonds_do_not_explode)
{
	enum { N = CALLGRIND_MAX_DEPTH / 2 - 1 };
	const int64_t unit = 1000000000000;
	char *text = diamonds(N, unit);
	double before = seconds();
	struct profile *p = read_text(text);
	ck_assert_double_lt(seconds() - before, 20);
	ck_assert_uint_lt(p->samples.n, 1 << 20);
	struct sums sums = sums_of(p, 0);
	for (int i = 0; i < N; i++) {
		char name[32];
		int64_t rest = (N - i) * 4 * unit;
		snprintf(name, sizeof name, "???:f%d", i);
		ck_assert_int_eq(sum_of(&sums, name, SUM_SELF), 2 * unit);
		ck_assert_int_eq(sum_of(&sums, name, SUM_TOTAL), rest);
		snprintf(name, sizeof name, "???:r%d", i);
		ck_assert_int_eq(sum_of(&sums, name, SUM_SELF), unit);
		ck_assert_int_eq(sum_of(&sums, name, SUM_TOTAL), rest / 2 - unit);
	}
	sums_done(&sums);
	profile_free(p);
	free(text);
}
END_TEST

/* Graphs beyond the limit of steps or depth: every self cost is still there. */
START_TEST(self_costs_survive_every_limit)
{
	static const int64_t units[] = { 1, 1000000000000 };
	for (size_t i = 0; i < 2; i++) {
		enum { N = 10000 };
		char *text = diamonds(N, units[i]);
		double before = seconds();
		struct profile *p = read_text(text);
		ck_assert_double_lt(seconds() - before, 40);
		ck_assert_int_eq(profile_total(p, 0), 4 * N * units[i]);
		for (size_t k = 0; k < p->samples.n; k++)
			ck_assert_uint_le(stack_depth(&p->stacks, p->samples.stack[k]),
					  CALLGRIND_MAX_DEPTH + 1);
		profile_free(p);
		free(text);
	}
}
END_TEST

/* Random graphs, with cycles and inconsistent sums: each function's self cost is preserved. */
START_TEST(self_costs_survive_every_graph)
{
	for (uint64_t seed = 1; seed <= 300; seed++) {
		enum { FUNCTIONS = 12 };
		struct rng r = { seed };
		struct buf b = { 0 };
		int64_t self[FUNCTIONS] = { 0 };
		buf_adds(&b, "events: A\n");
		for (int i = 0; i < 40; i++) {
			int f = rng_below(&r, FUNCTIONS);
			int64_t cost = rng_below(&r, 1000000) - (i % 7 ? 0 : 100);
			self[f] += cost;
			buf_addf(&b, "fn=f%d\n1 %lld\n", f, (long long)cost);
			buf_addf(&b, "cfn=f%d\ncalls=1 1\n1 %d\n", (int)rng_below(&r, FUNCTIONS),
				 (int)rng_below(&r, 2000000));
		}
		struct profile *p = read_text(buf_cstr(&b));
		struct sums sums = sums_of(p, 0);
		for (int i = 0; i < FUNCTIONS; i++) {
			char name[32];
			snprintf(name, sizeof name, "???:f%d", i);
			ck_assert_int_eq(sum_of(&sums, name, SUM_SELF), self[i]);
		}
		sums_done(&sums);
		profile_free(p);
		buf_done(&b);
	}
}
END_TEST

/* --- writing ---------------------------------------------------------------------------------- */

START_TEST(a_tree_as_a_graph)
{
	struct profile *p =
		folded_profile("main;a;work 5\nmain;b;work 2\nmain 1\nmain;a;main;a 3\n");
	struct format_write_opts opts = { 0 };
	char *got = written(&format_callgrind, p, &opts);
	char *body = strstr(got, "positions:");
	ck_assert_int_eq(strncmp(got, "# callgrind format\nversion: 1\n", 30), 0);
	ck_assert_str_eq(body,
			 "positions: line\nevent: samples : samples (count)\nevents: samples\n"
			 "summary: 11\n"
			 "\nob=(1) ???\nfl=(1) ???\nfn=(3) main\n0 1\n"
			 "cob=(1)\ncfi=(1)\ncfn=(4) a\ncalls=1 0\n0 8\n"
			 "cob=(1)\ncfi=(1)\ncfn=(6) b\ncalls=1 0\n0 2\n"
			 "\nob=(1)\nfl=(1)\nfn=(4)\n0 3\n"
			 "cob=(1)\ncfi=(1)\ncfn=(3)\ncalls=1 0\n0 0\n"
			 "cob=(1)\ncfi=(1)\ncfn=(5) work\ncalls=1 0\n0 5\n"
			 "\nob=(1)\nfl=(1)\nfn=(5)\n0 7\n"
			 "\nob=(1)\nfl=(1)\nfn=(6)\ncob=(1)\ncfi=(1)\ncfn=(5)\ncalls=1 0\n0 2\n"
			 "\ntotals: 11\n");
	free(got);
	profile_free(p);
}
END_TEST

/* By function and file, the self costs written are preserved. */
START_TEST(self_costs_survive_a_round_trip)
{
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct random_profile r = random_profile(
			seed, (struct random_shape){ .n_stacks = 60, .n_samples = 300 });
		struct format_write_opts opts = { .type = seed % 2 ? "samples" : "alloc_space" };
		struct err err = { 0 };
		uint32_t type;
		ck_assert_int_eq(format_pick_type(r.p, opts.type, &type, &err), 0);
		char *text = written(&format_callgrind, r.p, &opts);
		struct profile *again = read_text(text);
		ck_assert_uint_eq(again->meta.loss[LOSS_INPUT_SKIPPED], 0);
		ck_assert_int_eq(profile_total(again, 0), profile_total(r.p, type));
		struct sums a = sums_of(r.p, type), b = sums_of(again, 0);
		for (size_t i = 0; i < a.top.rows.n; i++) {
			const struct tree_func *f = &a.tree->funcs.v[a.top.rows.v[i].func];
			const char *name = strtab_get(&a.tree->strings, f->name);
			const char *file = strtab_get(&a.tree->strings, f->file);
			char key[256];
			snprintf(key, sizeof key, "%s:%s", *file ? file : "???",
				 *name ? name : "[unknown]");
			ck_assert_int_eq(sum_of(&a, key, SUM_SELF), sum_of(&b, key, SUM_SELF));
		}
		sums_done(&a);
		sums_done(&b);
		profile_free(again);
		profile_free(r.p);
		free(text);
	}
}
END_TEST

/* A file that is read and written has the same stacks and costs. */
START_TEST(stacks_survive_a_round_trip_without_cycles)
{
	struct profile *p = read_file("tests/golden/callgrind/callgrind.example.log");
	struct format_write_opts opts = { 0 };
	char *text = written(&format_callgrind, p, &opts);
	struct profile *again = read_text(text);
	char *a = folded_of(p, NULL), *b = folded_of(again, NULL);
	ck_assert_str_eq(a, b);
	ck_assert_str_eq(profile_str(again, again->series.types.v[0].unit), "instructions");
	free(a);
	free(b);
	free(text);
	profile_free(p);
	profile_free(again);
}
END_TEST

/* Another reader finds the same self costs, and totals that count recursion once. */
START_TEST(callgrind_annotate_reads_our_files)
{
	if (system("command -v callgrind_annotate >/dev/null") != 0)
		T_SKIP("no callgrind_annotate: ./quickstart test installs valgrind");
	struct profile *p = folded_profile("main;a;work 5\nmain;b;work 2\nmain 1\nmain;a;b;a 3\n"
					   "main;(1) odd;a\\b 4\n");
	struct format_write_opts opts = { 0 };
	char *text = written(&format_callgrind, p, &opts), dir[32];
	temp_dir(dir);
	char path[64];
	snprintf(path, sizeof path, "%s/out", dir);
	FILE *f = fopen(path, "w");
	fputs(text, f);
	fclose(f);
	static const char command[] =
		"cd / && LC_ALL=C callgrind_annotate --threshold=100 --auto=no --show-percs=no "
		"--inclusive=%s %s | sed -n '/file:function/,$ s/^ *\\([0-9].*\\) \\[???]$/\\1/p' "
		"| sort";
	char *self = shell(command, "no", path), *total = shell(command, "yes", path);
	ck_assert_str_eq(self, "1  ???:main\n3  ???:a\n4  ???:a\\b\n7  ???:work\n");
	ck_assert_str_eq(total, "15  ???:main\n4  ???:(1) odd\n4  ???:a\\b\n"
				"5  ???:b\n7  ???:work\n8  ???:a\n");
	shell_do("rm -r %s", dir);
	free(self);
	free(total);
	free(text);
	profile_free(p);
}
END_TEST

START_TEST(detected_by_content)
{
	static const struct {
		const char *text;
		bool is_callgrind;
	} cases[] = {
		{ "# callgrind format\n", true },
		{ "events: Ir\nfn=f\n", true },
		{ "version: 1\r\ncmd: x\r\npositions: line\r\nevents: Ir\r\n\r\nfl=(1) a\r\n",
		  true },
		{ "desc: I1 cache: 1\ncmd: ./a\nevents: Ir Dr\nfl=a.c\nfn=main\n1 2\n", true },
		{ "events: Ir\nsummary: 12\n", true },
		{ "events: Ir\n", false },
		{ "events: Ir\nevents;b 5\n", false },
		{ "pid: 5\nmain;a 5\n", false },
		{ "main;a 5\nevents: 1\n1 5\n", false },
		{ "", false },
		{ "\n\n", false },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ck_assert_msg(callgrind_detect(cases[i].text, strlen(cases[i].text)) ==
				      cases[i].is_callgrind,
			      "%s", cases[i].text);
	ck_assert_ptr_eq(format_by_ending("x.callgrind"), &format_callgrind);
}
END_TEST

UNIT_MAIN("callgrind", the_manuals_example, self_costs_equal_callgrind_annotate,
	  inclusive_costs_equal_callgrind_annotate, metadata_of_the_run,
	  trees_of_allocations_open_with_their_first_event, a_type_without_costs_is_not_shown,
	  lines_of_every_kind, units_are_in_names, costs_are_divided_as_a_whole,
	  recursion_is_shown_once, threads_have_separate_graphs, bad_lines_are_counted,
	  nothing_usable_is_an_error, cut_anywhere, diamonds_do_not_explode,
	  self_costs_survive_every_limit, self_costs_survive_every_graph, a_tree_as_a_graph,
	  self_costs_survive_a_round_trip, stacks_survive_a_round_trip_without_cycles,
	  callgrind_annotate_reads_our_files, detected_by_content)
