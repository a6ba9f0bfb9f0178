/* Reads the section of a command from a YAML file, and stores each key as the option of that
 * name. */
#include "cmd/cli/config.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/json/yaml.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* --- tables ----------------------------------------------------------------------------------- */

static bool is_key(const struct cmd_opt *o)
{
	return o->kind != OPT_CONFIG && o->kind != OPT_COUNT;
}

static const struct cmd_opt *find_key(const struct cmd_opt *table, const char *name)
{
	for (const struct cmd_opt *o = table; o && o->name; o++)
		if (is_key(o) && strcmp(o->name, name) == 0)
			return o;
	return NULL;
}

static const struct cmd_opt *config_row(const struct cmd *cmd)
{
	for (const struct cmd_opt *o = cmd->options; o && o->name; o++)
		if (o->kind == OPT_CONFIG)
			return o;
	return NULL;
}

static const struct cmd_opt *key_of(const struct cmd *cmd, const char *name)
{
	const struct cmd_opt *o = find_key(cmd->options, name);

	return o ? o : find_key(cmd->config_only, name);
}

static const struct cmd *other_command(const struct parser *p, const char *name)
{
	for (const struct cmd *const *cmd = p->line->all; cmd && *cmd; cmd++)
		if (*cmd != p->line->cmd && config_row(*cmd) && key_of(*cmd, name))
			return *cmd;
	return NULL;
}

static const char *nearest_key(const struct cmd *cmd, const char *name)
{
	const char *names[2 * OPTIONS_MAX];
	size_t n = 0;

	for (const struct cmd_opt *o = cmd->options; o->name && n < OPTIONS_MAX; o++)
		if (is_key(o))
			names[n++] = o->name;
	for (const struct cmd_opt *o = cmd->config_only; o && o->name && n < 2 * OPTIONS_MAX; o++)
		names[n++] = o->name;
	return str_nearest(name, names, n);
}

static int unknown_key(struct parser *p, const struct yaml *y)
{
	const struct cmd *other = other_command(p, y->key);
	const char *near = nearest_key(p->line->cmd, y->key);

	err_set(p->err, EINVAL, "%s: unknown key '%s'", p->place, y->key);
	if (other)
		err_hint(p->err, "it is a key of cresset %s, not of cresset %s", other->name,
			 p->line->cmd->name);
	else if (near)
		err_hint(p->err, "did you mean %s?\ncresset help --config lists the keys", near);
	else
		err_hint(p->err, "cresset help --config lists the keys");
	return -EINVAL;
}

/* --- values ----------------------------------------------------------------------------------- */

static int refuse(struct parser *p, const char *name, const char *why)
{
	return err_set(p->err, EINVAL, "%s: %s %s", p->place, name, why);
}

static int store_flag(struct parser *p, const struct cmd_opt *o, void *base, const struct yaml *y)
{
	bool is_true = y->kind == YAML_TEXT && strcmp(y->text, "true") == 0;

	if (!is_true && (y->kind != YAML_TEXT || strcmp(y->text, "false") != 0))
		return refuse(p, o->name, "is true or false");
	return is_true ? opt_store(p, o, base, NULL) : 0;
}

static int store_entry(struct parser *p, const struct cmd_opt *o, void *base, const struct yaml *y)
{
	const char *text = y->text;

	if (y->kind != YAML_TEXT || y->is_null)
		return refuse(p, o->name, "is a list of texts");
	if (y->key) {
		struct buf b = { 0 };
		buf_addf(&b, "%s=%s", y->key, y->text);
		text = arena_dup(&p->line->arena, b.data, b.len);
		buf_done(&b);
	}
	return opt_store(p, o, base, text);
}

static int store_entries(struct parser *p, const struct cmd_opt *o, void *base,
			 const struct yaml *y)
{
	int rc = 0;

	for (const struct yaml *kid = y->kids; kid && !rc; kid = kid->next)
		rc = store_entry(p, o, base, kid);
	return rc;
}

static int store_value(struct parser *p, const struct cmd_opt *o, void *base, const struct yaml *y)
{
	bool is_list = o->kind == OPT_STRINGS || o->kind == OPT_COMMA || o->kind == OPT_CHOICES;

	if (y->kind == YAML_TEXT && y->is_null)
		return refuse(p, o->name, "has no value; an empty text is ''");
	if (o->kind == OPT_FLAG)
		return store_flag(p, o, base, y);
	if (o->kind == OPT_TREE) {
		*(const struct yaml **)((char *)base + o->offset) = y;
		return 0;
	}
	if (is_list &&
	    (y->kind == YAML_LIST || (y->kind == YAML_MAPPING && o->kind == OPT_STRINGS)))
		return store_entries(p, o, base, y);
	if (y->kind != YAML_TEXT)
		return refuse(p, o->name, is_list ? "is a list of texts" : "has a single value");
	return opt_store(p, o, base, y->text);
}

