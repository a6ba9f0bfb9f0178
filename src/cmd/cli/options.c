/* Parses command lines by the option tables: values, ranges, abbreviations, defaults and errors. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "cmd/cli/config.h"

#include <errno.h>
#include <math.h>

static const char *const color_words[] = { "auto", "always", "never", NULL };

#define GLOBAL(member) .group = "Common options", .offset = offsetof(struct cmd_globals, member)
const struct cmd_opt global_options[] = {
	{ "q", "quiet", NULL, "errors only", OPT_FLAG, GLOBAL(quiet) },
	{ "v", "verbose", NULL, "more messages; -vv: even more", OPT_COUNT, GLOBAL(verbose) },
	{ NULL, "color", "WHEN", "colour: auto, always or never", OPT_ENUM, GLOBAL(color),
	  .words = color_words, .def = "auto" },
	{ NULL, "json", NULL, "JSON instead of text", OPT_FLAG, GLOBAL(json) },
	{ "h", "help", NULL, "examples and the usual options", OPT_FLAG, GLOBAL(help) },
	{ NULL, "help-all", NULL, "every option", OPT_FLAG, GLOBAL(help_all) },
	{ NULL, "version", NULL, "print the version", OPT_FLAG, GLOBAL(version) },
	{ 0 },
};

void str_list_add(struct str_list *list, struct arena *a, const char *s)
{
	size_t need = list->n + 2; /* the new entry and NULL; the space doubles at powers of two */
	if (list->n == 0 || (need & (need - 1)) == 0) {
		const char **v = arena_zalloc(a, 2 * need * sizeof *v);
		if (list->n)
			memcpy(v, list->v, list->n * sizeof *v);
		list->v = v;
	}
	list->v[list->n++] = s;
	list->v[list->n] = NULL;
}

static const struct cmd_opt *find_group(const struct cmd_opt *o, const char *group)
{
	while (o->name && strcmp(o->group, group) != 0)
		o++;
	return o->name ? o : NULL;
}

const struct cmd_opt *opt_next_by_group(const struct cmd_opt *table, const struct cmd_opt *o)
{
	const struct cmd_opt *next;

	if (!table || !table->name)
		return NULL;
	if (!o)
		return table;
	next = find_group(o + 1, o->group);
	if (next)
		return next;
	for (next = find_group(table, o->group) + 1; next->name; next++)
		if (find_group(table, next->group) == next)
			return next;
	return NULL;
}

static size_t options_count(const struct cmd_opt *table)
{
	size_t n = 0;
	while (table && table[n].name)
		n++;
	return n;
}

/* --- values ---------------------------------------------------------------------------------- */

static int value_error(struct parser *p, const struct cmd_opt *o, const char *value,
		       const char *what)
{
	return err_set(p->err, EINVAL, "%s%s%s: '%s' is %s", p->place ? p->place : "option ",
		       p->place ? ": " : "--", o->name, value, what);
}

static int range_error(struct parser *p, const struct cmd_opt *o, const char *value, bool small)
{
	char what[96];
	if (o->kind != OPT_U64 || !o->max)
		return value_error(p, o, value, small ? "too small" : "too large");
	snprintf(what, sizeof what, "not between %llu and %llu", (unsigned long long)o->min,
		 (unsigned long long)o->max);
	return value_error(p, o, value, what);
}

static int store_u64(struct parser *p, const struct cmd_opt *o, const char *value, uint64_t *out)
{
	uint64_t unit_ns = o->bare_unit_ns ? o->bare_unit_ns : 1000000000;
	const char *what = "not a number";
	uint64_t v = 0;
	int rc;
	if (o->kind == OPT_SIZE) {
		what = "not a size like 64K, 16M or 2G";
		rc = parse_size(value, &v);
	} else if (o->kind == OPT_DURATION) {
		what = "not a time like 500ms, 10s or 15m";
		rc = parse_duration(value, unit_ns, &v);
	} else {
		rc = parse_u64(value, &v);
	}
	if (rc < 0 && rc != -ERANGE)
		return value_error(p, o, value, what);
	if (rc < 0 || v < o->min || (o->max && v > o->max))
		return range_error(p, o, value, rc == 0 && v < o->min);
	*out = v;
	return 0;
}

