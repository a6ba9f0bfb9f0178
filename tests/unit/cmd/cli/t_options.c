// tier: test
/* The option parser, with a table that has every kind of option, and the rules that every command's table must keep. */
#include "unit.h"

#include "base/buf.h"
#include "base/err.h"
#include "cmd/cli/cmd.h"

#include <errno.h>
#include <math.h>

static const char *const colors[] = { "red", "green", "blue", NULL };

struct sleep_opts {
	bool deep, light;
	int loud;
	const char *where;
	uint64_t count, size, time_ns, bare_us_ns;
	struct opt_number factor, percent;
	int color;
	struct str_list files, names;
	struct choice_list mix, marks;
};

#define ROW(m) .group = "Test", .offset = offsetof(struct sleep_opts, m)
static const struct cmd_opt sleep_options[] = {
	{ "a", "deep", NULL, "", OPT_FLAG, ROW(deep) },
	{ "b", "light", NULL, "", OPT_FLAG, ROW(light) },
	{ "l", "loud", NULL, "", OPT_COUNT, ROW(loud) },
	{ "w", "where", "PLACE", "", OPT_STRING, ROW(where) },
	{ "Nn", "count", "N", "", OPT_U64, ROW(count), .def = "7", .min = 1, .max = 10000 },
	{ NULL, "size", "SIZE", "", OPT_SIZE, ROW(size), .max = 1 << 30 },
	{ "d", "time", "TIME", "", OPT_DURATION, ROW(time_ns) },
	{ "m", "wait", "TIME", "", OPT_DURATION, ROW(bare_us_ns), .bare_unit_ns = 1000 },
	{ NULL, "factor", "F", "", OPT_NUMBER, ROW(factor), .def = "0.5" },
	{ NULL, "percent", "PCT", "", OPT_PERCENT, ROW(percent) },
	{ NULL, "paint", "NAME", "", OPT_ENUM, ROW(color), .words = colors, .def = "green" },
	{ "o", "file", "FILE", "", OPT_STRINGS, ROW(files) },
	{ "p", "name", "NAME,...", "", OPT_COMMA, ROW(names) },
	{ NULL, "mix", "C,...", "", OPT_CHOICES, ROW(mix), .words = colors, .def = "red" },
	{ NULL, "mark", "C,...", "", OPT_CHOICES, .words = colors, .bare = "red,blue", ROW(marks) },
	{ 0 },
};

static const struct cmd cmd_sleep = { .name = "sleep",
				      .usage = "[FILE...]",
				      .options = sleep_options,
				      .opts_size = sizeof(struct sleep_opts),
				      .max_args = 2,
				      .arg_name = "FILE" };
static const struct cmd cmd_exec = { .name = "exec",
				     .usage = "-- CMD",
				     .options = sleep_options,
				     .opts_size = sizeof(struct sleep_opts),
				     .runs_command = true,
				     .has_json = true };

struct parsed {
	int rc;
	struct cmd_line line;
	struct sleep_opts o;
	struct err err;
};

static void parsed_done(struct parsed *r)
{
	arena_done(&r->line.arena);
}
/* Declares a result that frees itself. */
#define PARSED(r) struct parsed r __attribute__((cleanup(parsed_done))) = { 0 }

/* Parses words up to NULL as `cresset NAME words`. */
static void parse_words(struct parsed *r, const struct cmd *cmd, char **words)
{
	char *argv[32] = { (char *)cmd->name };
	int argc = 1;
	while (words[argc - 1]) {
		argv[argc] = words[argc - 1];
		argc++;
	}
	parsed_done(r);
	*r = (struct parsed){ .line.cmd = cmd };
	r->rc = options_parse(&r->line, argc, argv, &r->o, &r->err);
}
#define PARSE(r, cmd, ...) parse_words(&(r), &(cmd), (char *[]){ __VA_ARGS__ __VA_OPT__(, ) NULL })

#define ACCEPT(r, ...) \
	do { \
		PARSE(r, cmd_sleep __VA_OPT__(, ) __VA_ARGS__); \
		ck_assert_msg((r).rc == 0, "%s", (r).err.text); \
	} while (0)
