// tier: test
#include "folded_text.h"

#include "base/buf.h"
#include "base/err.h"
#include "profile/change/signed.h"

#include <errno.h>

START_TEST(values_are_whole_or_rounded)
{
	check_rewritten("a 1\nb 2.4\nc 2.5\nd 7.\ne\t3\nf 4  \n", "a 1\nb 2\nc 3\nd 7\ne 3\nf 4\n");
	check_rewritten("a;b c 5\na;b c 5\n", "a;b c 10\n");
	check_rewritten("a 9223372036854775807\na 1\n", "a 9223372036854775807\n");
}
END_TEST

static void check_values(const char *text, const char *unit, const char *want, uint64_t rounded,
			 uint64_t scaled)
{
	struct profile *p = folded_profile(text);
	char *got = written(&format_folded, p, &(struct format_write_opts){ .unit = unit });
	ck_assert_str_eq(got, want);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_ROUNDED], rounded);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SCALED], scaled);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
	free(got);
	profile_free(p);
}

START_TEST(decimals_are_added_up_before_they_are_rounded)
{
	check_values("a 0.4\nb .6\na 0.4\nb 0.6\na .4\nb 6e-1\na 4E-1\nb 0.6\na 0.4\nb 0.6\n", NULL,
		     "a 2\nb 3\n", 0, 0);
	check_values("a 1.25e2\nb 5\na 1.0\n", NULL, "a 126\nb 5\n", 0, 0);
	/* Doubles passed on. */
	check_values("a 0.59999999999999998\na 0.59999999999999998\na 0.59999999999999998\n"
		     "a 0.59999999999999998\na 0.59999999999999998\nb 0.1\nb 0.90000000000000002\n",
		     NULL, "a 3\nb 1\n", 0, 0);
	check_values("a 7.5\nb 1.25\nb 1.25\n", NULL, "a 8\nb 3\n", 2, 0);
	/* A stack would vanish. */
	check_values("a 0.25\nb 0.75\nc 2\nb 1\n", NULL, "a 250000\nb 1750000\nc 2000000\n", 0, 2);
	check_values("a_[c] 0.25\nb_[o] 1000.5\n", "ns", "a_[c] 250\nb_[o] 1000500\n", 0, 0);
	check_values("a 9223372036854775806.75\na 9223372036854775806.75\nb 1\n", NULL,
		     "a 9223372036854775807\nb 1\n", 1, 0);
}
END_TEST

START_TEST(signs_exponents_and_groups_are_read)
{
	check_values("a;b 1e3\na;c .5\na;c +.5\na;d 2.000\na;e 5.\na;e +7\n", NULL,
		     "a;b 1000\na;c 1\na;d 2\na;e 12\n", 0, 0);
	check_values("a 1,234\nb 12,345,678.5\nb 1,000.5\nc -1,000\n", NULL,
		     "a 1234\nb 12346679\nc -1000\n", 0, 0);
	struct profile *p = folded_profile("a 1\na 1,23\na ,123\na 1234,567\na 1,,234\na 1,234,\n"
					   "a 1.5,000\na 1_000\na 1,23a\n");
	ck_assert_int_eq(profile_total(p, 0), 1);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 8);
	profile_free(p);
}
END_TEST

/* As a difference has them that was written as one value a line. */
START_TEST(values_below_zero_are_read_and_written)
{
	static const char text[] = "main;a 40\nmain;b -30\nmain;c 20\n";
	check_rewritten(text, text);
	check_values("a -0.25\na -0.75\nb -2.5\nb 0.5\nc 1\n", NULL, "a -1\nb -2\nc 1\n", 0, 0);
	check_values("a -1.5\nb 3\n", NULL, "a -2\nb 3\n", 1, 0);
	check_values("a -0.25\nb 1\n", NULL, "a -250000\nb 1000000\n", 0, 1);
	check_values("a -9223372036854775806\na -5\nb 1\n", NULL, "a -9223372036854775808\nb 1\n",
		     0, 0);
}
END_TEST