static int store_number(struct parser *p, const struct cmd_opt *o, const char *value,
			struct opt_number *out)
{
	char *end;
	double v = strtod(value, &end);
	if (o->kind == OPT_PERCENT && *end == '%')
		end++;
	if (end == value || *end || !isfinite(v))
		return value_error(p, o, value, "not a number");
	if (v < 0 || (o->kind == OPT_PERCENT && v > 100))
		return value_error(p, o, value, v < 0 ? "less than 0" : "more than 100 percent");
	*out = (struct opt_number){ .v = v, .set = true };
	return 0;
}

static int find_word(struct parser *p, const struct cmd_opt *o, const char *value, int *out)
{
	size_t n = 0;
	for (; o->words[n]; n++) {
		if (strcmp(o->words[n], value) != 0)
			continue;
		*out = n;
		return 0;
	}
	struct buf list = { 0 };
	for (size_t i = 0; o->words[i]; i++) {
		if (i)
			buf_adds(&list, o->words[i + 1] ? ", " : " or ");
		buf_adds(&list, o->words[i]);
	}
	value_error(p, o, value, "not known");
	const char *near = str_nearest(value, o->words, n);
	if (near)
		err_hint(p->err, "did you mean '%s'?\nknown: %s", near, buf_cstr(&list));
	else
		err_hint(p->err, "known: %s", buf_cstr(&list));
	buf_done(&list);
	return -EINVAL;
}

static int store_choice(struct parser *p, const struct cmd_opt *o, const char *value,
			struct choice_list *out)
{
	int word;
	int rc = find_word(p, o, value, &word);
	if (rc < 0)
		return rc;
	for (int i = 0; i < out->n; i++)
		if (out->v[i] == word)
			return 0;
	if (out->n < CHOICES_MAX)
		out->v[out->n++] = word;
	return 0;
}

/* Stores each part of "a,b,c"; an empty part is an error. */
static int store_parts(struct parser *p, const struct cmd_opt *o, const char *value, void *member)
{
	while (true) {
		size_t len = strcspn(value, ",");
		char *part = arena_dup(&p->line->arena, value, len);
		if (!len)
			return value_error(p, o, part,
					   "empty: names are separated by single commas");
		int rc = 0;
		if (o->kind == OPT_CHOICES)
			rc = store_choice(p, o, part, member);
		else
			str_list_add(member, &p->line->arena, part);
		if (rc < 0 || !value[len])
			return rc;
		value += len + 1;
	}
}

int opt_store(struct parser *p, const struct cmd_opt *o, void *base, const char *value)
{
	void *member = (char *)base + o->offset;
	switch (o->kind) {
	case OPT_FLAG:
		*(bool *)member = true;
		return 0;
	case OPT_COUNT:
		++*(int *)member;
		return 0;
	case OPT_STRING:
	case OPT_CONFIG:
		*(const char **)member = value;
		return 0;
	case OPT_U64:
	case OPT_SIZE:
	case OPT_DURATION:
		return store_u64(p, o, value, member);
	case OPT_NUMBER:
	case OPT_PERCENT:
		return store_number(p, o, value, member);
	case OPT_ENUM:
		return find_word(p, o, value, member);
	case OPT_STRINGS:
		str_list_add(member, &p->line->arena, value);
		return 0;
	case OPT_COMMA:
	case OPT_CHOICES:
		return store_parts(p, o, value, member);
	case OPT_TREE: /* never text */
		return -EINVAL;
	}
	return 0;
}

/* --- names ----------------------------------------------------------------------------------- */

/* An option in one of the two tables, and the struct with its member. */
struct opt_found {
	const struct cmd_opt *opt;
	void *base;
	bool *seen; /* NULL for global options */
};

static const struct cmd_opt *command_options(const struct parser *p)
{
	return p->line->cmd ? p->line->cmd->options : NULL;
}

static bool opt_matches(const struct cmd_opt *o, const char *name, size_t len, char letter)
{
	if (letter)
		return o->shorts && strchr(o->shorts, letter);
	return strlen(o->name) == len && memcmp(o->name, name, len) == 0;
}

static bool find_option(struct parser *p, const char *name, size_t len, char letter,
			struct opt_found *out)
{
	const struct cmd_opt *own = command_options(p);
	for (size_t i = 0; own && own[i].name; i++) {
		if (!opt_matches(&own[i], name, len, letter))
			continue;
		*out = (struct opt_found){ &own[i], p->opts, &p->seen[i] };
		return true;
	}
	for (const struct cmd_opt *o = global_options; o->name; o++) {
		if (!opt_matches(o, name, len, letter))
			continue;
		*out = (struct opt_found){ o, &p->line->globals, NULL };
		return true;
	}
	return false;
}

