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
		  struct tree_opts *out, uint32_t *type)
{
	struct arena scratch = { 0 };
	bool time_ok = !f->time || parse_range(f->time, &scratch, out);
	arena_done(&scratch);
	if (!time_ok)
		return cmd_usage(line, "option --time: '%s' is not a range like 3s-7s, 10s- or -2m",
				 f->time);
	*type = profile_pick_type(p, f->type);
	if (*type == UINT32_MAX)
		return p->series.types.n ? no_such_type(p, f->type) : no_types();
	out->type = *type;
	out->focus = f->focus;
	out->ignore = f->ignore;
	out->hide = f->hide;
	filter_by(&f->by, out);
	return CMD_OK;
}