#define REFUSE(r, words, ...) \
	do { \
		PARSE(r, cmd_sleep, __VA_ARGS__); \
		ck_assert_int_eq((r).rc, -EINVAL); \
		ck_assert_msg(strstr((r).err.text, words), "'%s' is not in '%s'", words, \
			      (r).err.text); \
	} while (0)

START_TEST(defaults_fill_missing_options)
{
	PARSED(r);
	ACCEPT(r);
	ck_assert_uint_eq(r.o.count, 7);
	ck_assert_int_eq(r.o.color, 1);
	ck_assert(fabs(r.o.factor.v - 0.5) < 1e-12);
	ck_assert(!r.o.percent.set);
	ck_assert_int_eq(r.o.mix.n, 1);
	ck_assert_int_eq(r.o.mix.v[0], 0);
	ck_assert_int_eq(r.o.marks.n, 0);
	ck_assert(!r.o.deep && !r.o.where && !r.o.files.n && !r.line.args.n);
}
END_TEST

START_TEST(every_spelling_of_an_argument)
{
	PARSED(r);
	char *spellings[][4] = { { "--count=42" }, { "--count", "42" }, { "-N42" },  { "-N", "42" },
				 { "-n42" },       { "-an", "42" },     { "-abn42" } };
	for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
		parse_words(&r, &cmd_sleep, spellings[i]);
		ck_assert_msg(r.rc == 0, "%zu: %s", i, r.err.text);
		ck_assert_uint_eq(r.o.count, 42);
	}
	ACCEPT(r, "--where=");
	ck_assert_str_eq(r.o.where, "");
	ACCEPT(r, "--where", "-a");
	ck_assert_str_eq(r.o.where, "-a");
	ck_assert(!r.o.deep);
	ACCEPT(r, "-o", "-");
	ck_assert_str_eq(r.o.files.v[0], "-");
	ACCEPT(r, "--where=a=b");
	ck_assert_str_eq(r.o.where, "a=b");
}
END_TEST

START_TEST(short_flags_bundle_and_count)
{
	PARSED(r);
	ACCEPT(r, "-abl", "-ll");
	ck_assert(r.o.deep && r.o.light);
	ck_assert_int_eq(r.o.loud, 3);
}
END_TEST

START_TEST(quantities_have_units)
{
	PARSED(r);
	ACCEPT(r, "--size", "64K", "-d", "10", "-m", "250", "--percent=2.5%");
	ck_assert_uint_eq(r.o.size, 65536);
	ck_assert_uint_eq(r.o.time_ns, 10000000000ull);
	ck_assert_uint_eq(r.o.bare_us_ns, 250000);
	ck_assert(r.o.percent.set && fabs(r.o.percent.v - 2.5) < 1e-12);
	ACCEPT(r, "-d", "500ms", "-m", "2ms");
	ck_assert_uint_eq(r.o.time_ns, 500000000);
	ck_assert_uint_eq(r.o.bare_us_ns, 2000000);
}
END_TEST

START_TEST(lists_grow_and_replace_their_default)
{
	PARSED(r);
	ACCEPT(r, "-o", "a,b", "--file=c", "-p", "1,2", "-p3", "--mix", "blue", "--mix=green,blue");
	ck_assert_uint_eq(r.o.files.n, 2);
	ck_assert_str_eq(r.o.files.v[0], "a,b");
	ck_assert_str_eq(r.o.files.v[1], "c");
	ck_assert_ptr_null(r.o.files.v[2]);
	ck_assert_uint_eq(r.o.names.n, 3);
	ck_assert_str_eq(r.o.names.v[2], "3");
	ck_assert_int_eq(r.o.mix.n, 2);
	ck_assert_int_eq(r.o.mix.v[0], 2);
	ck_assert_int_eq(r.o.mix.v[1], 1);
}
END_TEST

START_TEST(lists_hold_many_entries)
{
	struct arena a = { 0 };
	struct str_list list = { 0 };
	char text[1000][8];
	for (int i = 0; i < 1000; i++) {
		snprintf(text[i], sizeof text[i], "%d", i);
		str_list_add(&list, &a, text[i]);
		ck_assert_ptr_null(list.v[list.n]);
	}
	ck_assert_uint_eq(list.n, 1000);
	for (int i = 0; i < 1000; i++)
		ck_assert_ptr_eq(list.v[i], text[i]);
	arena_done(&a);
}
END_TEST

