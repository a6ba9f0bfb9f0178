/* Checks the filter options, compiles the expressions, and selects the type to show. */
#include "cmd/files/filter.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "profile/profile.h"
#include "profile/tree/select.h"
#include "profile/tree/time_range.h"
#include "query/part.h"
#include "query/query_parse.h"
#include "query/selector.h"

#include <errno.h>

/* --- --match ---------------------------------------------------------------------------------- */

/* Sets *out (free with selector_free), to NULL if text is NULL. Returns CMD_OK, or CMD_USAGE with
 * the error printed. */
static int match_parse(const char *text, struct selector **out)
{
	struct err err = { 0 };
	if (!text || selector_parse(text, out, &err) == 0)
		return CMD_OK;
	err_prefix(&err, "option --match");
	return cmd_fail(CMD_USAGE, &err);
}

/* Each key once, in order of first use. */
static void list_labels(const struct profile *p, struct arena *a, struct str_list *out)
{
	enum { LABELS_MAX = 64 };
	for (size_t i = 0; i < p->series.labels.n && out->n < LABELS_MAX; i++) {
		const char *key = profile_str(p, p->series.labels.v[i].key);
		bool known = false;
		for (size_t k = 0; k < out->n && !known; k++)
			known = strcmp(out->v[k], key) == 0;
		if (!known)
			str_list_add(out, a, key);
	}
}

void match_explain(const char *unknown, const struct profile *p)
{
	struct arena scratch = { 0 };
	struct str_list labels = { 0 };
	struct buf list = { 0 };
	list_labels(p, &scratch, &labels);
	for (size_t i = 0; i < labels.n; i++)
		buf_addf(&list, "%s%s", i ? ", " : "", labels.v[i]);
	const char *near = str_nearest(unknown, labels.v, labels.n);
	if (near)
		log_info("no sample has a label '%s'; did you mean '%s'?", unknown, near);
	else
		log_info("no sample has a label '%s'; labels here: %s", unknown,
			 labels.n ? buf_cstr(&list) : "none");
	buf_done(&list);
	arena_done(&scratch);
}

/* Removes the samples that s does not select; NULL selects everything. If nothing is left because a
 * label is unknown, logs its name. */
static void match_apply(const struct selector *s, struct profile *p)
{
	if (!s || selector_apply(s, p))
		return;
	const char *unknown = selector_unknown_label(s, p);
	if (unknown)
		match_explain(unknown, p);
}

/* --- filters ---------------------------------------------------------------------------------- */

void filter_by(const struct choice_list *by, struct tree_opts *out)
{
	out->n_by = 0;
	for (int i = 0; i < by->n && out->n_by < TREE_BY_MAX; i++)
		if (by->v[i] != BY_NONE && by->v[i] < BY_KEYS)
			out->by[out->n_by++] = by->v[i];
}

void filter_default_by(const struct filter_opts *f, const struct profile *p, struct tree_opts *out)
{
	if (!f->by.n)
		query_default_frames(p, out);
}

void note_other_types(const struct profile *p, uint32_t type)
{
	if (p->series.types.n < 2)
		return;
	struct buf others = { 0 };
	query_list_types(&others, p, type);
	log_info("showing %s; not shown: %s (--type)", query_type_word(p, type), buf_cstr(&others));
	buf_done(&others);
}

static int no_such_type(const struct profile *p, const char *want)
{
	enum { TYPES_MAX = 64 };
	const char *words[TYPES_MAX];
	struct err err = { 0 };
	struct buf list = { 0 };
	size_t n = p->series.types.n < TYPES_MAX ? p->series.types.n : TYPES_MAX;
	for (size_t i = 0; i < n; i++)
		words[i] = query_type_word(p, i);
	const char *near = str_nearest(want, words, n);
	query_list_types(&list, p, UINT32_MAX);
	err_set(&err, EINVAL, "no type '%s'", want);
	if (near)
		err_hint(&err, "did you mean '%s'?\ntypes here: %s", near, buf_cstr(&list));
	else
		err_hint(&err, "types here: %s", buf_cstr(&list));
	buf_done(&list);
	return cmd_fail(CMD_USAGE, &err);
}

static int no_types(void)
{
	struct err err = { 0 };
	err_set(&err, ENODATA, "no samples of any type");
	return cmd_fail(CMD_BAD_INPUT, &err);
}

/* "A-B", "A-", "-B": times since the start. */
static bool parse_range(const char *text, struct arena *a, struct tree_opts *out)
{
	enum { SECOND_NS = 1000000000 };
	const char *dash = strchr(text, '-');
	uint64_t from_ns = 0, to_ns = 0;
	if (!dash || !text[1])
		return false;
	const char *from = arena_dup(a, text, dash - text);
	if (*from && parse_duration(from, SECOND_NS, &from_ns) < 0)
		return false;
	if (dash[1] && parse_duration(dash + 1, SECOND_NS, &to_ns) < 0)
		return false;
	if (from_ns > INT64_MAX || to_ns > INT64_MAX || (dash[1] && to_ns <= from_ns))
		return false;
	out->time_from_ns = from_ns;
	out->time_to_ns = to_ns;
	return true;
}

