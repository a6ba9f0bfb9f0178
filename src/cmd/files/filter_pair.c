/* Filters for two profiles that are compared: the same type, and the time of each. */
#include "cmd/files/filter.h"

#include "base/buf.h"
#include "base/err.h"
#include "profile/profile.h"
#include "query/query_parse.h"

#include <errno.h>
#include <string.h>

static bool is_text(const struct profile *p, uint32_t id, const struct profile *q, uint32_t other)
{
	return strcmp(profile_str(p, id), profile_str(q, other)) == 0;
}

/* 3: the same type; 2: the same quantity; 1: the same name; 0: different. */
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
	query_list_types(&list, older, UINT32_MAX);
	err_set(&err, EINVAL, "the older side has nothing to compare %s with",
		query_type_word(newer, type));
	err_hint(&err, "it has: %s\nchoose one that both have: --type", buf_cstr(&list));
	buf_done(&list);
	return cmd_fail(CMD_USAGE, &err);
}

int filter_finalize_pair(const struct cmd_line *line, const struct filter_opts *f,
			 struct profile *newer, struct profile *older, struct tree_opts *newer_opts,
			 struct tree_opts *older_opts)
{
	int status = filter_finalize(line, f, newer, newer_opts);
	if (status == CMD_OK)
		status = filter_finalize(line, f, older, older_opts);
	newer_opts->merges_builds = older_opts->merges_builds = false;
	newer_opts->is_strict = older_opts->is_strict = f->strict;
	if (status != CMD_OK || f->type)
		return status;
	older_opts->type = most_alike(older, newer, newer_opts->type);
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