START_TEST(optional_arguments_must_be_attached)
{
	PARSED(r);
	ACCEPT(r, "--mark", "green");
	ck_assert_int_eq(r.o.marks.n, 2);
	ck_assert_str_eq(r.line.args.v[0], "green");
	ACCEPT(r, "--mark=green");
	ck_assert_int_eq(r.o.marks.n, 1);
	ck_assert_int_eq(r.o.marks.v[0], 1);
}
END_TEST

START_TEST(arguments_and_options_mix)
{
	PARSED(r);
	ACCEPT(r, "one", "-a", "two");
	ck_assert(r.o.deep);
	ck_assert_uint_eq(r.line.args.n, 2);
	ck_assert_str_eq(r.line.args.v[1], "two");
	ACCEPT(r, "--", "-a");
	ck_assert(!r.o.deep);
	ck_assert_str_eq(r.line.args.v[0], "-a");
	ACCEPT(r, "-");
	ck_assert_str_eq(r.line.args.v[0], "-");
	REFUSE(r, "unexpected argument 'three'", "one", "two", "three");
}
END_TEST

START_TEST(a_command_line_is_left_alone)
{
	PARSED(r);
	PARSE(r, cmd_exec, "-a", "--", "prog", "-b", "--", "--json");
	ck_assert_int_eq(r.rc, 0);
	ck_assert_uint_eq(r.line.command.n, 4);
	ck_assert_str_eq(r.line.command.v[1], "-b");
	ck_assert_ptr_null(r.line.command.v[4]);
	ck_assert(!r.o.light && !r.line.globals.json);
	PARSE(r, cmd_exec, "-a", "--");
	ck_assert_int_eq(r.rc, -EINVAL);
	PARSE(r, cmd_exec, "prog");
	ck_assert_int_eq(r.rc, -EINVAL);
	ck_assert_ptr_nonnull(strstr(r.err.hint, "cresset exec -- prog"));
	/* a forgotten argument does not eat the separator */
	PARSE(r, cmd_exec, "-w", "--", "prog");
	ck_assert_int_eq(r.rc, -EINVAL);
	ck_assert_ptr_nonnull(strstr(r.err.text, "needs an argument"));
}
END_TEST

START_TEST(wrong_values_are_named)
{
	PARSED(r);
	REFUSE(r, "option --count: '12x' is not a number", "-n12x");
	REFUSE(r, "option --count: '0' is not between 1 and 10000", "--count=0");
	REFUSE(r, "option --count: '10001' is not between 1 and 10000", "-n", "10001");
	REFUSE(r, "option --count: '-1' is not a number", "-n", "-1");
	REFUSE(r, "not between 1 and 10000", "--count", "99999999999999999999");
	REFUSE(r, "not a size like", "--size", "64Q");
	REFUSE(r, "too large", "--size", "2G");
	REFUSE(r, "not a time like", "-d", "soon");
	REFUSE(r, "not a number", "--factor=nan");
	REFUSE(r, "not a number", "--factor=inf");
	REFUSE(r, "less than 0", "--factor=-1");
	REFUSE(r, "more than 100 percent", "--percent", "101");
	REFUSE(r, "needs an argument: PLACE", "-w");
	REFUSE(r, "needs an argument: PLACE", "--where");
	REFUSE(r, "takes no argument", "--deep=1");
	REFUSE(r, "is empty", "-p", "a,,b");
	REFUSE(r, "is empty", "-p", "a,");
	REFUSE(r, "is empty", "--mix=");
}
END_TEST

START_TEST(the_nearest_name_is_offered)
{
	PARSED(r);
	REFUSE(r, "unknown option '--cuont'", "--cuont=3");
	ck_assert_ptr_nonnull(strstr(r.err.hint, "did you mean --count?"));
	REFUSE(r, "unknown option '--perc'", "--perc");
	ck_assert_ptr_nonnull(strstr(r.err.hint, "did you mean --percent?"));
	REFUSE(r, "unknown option '-count=3'", "-count=3");
	ck_assert_ptr_nonnull(strstr(r.err.hint, "did you mean --count?"));
	REFUSE(r, "unknown option '-z'", "-az");
	ck_assert_ptr_null(strstr(r.err.hint, "did you mean"));
	REFUSE(r, "'gren' is not known", "--paint=gren");
	ck_assert_ptr_nonnull(strstr(r.err.hint, "did you mean 'green'?"));
	ck_assert_ptr_nonnull(strstr(r.err.hint, "red, green or blue"));
	REFUSE(r, "'zzzzz' is not known", "--mix=red,zzzzz");
	ck_assert_ptr_null(strstr(r.err.hint, "did you mean"));
	REFUSE(r, "unknown option '--qqqqqqq'", "--qqqqqqq");
	ck_assert_ptr_nonnull(strstr(r.err.hint, "cresset sleep --help-all"));
}
END_TEST

