/* Builds a query from parameters. */
#include "server/query_params.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/pattern.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "query/query.h"
#include "query/selector.h"
#include "query/source.h"
#include "server/answer.h"
#include "server/connections.h"
#include "server/request.h"
#include "server/server_state.h"
#include "server/tenant.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool nobody_waits(void *ctx)
{
	const struct request *r = ctx;
	return r->server->ends || !connection_is_there(r->from);
}

struct guard_limits query_params_limits(struct request *r)
{
	const struct server *s = r->server;
	return (struct guard_limits){
		.time_ns = s->opts.query_ns,
		.memory_bytes = (s->opts.memory_bytes - s->bodies.limit_bytes) / s->opts.queries,
		.stop = nobody_waits,
		.ctx = r
	};
}

int query_params_source(struct query_params *a, struct request *r, struct err *err)
{
	*a = (struct query_params){ .r = r };
	int rc = data_source_acquire(&r->tenant->data, &a->source, err);
	if (rc < 0)
		return rc;
	a->catalog = a->source->ops->catalog(a->source);
	a->q.source = a->source;
	a->q.limits = query_params_limits(r);
	query_span_of(a->source, r->tenant->data.file, &a->span);
	return 0;
}

/* Appends the note to those the response already has. */
static void note_left_out(struct query_params *a)
{
	struct buf text = { 0 };
	char *notes[3] = { 0 }, **next = notes;
	source_note_left_out(a->source, &text);
	if (a->r->reply.note)
		*next++ = (char *)a->r->reply.note;
	if (text.len) {
		*next = (char *)buf_cstr(&text);
		a->r->reply.note = answer_note(a->r, notes);
	}
	buf_done(&text);
}

void query_params_done(struct query_params *a)
{
	if (a->source)
		note_left_out(a);
	data_source_release(&a->r->tenant->data, a->source);
	selector_free(a->selector);
}

int query_params_selector(struct query_params *a, const char *param, struct err *err)
{
	const char *text = request_param(a->r, param);
	int rc = text ? selector_parse(text, &a->selector, err) : 0;
	a->q.selector = a->selector;
	return rc < 0 ? err_prefix(err, "parameter %s", param) : 0;
}

static int ask_by(struct query_params *a, struct err *err)
{
	const char *text = request_param(a->r, "by");
	char *at = text ? arena_dup(&a->r->arena, text, strlen(text)) : NULL;
	for (char *word; (word = strsep(&at, ","));) {
		if (!*word || strcmp(word, "none") == 0)
			continue;
		if (a->q.n_by == QUERY_BY_MAX)
			return err_set(err, EINVAL, "parameter by: more than %d labels",
				       QUERY_BY_MAX);
		a->q.by[a->q.n_by++] = word;
	}
	return 0;
}

/* The C library takes gigabytes for some expressions of a dozen characters: these are detected and
 * refused, as in selectors. */
static int ask_regex(struct query_params *a, const char *name, const char **out, struct err *err)
{
	const char *text = request_param(a->r, name);
	char *at = text ? arena_dup(&a->r->arena, text, strlen(text)) : NULL;
	regex_t regex;
	for (char *line; (line = strsep(&at, "\n"));) {
		int rc = pattern_compile(line, &regex, err);
		if (rc < 0)
			return err_prefix(err, "parameter %s", name);
		regfree(&regex);
	}
	*out = text;
	return 0;
}

int query_params_filters(struct query_params *a, struct err *err)
{
	struct tree_opts *t = &a->q.tree;
	int rc = ask_regex(a, "focus", &t->focus, err);
	if (rc == 0)
		rc = ask_regex(a, "ignore", &t->ignore, err);
	if (rc == 0)
		rc = ask_regex(a, "hide", &t->hide, err);
	if (rc == 0)
		rc = request_flag(a->r, "no_kernel", &t->no_kernel, err);
	if (rc == 0)
		rc = request_flag(a->r, "no_user", &t->no_user, err);
	if (rc == 0)
		rc = request_flag(a->r, "strict", &t->is_strict, err);
	t->merges_builds = !t->is_strict && !a->r->tenant->data.file; /* a store: many builds */
	if (rc == 0 && t->no_kernel && t->no_user)
		rc = err_set(err, EINVAL, "no_kernel and no_user together leave nothing");
	return rc;
}

int query_params_within(struct query_params *a, const char *param, struct query *q, struct err *err)
{
	const char *text = request_param(a->r, param);
	char what[32];
	q->within = NULL;
	if (!text)
		return 0;
	if (a->catalog->series.types.v[q->type].aggregation != AGG_SUM)
		return err_set(err, EINVAL, "parameter %s: snapshots have only one range", param);
	struct query_piece *parts = arena_alloc(&a->r->arena, QUERY_MAX_WITHIN * sizeof *parts);
	snprintf(what, sizeof what, "parameter %s", param);
	int n = query_within_parse(text, &a->span.words, what, parts, err);
	if (n < 0)
		return n;
	q->within = parts;
	q->n_within = n;
	return 0;
}

int query_params_query(struct query_params *a, struct request *r, struct err *err)
{
	struct query_range_words words = { request_param(r, "from"), request_param(r, "to"),
					   "parameter from", "parameter to" };
	uint32_t others;
	int rc = query_params_source(a, r, err);
	if (rc == 0 && !request_param(r, "q")) {
		rc = err_set(err, EINVAL, "parameter q is missing: a selector, like cpu");
		err_hint(err, "/api/v1/types lists the types");
	}
	if (rc == 0)
		rc = query_params_selector(a, "q", err);
	if (rc == 0)
		rc = query_span_parse(&a->span, &words, &a->q, err);
	if (rc == 0)
		rc = query_parse_type(&a->q, &others, err);
	if (rc == 0)
		rc = ask_by(a, err);
	if (rc == 0)
		rc = query_params_within(a, "within", &a->q, err);
	return rc == 0 ? query_params_filters(a, err) : rc;
}
