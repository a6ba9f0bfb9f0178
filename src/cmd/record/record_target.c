/* Checks the target options, and describes the target in words. */
#include "cmd/record/record_state.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/parse.h"

#include <errno.h>

static int parse_ids(struct cmd_line *line, const struct str_list *words, const char *option,
		     struct sampler_opts *asked)
{
	uint32_t *ids = arena_alloc(&line->arena, words->n * sizeof *ids);
	for (size_t i = 0; i < words->n; i++) {
		uint64_t id;
		if (parse_u64(words->v[i], &id) < 0 || id == 0 || id > INT32_MAX)
			return cmd_usage(line, "option %s: '%s' is not a process or thread id",
					 option, words->v[i]);
		ids[i] = id;
	}
	if (words->n > COLLECT_MAX_TARGETS)
		return cmd_usage(line, "option %s: more than %d ids", option, COLLECT_MAX_TARGETS);
	asked->ids = ids;
	asked->n_ids = words->n;
	return CMD_OK;
}

int target_finalize(struct cmd_line *line, const struct record_opts *o, struct sampler_opts *asked)
{
	/* With -a the command only limits the time. */
	int kinds = (o->all || line->command.n) + (o->pids.n > 0) + (o->tids.n > 0) +
		    (asked->comm != NULL) + (asked->cgroup != NULL);
	if (kinds > 1)
		return cmd_usage(line, "choose one of -a, -p, -t, --comm, --cgroup and -- COMMAND");
	asked->target = asked->comm ? TARGET_COMM : asked->cgroup ? TARGET_CGROUP : TARGET_ALL;
	if (o->pids.n) {
		asked->target = TARGET_PID;
		return parse_ids(line, &o->pids, "--pid", asked);
	}
	if (o->tids.n) {
		asked->target = TARGET_TID;
		return parse_ids(line, &o->tids, "--tid", asked);
	}
	return CMD_OK;
}

static void describe_ids(struct buf *b, const char *what, const struct str_list *ids)
{
	enum { SHOWN = 4 };
	buf_addf(b, "%s ", what);
	for (size_t i = 0; i < ids->n && i < SHOWN; i++)
		buf_addf(b, "%s%s", i ? ", " : "", ids->v[i]);
	if (ids->n > SHOWN)
		buf_addf(b, " and %zu more", ids->n - SHOWN);
}

void target_describe(struct buf *b, const struct cmd_line *line, const struct record_opts *o)
{
	const struct sampler_opts *asked = &o->collect.sampler;
	if (line->command.n && o->all)
		buf_addf(b, "the whole machine until %s ends", line->command.v[0]);
	else if (line->command.n)
		buf_adds(b, line->command.v[0]);
	else if (o->pids.n)
		describe_ids(b, "pid", &o->pids);
	else if (o->tids.n)
		describe_ids(b, "tid", &o->tids);
	else if (asked->comm)
		buf_addf(b, "threads named %s", asked->comm);
	else if (asked->cgroup)
		buf_addf(b, "cgroup %s", asked->cgroup);
	else
		buf_adds(b, "the whole machine");
}