/* Two values a line, the older one first: flamegraph.pl and difffolded.pl of FlameGraph. */
START_TEST(two_values_are_a_difference)
{
	struct profile *p = folded_profile("# older newer\nmain;a 100 140\nmain;b 30.25 0\n"
					   "main;b 0.75 0\nmain;c 0 20\nmain;d 5 5\n");
	struct signed_part part = signed_part_of(p, 0);
	ck_assert_uint_eq(part.n, 3);
	ck_assert_uint_eq(part.n_all, 6);
	ck_assert_int_eq(part.sum, -136);
	ck_assert(part.is_marked);
	ck_assert_int_eq(profile_total(p, 0), 165 - 136);
	char *got = folded_of(p);
	ck_assert_str_eq(got, "main;a 40\nmain;b -31\nmain;c 20\n");
	free(got);
	profile_free(p);
	/* Names that end in a number; if all do, they are written such that they are read as names. */
	check_rewritten("main;worker 3 5\nmain;worker 4 7\nmain;idle 0\n",
			"main;worker_3 5\nmain;worker_4 7\n");
	check_rewritten("main;worker 3 5\n", "main;worker 3 5\n");
	check_rewritten("main;worker 3 5\nmain;x 2\n", "main;worker 3 5\nmain;x 2\n");
}
END_TEST

/* Carries of 10 000 fractions. */
START_TEST(many_decimals_are_exact)
{
	struct buf b = { 0 };
	for (int i = 0; i < 10000; i++)
		buf_addf(&b, "main;x%d 0.%03d\nmain;y 1e-4\n", i % 10, i % 1000);
	check_values(buf_cstr(&b), NULL,
		     "main;x0 495\nmain;x1 496\nmain;x2 497\nmain;x3 498\nmain;x4 499\n"
		     "main;x5 500\nmain;x6 501\nmain;x7 502\nmain;x8 503\nmain;x9 504\n"
		     "main;y 1\n",
		     0, 0);
	buf_done(&b);
}
END_TEST

START_TEST(junk_is_skipped_and_counted)
{
	static const char text[] = "# comment 5\n\nmain 1\n12\n 12\nmain\nmain -\nmain 1e\n"
				   "main 0x10\nmain 9223372036854775808\nmain .\nmain 1.2.3\n";
	struct profile *p = folded_profile(text);
	char *got = folded_of(p);
	ck_assert_str_eq(got, "main 1\n");
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 9);
	free(got);
	profile_free(p);
}
END_TEST

static void check_unreadable(const char *text, const char *words)
{
	struct profile *p = profile_new();
	struct err err = { 0 };
	struct input *in;
	ck_assert_int_eq(input_open_memory(text, strlen(text), &in, &err), 0);
	ck_assert_int_eq(format_folded.read(in, profile_sink(p), &err), -EBADMSG);
	ck_assert_msg(strstr(err.text, words) != NULL, "%s", err.text);
	input_close(in);
	profile_free(p);
}

START_TEST(nothing_but_junk_is_an_error)
{
	check_unreadable("", "none of 0 lines");
	check_unreadable("# only 5\n", "none of 0 lines");
	check_unreadable("one\ntwo\n", "none of 2 lines");
}
END_TEST

/* Memory depends on the distinct stacks: 64 MB of repeated lines. */
START_TEST(repeated_lines_cost_nothing)
{
	enum { LINES = 4 << 20 };
	char dir[32], path[64];
	temp_dir(dir);
	shell_do("yes 'main;work 1' | head -n %d | gzip -1 >%s/many.gz", LINES, dir);
	snprintf(path, sizeof path, "%s/many.gz", dir);
	struct profile *p = read_golden(path);
	ck_assert_uint_eq(p->samples.n, 1);
	ck_assert_int_eq(profile_total(p, 0), LINES);
	profile_free(p);
	shell_do("rm -rf %s", dir);
}
END_TEST

UNIT_MAIN("folded_values", values_are_whole_or_rounded,
	  decimals_are_added_up_before_they_are_rounded, signs_exponents_and_groups_are_read,
	  values_below_zero_are_read_and_written, two_values_are_a_difference,
	  many_decimals_are_exact, junk_is_skipped_and_counted, nothing_but_junk_is_an_error,
	  repeated_lines_cost_nothing)