static void hint_help(struct parser *p, const char *suggestion)
{
	const char *space = p->line->cmd ? " " : "";
	const char *name = p->line->cmd ? p->line->cmd->name : "";
	const char *all = p->line->cmd ? "-all" : "";
	if (suggestion)
		err_hint(p->err, "did you mean --%s?\ncresset%s%s --help%s lists the options",
			 suggestion, space, name, all);
	else
		err_hint(p->err, "cresset%s%s --help%s lists the options", space, name, all);
}

/* Returns the option that name is a prefix of, or the nearest one. */
static const char *nearest_option(struct parser *p, const char *name)
{
	const char *names[2 * OPTIONS_MAX];
	size_t n = 0;
	const struct cmd_opt *own = command_options(p);
	for (size_t i = 0; own && own[i].name; i++)
		names[n++] = own[i].name;
	for (const struct cmd_opt *o = global_options; o->name; o++)
		names[n++] = o->name;
	for (size_t i = 0; i < n && strlen(name) >= 2; i++)
		if (str_starts(names[i], name))
			return names[i];
	return str_nearest(name, names, n);
}

static int unknown_long(struct parser *p, const char *name, size_t len)
{
	char *word = xstrndup(name, len);
	err_set(p->err, EINVAL, "unknown option '--%s'", word);
	hint_help(p, nearest_option(p, word));
	free(word);
	return -EINVAL;
}

static int unknown_short(struct parser *p, char letter)
{
	err_set(p->err, EINVAL, "unknown option '-%c'", letter);
	hint_help(p, NULL);
	return -EINVAL;
}

/* Refuses -freq, which would be read as -f req. */
static int check_one_dash(struct parser *p, const char *arg)
{
	enum { SHORTEST = 3 };
	struct opt_found f;
	size_t len = strcspn(arg + 1, "=");
	if (len < SHORTEST || !find_option(p, arg + 1, len, 0, &f))
		return 0;
	err_set(p->err, EINVAL, "unknown option '%s'", arg);
	hint_help(p, f.opt->name);
	return -EINVAL;
}

/* --- parsing argv ---------------------------------------------------------------------------- */

/* Takes the next word as the argument of an option that has none attached. "--" is not taken: a
 * forgotten argument before a command line would otherwise eat the separator. */
static int take_value(struct parser *p, const struct cmd_opt *o, const char **value)
{
	if (p->next < p->argc && strcmp(p->argv[p->next], "--") != 0) {
		*value = p->argv[p->next++];
		return 0;
	}
	err_set(p->err, EINVAL, "option --%s needs an argument: %s", o->name, o->arg);
	hint_help(p, NULL);
	return -EINVAL;
}

static int opt_apply(struct parser *p, const struct opt_found *f, const char *value)
{
	if (f->seen)
		*f->seen = true;
	int rc = opt_store(p, f->opt, f->base, value);
	if (rc < 0 && p->err && !p->err->hint[0])
		hint_help(p, NULL);
	return rc;
}

static int parse_long(struct parser *p, const char *arg)
{
	const char *name = arg + 2;
	size_t len = strcspn(name, "=");
	const char *value = name[len] ? name + len + 1 : NULL;
	struct opt_found f;
	if (!find_option(p, name, len, 0, &f))
		return unknown_long(p, name, len);
	if (!f.opt->arg && value)
		return err_set(p->err, EINVAL, "option --%s takes no argument", f.opt->name);
	if (f.opt->arg && !value) {
		int rc = f.opt->bare ? 0 : take_value(p, f.opt, &value);
		if (rc < 0)
			return rc;
		if (!value)
			value = f.opt->bare;
	}
	return opt_apply(p, &f, value);
}

/* -v, -vv, -qa, -F99, -F 99, -aF99 */
static int parse_shorts(struct parser *p, const char *arg)
{
	if (check_one_dash(p, arg) < 0)
		return -EINVAL;
	for (const char *c = arg + 1; *c; c++) {
		struct opt_found f;
		if (!find_option(p, NULL, 0, *c, &f))
			return unknown_short(p, *c);
		const char *value = NULL;
		if (f.opt->arg && c[1])
			value = c + 1;
		else if (f.opt->arg && f.opt->bare)
			value = f.opt->bare;
		else if (f.opt->arg && take_value(p, f.opt, &value) < 0)
			return -EINVAL;
		int rc = opt_apply(p, &f, value);
		if (rc < 0 || value)
			return rc;
	}
	return 0;
}

static bool is_option(const char *arg)
{
	return arg[0] == '-' && arg[1];
}