/* Options on the command line win; the file's values must still be valid. */
static int apply_key(struct parser *p, const struct yaml *y)
{
	const struct cmd *cmd = p->line->cmd;
	const struct cmd_opt *o = find_key(cmd->options, y->key);
	void *base = p->opts;

	if (!o) {
		o = find_key(cmd->config_only, y->key);
		return o ? store_value(p, o, base, y) : unknown_key(p, y);
	}
	bool *seen = &p->seen[o - cmd->options];
	if (*seen)
		base = arena_zalloc(&p->line->arena, cmd->opts_size);
	*seen = true;
	return store_value(p, o, base, y);
}

/* --- the file --------------------------------------------------------------------------------- */

static int read_file(const char *path, struct arena *a, const struct yaml **out, struct err *err)
{
	struct buf b = { 0 };
	int rc = fs_read_at(AT_FDCWD, path, YAML_MAX_BYTES, &b, err);

	if (!rc)
		rc = yaml_read(b.data, b.len, path, a, out, err);
	buf_done(&b);
	if (!rc && (*out)->kind != YAML_MAPPING)
		rc = err_set(err, EINVAL, "%s:%u: expected 'key: value', for example  freq: 19",
			     path, (*out)->line);
	return rc;
}

int config_apply(struct parser *p)
{
	const struct cmd_opt *row = config_row(p->line->cmd);
	const char *path = row ? *(const char **)((char *)p->opts + row->offset) : NULL;
	const struct yaml *root;
	struct buf place = { 0 };

	if (!path)
		return 0;
	int rc = read_file(path, &p->line->arena, &root, p->err);
	for (const struct yaml *y = rc ? NULL : root->kids; y && !rc; y = y->next) {
		buf_clear(&place);
		buf_addf(&place, "%s:%u", path, y->line);
		p->place = buf_cstr(&place);
		rc = apply_key(p, y);
	}
	p->place = NULL;
	buf_done(&place);
	return rc;
}

/* --- reading it again ------------------------------------------------------------------------- */

static bool same_string(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_list(const struct str_list *a, const struct str_list *b)
{
	for (size_t i = 0; i < a->n && i < b->n; i++)
		if (strcmp(a->v[i], b->v[i]) != 0)
			return false;
	return a->n == b->n;
}

static bool same_number(const struct opt_number *a, const struct opt_number *b)
{
	return a->set == b->set && a->v == b->v;
}

static bool same_value(const struct cmd_opt *o, const void *opts, const void *others)
{
	const void *a = (const char *)opts + o->offset, *b = (const char *)others + o->offset;

	switch (o->kind) {
	case OPT_FLAG:
		return *(const bool *)a == *(const bool *)b;
	case OPT_COUNT:
	case OPT_ENUM:
		return *(const int *)a == *(const int *)b;
	case OPT_STRING:
	case OPT_CONFIG:
		return same_string(*(const char *const *)a, *(const char *const *)b);
	case OPT_U64:
	case OPT_SIZE:
	case OPT_DURATION:
		return *(const uint64_t *)a == *(const uint64_t *)b;
	case OPT_NUMBER:
	case OPT_PERCENT:
		return same_number(a, b);
	case OPT_STRINGS:
	case OPT_COMMA:
		return same_list(a, b);
	case OPT_CHOICES:
		return memcmp(a, b, sizeof(struct choice_list)) == 0;
	case OPT_TREE:
		return yaml_equal(*(const struct yaml *const *)a, *(const struct yaml *const *)b);
	}
	return false;
}

static void compare(struct config_again *a, const struct cmd_opt *table, const void *before)
{
	for (const struct cmd_opt *o = table; o && o->name; o++)
		if (!same_value(o, before, a->opts))
			str_list_add(&a->changed, &a->line.arena, o->name);
}

int config_again(const struct cmd_line *line, const void *opts, struct config_again *out,
		 struct err *err)
{
	*out = (struct config_again){ .line = { .cmd = line->cmd,
						.all = line->all,
						.globals = line->globals,
						.term = line->term,
						.argc = line->argc,
						.argv = line->argv,
						.at = line->at } };
	out->opts = arena_zalloc(&out->line.arena, line->cmd->opts_size);
	int rc = options_parse(&out->line, line->argc - line->at, line->argv + line->at, out->opts,
			       err);
	if (rc) {
		config_again_done(out);
		return rc;
	}
	compare(out, line->cmd->options, opts);
	compare(out, line->cmd->config_only, opts);
	return 0;
}

void config_again_done(struct config_again *a)
{
	arena_done(&a->line.arena);
}
