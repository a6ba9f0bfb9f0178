#include "cmd/filter.h"

#include "base/log.h"
#include "base/str.h"

#include <errno.h>

const char *const tree_by_words[] = {
	[BY_NONE] = "none",
	[BY_COMM] = "comm",
	[BY_PID] = "pid",
	[BY_TID] = "tid",
	[BY_PROCESS] = "process",
	[BY_CPU] = "cpu",
	[BY_CONTAINER] = "container",
	[BY_KEYS] = NULL,
};

void filter_by(const struct choice_list *by, struct tree_opts *out)
{
	out->n_by = 0;
	for (int i = 0; i < by->n && out->n_by < TREE_BY_MAX; i++)
		if (by->v[i] != BY_NONE)
			out->by[out->n_by++] = by->v[i];
}

const char *type_word(const struct profile *p, uint32_t type)
{
	const struct type *t = &p->series.types.v[type];
	for (size_t i = 0; i < p->series.types.n; i++)
		if (i != type && p->series.types.v[i].name == t->name)
			return profile_str(p, t->sample_type);
	return profile_str(p, t->name);
}

static void list_types(struct buf *b, const struct profile *p, uint32_t except)
{
	const char *comma = "";
	for (uint32_t i = 0; i < p->series.types.n; i++) {
		if (i == except)
			continue;
		buf_addf(b, "%s%s", comma, type_word(p, i));
		comma = ", ";
	}
}

void note_other_types(const struct profile *p, uint32_t type)
{
	if (p->series.types.n < 2)
		return;
	struct buf others = { 0 };
	list_types(&others, p, type);
	log_info("showing %s; not shown: %s (--type)", type_word(p, type), buf_cstr(&others));
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
		words[i] = type_word(p, i);
	const char *near = str_nearest(want, words, n);
	list_types(&list, p, UINT32_MAX);
	err_set(&err, EINVAL, "there is no type '%s' here", want);
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
	err_set(&err, ENODATA, "there are no samples of any type");
	return cmd_fail(CMD_BAD_INPUT, &err);
}

/* "A-B", "A-", "-B": times from the start. */
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

int filter_settle(const struct cmd_line *line, const struct filter_opts *f, const struct profile *p,
		  struct tree_opts *out)
{
	struct arena scratch = { 0 };
	bool time_ok = !f->time || parse_range(f->time, &scratch, out);
	arena_done(&scratch);
	if (!time_ok)
		return cmd_usage(line, "option --time: '%s' is not a range like 3s-7s, 10s- or -2m",
				 f->time);
	out->type = profile_pick_type(p, f->type);
	if (out->type == UINT32_MAX)
		return p->series.types.n ? no_such_type(p, f->type) : no_types();
	out->focus = f->focus;
	out->ignore = f->ignore;
	out->hide = f->hide;
	filter_by(&f->by, out);
	return CMD_OK;
}

/* --- a profile and an older one --- */

static bool is_text(const struct profile *p, uint32_t id, const struct profile *q, uint32_t other)
{
	return strcmp(profile_str(p, id), profile_str(q, other)) == 0;
}

/* 3: the same type; 2: the same is counted; 1: it has the same name; 0: something else. */
static int type_likeness(const struct profile *p, const struct type *a, const struct profile *q,
			 const struct type *b)
{
	bool counts =
		is_text(p, a->sample_type, q, b->sample_type) && is_text(p, a->unit, q, b->unit);
	bool name = is_text(p, a->name, q, b->name);
	return counts ? 2 + name : name;
}

static uint32_t most_alike(const struct profile *older, const struct profile *newer, uint32_t type)
{
	const struct type *want = &newer->series.types.v[type];
	uint32_t best = UINT32_MAX;
	int most = 0;
	for (uint32_t i = 0; i < older->series.types.n; i++) {
		int likeness = type_likeness(older, &older->series.types.v[i], newer, want);
		if (likeness <= most)
			continue;
		most = likeness;
		best = i;
	}
	return best;
}

static int not_in_older(const struct profile *newer, uint32_t type, const struct profile *older)
{
	struct err err = { 0 };
	struct buf list = { 0 };
	list_types(&list, older, UINT32_MAX);
	err_set(&err, EINVAL, "the older side has nothing to compare %s with",
		type_word(newer, type));
	err_hint(&err, "it has: %s\nchoose one that both have: --type", buf_cstr(&list));
	buf_done(&list);
	return cmd_fail(CMD_USAGE, &err);
}

int filter_settle_pair(const struct cmd_line *line, const struct filter_opts *f,
		       const struct profile *newer, const struct profile *older,
		       struct tree_opts *newer_opts, struct tree_opts *older_opts)
{
	int status = filter_settle(line, f, newer, newer_opts);
	if (status != CMD_OK)
		return status;
	if (!older->series.types.n)
		return no_types();
	*older_opts = *newer_opts;
	older_opts->type = f->type ? profile_pick_type(older, f->type)
				   : most_alike(older, newer, newer_opts->type);
	if (older_opts->type == UINT32_MAX)
		return not_in_older(newer, newer_opts->type, older);
	return CMD_OK;
}

double filter_seconds(const struct tree_opts *opts, const struct profile *p)
{
	int64_t from_ns = opts->time_from_ns, to_ns = p->meta.duration_ns;
	if (opts->time_to_ns && opts->time_to_ns < to_ns)
		to_ns = opts->time_to_ns;
	return to_ns > from_ns ? (to_ns - from_ns) / 1e9 : 0;
}