static int add_argument(struct parser *p, const char *arg)
{
	struct cmd_line *line = p->line;
	if (line->args.n < line->cmd->max_args) {
		str_list_add(&line->args, &line->arena, arg);
		return 0;
	}
	err_set(p->err, EINVAL, "unexpected argument '%s'", arg);
	if (line->cmd->runs_command)
		err_hint(p->err, "to run a program, put -- in front of it: cresset %s -- %s",
			 line->cmd->name, arg);
	else
		hint_help(p, NULL);
	return -EINVAL;
}

/* Everything after "--". */
static int parse_rest(struct parser *p)
{
	struct cmd_line *line = p->line;
	while (p->next < p->argc) {
		const char *arg = p->argv[p->next++];
		int rc = 0;
		if (line->cmd->runs_command)
			str_list_add(&line->command, &line->arena, arg);
		else
			rc = add_argument(p, arg);
		if (rc < 0)
			return rc;
	}
	if (line->cmd->runs_command && !line->command.n) {
		err_set(p->err, EINVAL, "missing command after --");
		hint_help(p, NULL);
		return -EINVAL;
	}
	return 0;
}

static int parse_word(struct parser *p, const char *arg)
{
	if (strcmp(arg, "--") == 0)
		return parse_rest(p);
	if (str_starts(arg, "--"))
		return parse_long(p, arg);
	if (is_option(arg))
		return parse_shorts(p, arg);
	return add_argument(p, arg);
}

/* Whether the option was given, by this name or by another one for the same value. */
static bool was_given(const struct parser *p, const struct cmd_opt *own, size_t of)
{
	for (size_t i = 0; own[i].name; i++)
		if (p->seen[i] && own[i].offset == own[of].offset)
			return true;
	return false;
}

static int apply_defaults(struct parser *p)
{
	const struct cmd_opt *own = command_options(p);
	for (size_t i = 0; own && own[i].name; i++) {
		int rc = own[i].def && !was_given(p, own, i)
				 ? opt_store(p, &own[i], p->opts, own[i].def)
				 : 0;
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int check_line(struct parser *p)
{
	struct cmd_line *line = p->line;
	const struct cmd_globals *g = &line->globals;
	if (g->help || g->help_all || g->version)
		return 0;
	if (line->args.n < line->cmd->min_args) {
		err_set(p->err, EINVAL, "%s is missing", line->cmd->arg_name);
		err_hint(p->err, "usage: cresset %s %s", line->cmd->name, line->cmd->usage);
		return -EINVAL;
	}
	if (g->json && !line->cmd->has_json)
		return err_set(p->err, EINVAL, "%s prints no table: --json has no effect",
			       line->cmd->name);
	return 0;
}

int options_parse(struct cmd_line *line, int argc, char **argv, void *opts, struct err *err)
{
	struct parser p = {
		.line = line, .opts = opts, .argv = argv, .argc = argc, .next = 1, .err = err
	};
	if (options_count(command_options(&p)) > OPTIONS_MAX)
		return err_set(err, E2BIG, "%s: too many options", line->cmd->name);
	while (p.next < argc) {
		int rc = parse_word(&p, argv[p.next++]);
		if (rc < 0)
			return rc;
	}
	int rc = config_apply(&p);
	if (!rc)
		rc = apply_defaults(&p);
	return rc < 0 ? rc : check_line(&p);
}

int options_parse_globals(struct cmd_line *line, int argc, char **argv, struct err *err)
{
	struct parser p = { .line = line, .argv = argv, .argc = argc, .next = 1, .err = err };
	while (p.next < argc && is_option(argv[p.next])) {
		const char *arg = argv[p.next++];
		int rc = str_starts(arg, "--") ? parse_long(&p, arg) : parse_shorts(&p, arg);
		if (rc < 0)
			return rc;
	}
	return p.next;
}

const struct cmd *cmd_find(const struct cmd *const *all, const char *name, struct err *err)
{
	enum { COMMANDS_MAX = 64 };
	const char *names[COMMANDS_MAX];
	size_t n = 0;
	for (; all[n] && n < COMMANDS_MAX; n++) {
		if (strcmp(all[n]->name, name) == 0)
			return all[n];
		names[n] = all[n]->name;
	}
	err_set(err, EINVAL, "unknown command '%s'", name);
	const char *near = str_nearest(name, names, n);
	if (near)
		err_hint(err, "did you mean 'cresset %s'?\ncresset --help lists the commands",
			 near);
	else
		err_hint(err, "cresset --help lists the commands");
	return NULL;
}