START_TEST(globals_are_known_everywhere)
{
	PARSED(r);
	ACCEPT(r, "-qvv", "--color=never", "x");
	ck_assert(r.line.globals.quiet);
	ck_assert_int_eq(r.line.globals.verbose, 2);
	ck_assert_int_eq(r.line.globals.color, COLOR_NEVER);
	REFUSE(r, "prints no table", "--json");
	PARSE(r, cmd_exec, "--json");
	ck_assert_int_eq(r.rc, 0);
	ck_assert(r.line.globals.json);
	ACCEPT(r, "--help");
	ck_assert(r.line.globals.help);
}
END_TEST

START_TEST(globals_before_the_command)
{
	char *argv[] = { "cresset", "-v", "--color", "always", "sleep", "-q" };
	struct cmd_line line = { 0 };
	struct err err = { 0 };
	ck_assert_int_eq(options_parse_globals(&line, 6, argv, &err), 4);
	ck_assert_int_eq(line.globals.verbose, 1);
	ck_assert_int_eq(line.globals.color, COLOR_ALWAYS);
	ck_assert(!line.globals.quiet);
	char *unknown[] = { "cresset", "--count", "3" };
	ck_assert_int_eq(options_parse_globals(&line, 3, unknown, &err), -EINVAL);
}
END_TEST

static const struct cmd *const commands[] = { &cmd_record,  &cmd_report, &cmd_flame,
					      &cmd_convert, &cmd_doctor, &cmd_completion,
					      &cmd_help,    NULL };

START_TEST(the_nearest_command_is_offered)
{
	struct err err = { 0 };
	ck_assert_ptr_eq(cmd_find(commands, "record", &err), &cmd_record);
	ck_assert_ptr_null(cmd_find(commands, "reprot", &err));
	ck_assert_ptr_nonnull(strstr(err.hint, "cresset report"));
	ck_assert_ptr_null(cmd_find(commands, "bake", &err));
	ck_assert_ptr_null(strstr(err.hint, "did you mean"));
}
END_TEST

/* --- rules for every table ------------------------------------------------------------------- */

static bool names_clash(const struct cmd_opt *a, const struct cmd_opt *b)
{
	if (strcmp(a->name, b->name) == 0)
		return true;
	for (const char *c = a->shorts; c && *c; c++)
		if (b->shorts && strchr(b->shorts, *c))
			return true;
	return false;
}

START_TEST(no_two_options_share_a_name)
{
	for (const struct cmd *const *cmd = commands; *cmd; cmd++)
		for (const struct cmd_opt *a = (*cmd)->options; a && a->name; a++) {
			for (const struct cmd_opt *b = a + 1; b->name; b++)
				ck_assert_msg(!names_clash(a, b), "%s: --%s and --%s", (*cmd)->name,
					      a->name, b->name);
			for (const struct cmd_opt *b = global_options; b->name; b++)
				ck_assert_msg(!names_clash(a, b), "%s: --%s and --%s", (*cmd)->name,
					      a->name, b->name);
			ck_assert_msg(a->offset < (*cmd)->opts_size, "%s: --%s", (*cmd)->name,
				      a->name);
			bool has_arg = a->kind != OPT_FLAG && a->kind != OPT_COUNT;
			ck_assert_msg(has_arg == (a->arg != NULL), "%s: --%s", (*cmd)->name,
				      a->name);
		}
}
END_TEST

static void check_lines(const char *text, size_t max_lines)
{
	size_t lines = 0, width = 0;
	for (const char *c = text; *c; c++) {
		ck_assert_msg(*c == '\n' || (*c >= ' ' && *c < 127), "help is plain ASCII: %s",
			      text);
		width = *c == '\n' ? 0 : width + 1;
		lines += *c == '\n';
		ck_assert_msg(width <= HELP_WIDTH, "too wide:\n%s", text);
	}
	ck_assert_msg(lines <= max_lines, "%zu lines:\n%s", lines, text);
}