static int settle_time(const struct cmd_line *line, const char *text, const struct profile *p,
		       struct tree_opts *out)
{
	struct arena scratch = { 0 };
	bool ok = parse_range(text, &scratch, out);
	arena_done(&scratch);
	if (!ok)
		return cmd_usage(line, "option --time: '%s' is not a range like 3s-7s, 10s- or -2m",
				 text);
	if (!profile_has_times(p))
		return cmd_usage(line, "option --time: the samples here have no times");
	return CMD_OK;
}

int filter_stacks(const struct cmd_line *line, const struct filter_opts *f, struct tree_opts *out)
{
	if (f->no_kernel && f->no_user)
		return cmd_usage(line, "--no-kernel and --no-user together leave nothing");
	out->focus = f->focus;
	out->ignore = f->ignore;
	out->hide = f->hide;
	out->no_kernel = f->no_kernel;
	out->no_user = f->no_user;
	return CMD_OK;
}

/* Applies the filters that need no type. */
static int settle_tree(const struct cmd_line *line, const struct filter_opts *f,
		       const struct profile *p, struct tree_opts *out)
{
	int status = filter_stacks(line, f, out);
	filter_by(&f->by, out);
	return status == CMD_OK && f->time ? settle_time(line, f->time, p, out) : status;
}

static bool match_takes(const struct selector *s, const struct profile *p, uint32_t type)
{
	return !s || selector_takes_type(s, p, type);
}

/* Picks the type that --type names, else the default one, else the first that --match takes. */
static int pick_type(const struct cmd_line *line, const struct filter_opts *f,
		     const struct selector *s, const struct profile *p, uint32_t *type)
{
	if (!p->series.types.n)
		return no_types();
	*type = profile_pick_type(p, f->type);
	if (*type == UINT32_MAX)
		return no_such_type(p, f->type);
	for (uint32_t i = 0; !f->type && !match_takes(s, p, *type); i++) {
		if (i == p->series.types.n)
			return no_such_type(p, selector_type_text(s));
		if (match_takes(s, p, i))
			*type = i;
	}
	if (!match_takes(s, p, *type))
		return cmd_usage(line, "--type %s and --match '%s' name different types", f->type,
				 f->match);
	return CMD_OK;
}

int filter_finalize(const struct cmd_line *line, const struct filter_opts *f, struct profile *p,
		    struct tree_opts *out)
{
	struct selector *s = NULL;
	int status = settle_tree(line, f, p, out);
	if (status == CMD_OK)
		status = match_parse(f->match, &s);
	if (status == CMD_OK)
		status = pick_type(line, f, s, p, &out->type);
	if (status == CMD_OK)
		match_apply(s, p);
	selector_free(s);
	out->is_strict = f->strict;
	out->merges_builds = line->args.n > 1 && !f->strict;
	return status;
}

static int replace_by_part(struct profile **p, const struct select_opts *opts)
{
	struct profile *part;
	struct err err = { 0 };
	if (profile_select(*p, opts, &part, &err) < 0)
		return cmd_fail(CMD_USAGE, &err);
	profile_free(*p);
	*p = part;
	return CMD_OK;
}

/* Picks one type if --type names it, else all types that --match takes. */
static int filter_types(const struct cmd_line *line, const struct filter_opts *f,
			const struct selector *s, struct profile *p, bool *types)
{
	uint32_t picked;
	int status = pick_type(line, f, s, p, &picked);
	for (uint32_t i = 0; status == CMD_OK && i < p->series.types.n; i++)
		types[i] = f->type ? i == picked : match_takes(s, p, i);
	return status;
}

int filter_profile(const struct cmd_line *line, const struct filter_opts *f, struct profile **p)
{
	struct select_opts opts = { 0 };
	struct selector *s = NULL;
	bool *types = xcalloc((*p)->series.types.n, sizeof *types);
	bool asked = f->type || f->match || f->time || f->focus || f->ignore || f->hide ||
		     f->by.n || f->no_kernel || f->no_user;
	int status = settle_tree(line, f, *p, &opts.tree);
	if (status == CMD_OK)
		status = match_parse(f->match, &s);
	if (status == CMD_OK)
		status = filter_types(line, f, s, *p, types);
	if (status == CMD_OK)
		match_apply(s, *p);
	opts.types = types;
	if (status == CMD_OK && asked)
		status = replace_by_part(p, &opts);
	selector_free(s);
	free(types);
	return status;
}