START_TEST(help_fits_a_screen)
{
	struct buf b = { 0 };
	help_program(&b, commands);
	check_lines(buf_cstr(&b), HELP_BASIC_LINES);
	for (const struct cmd *const *cmd = commands; *cmd; cmd++) {
		buf_clear(&b);
		help_basic(&b, *cmd);
		check_lines(buf_cstr(&b), HELP_BASIC_LINES);
		buf_clear(&b);
		help_all(&b, *cmd);
		check_lines(buf_cstr(&b), 1000);
		for (const struct cmd_opt *o = (*cmd)->options; o && o->name; o++) {
			char shown[64];
			snprintf(shown, sizeof shown, "--%s", o->name);
			ck_assert_msg(strstr(b.data, shown), "%s: %s", (*cmd)->name, shown);
		}
	}
	buf_done(&b);
}
END_TEST

/* Each heading of the help stands once, with all of its options below it. */
START_TEST(each_group_is_listed_once)
{
	static const struct cmd_opt none[] = { { 0 } };

	for (const struct cmd *const *cmd = commands; *cmd; cmd++) {
		const struct cmd_opt *seen[128];
		size_t n = 0, rows = 0;

		for (const struct cmd_opt *o = (*cmd)->options; o && o->name; o++)
			rows++;
		ck_assert_uint_le(rows, 128);
		for (const struct cmd_opt *o = NULL; (o = opt_next_by_group((*cmd)->options, o));) {
			bool begins = n == 0 || strcmp(seen[n - 1]->group, o->group) != 0;

			ck_assert_msg(n < rows, "%s: more than %zu rows", (*cmd)->name, rows);
			for (size_t i = 0; i < n; i++) {
				ck_assert_msg(seen[i] != o, "%s --%s", (*cmd)->name, o->name);
				ck_assert_msg(!begins || strcmp(seen[i]->group, o->group) != 0,
					      "%s: %s again", (*cmd)->name, o->group);
			}
			seen[n++] = o;
		}
		ck_assert_uint_eq(n, rows);
	}
	ck_assert_ptr_null(opt_next_by_group(NULL, NULL));
	ck_assert_ptr_null(opt_next_by_group(none, NULL));
}
END_TEST

/* Every example in a help text parses, with its command. */
START_TEST(examples_parse)
{
	for (const struct cmd *const *cmd = commands; *cmd; cmd++)
		for (int i = 0; i < 3 && (*cmd)->examples[i]; i++) {
			char *text = strdup((*cmd)->examples[i]), *argv[32], *save = NULL;
			int argc = 0;
			text[strcspn(text, "\t")] = '\0';
			for (char *w = strtok_r(text, " ", &save); w;
			     w = strtok_r(NULL, " ", &save))
				argv[argc++] = w;
			int at = strcmp(argv[0], "sudo") == 0;
			ck_assert_str_eq(argv[at], "cresset");
			ck_assert_str_eq(argv[at + 1], (*cmd)->name);
			struct cmd_line line = { .cmd = *cmd };
			struct err err = { 0 };
			void *opts = calloc(1, (*cmd)->opts_size + 1);
			int rc = options_parse(&line, argc - at - 1, argv + at + 1, opts, &err);
			ck_assert_msg(rc == 0, "%s: %s", (*cmd)->examples[i], err.text);
			arena_done(&line.arena);
			free(opts);
			free(text);
		}
}
END_TEST

UNIT_MAIN("options", defaults_fill_missing_options, every_spelling_of_an_argument,
	  short_flags_bundle_and_count, quantities_have_units, lists_grow_and_replace_their_default,
	  lists_hold_many_entries, optional_arguments_must_be_attached, arguments_and_options_mix,
	  a_command_line_is_left_alone, wrong_values_are_named, the_nearest_name_is_offered,
	  globals_are_known_everywhere, globals_before_the_command, the_nearest_command_is_offered,
	  no_two_options_share_a_name, help_fits_a_screen, each_group_is_listed_once,
	  examples_parse)
