/* Parses parameters, with errors at their position. */
#include "query/query_parse.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "query/catalog.h"
#include "query/plan.h"
#include "query/query.h"
#include "query/selector.h"
#include "query/source.h"

#include <errno.h>

enum { STORE_DEFAULT_S = 15 * 60 };

static void range_of(void *ctx, int64_t *start_ns, int64_t *end_ns)
{
	struct source *s = ctx;
	s->ops->range(s, start_ns, end_ns);
}

void query_span_of(struct source *s, const struct profile *file, struct query_span *out)
{
	*out = (struct query_span){ .words = { .now_ns = clock_wall_ns() } };
	if (!file) {
		out->words.range = range_of;
		out->words.ctx = s;
		out->to_ns = out->words.now_ns;
		out->from_ns = out->to_ns - STORE_DEFAULT_S * INT64_C(1000000000);
		return;
	}
	range_of(s, &out->from_ns, &out->to_ns);
	out->words.start_ns = file->meta.start_wall_ns; /* waits may start earlier */
	out->words.end_ns = out->to_ns;
}

static int parse_moment(const struct query_span *span, const char *text, const char *what,
			int64_t otherwise_ns, int64_t *out_ns, struct err *err)
{
	*out_ns = otherwise_ns;
	return text ? time_parse(text, &span->words, what, out_ns, err) : 0;
}

int query_span_parse(const struct query_span *span, const struct query_range_words *w,
		     struct query *q, struct err *err)
{
	int64_t from_ns, to_ns, end_ns = span->to_ns;
	int rc = parse_moment(span, w->from, w->from_what, span->from_ns, &from_ns, err);
	if (rc < 0)
		return rc;
	if (from_ns >= end_ns) /* an empty range here is not an error */
		end_ns = from_ns + (from_ns < INT64_MAX);
	rc = parse_moment(span, w->to, w->to_what, end_ns, &to_ns, err);
	if (rc < 0)
		return rc;
	if (to_ns <= from_ns && (w->from || w->to))
		return err_set(err, EINVAL, "%s is not later than %s", w->to_what, w->from_what);
	q->from_ns = from_ns;
	q->to_ns = to_ns;
	return 0;
}

const char *query_type_word(const struct profile *p, uint32_t type)
{
	const struct type *t = &p->series.types.v[type];
	for (size_t i = 0; i < p->series.types.n; i++)
		if (i != type && p->series.types.v[i].name == t->name)
			return profile_str(p, t->sample_type);
	return profile_str(p, t->name);
}

void query_list_types(struct buf *b, const struct profile *p, uint32_t except)
{
	const struct type *t = p->series.types.v;
	bool with_metrics = except == UINT32_MAX || type_is_metric(&t[except]);
	const char *comma = "";
	for (uint32_t i = 0; i < p->series.types.n; i++) {
		if (i == except || (!with_metrics && type_is_metric(&t[i])))
			continue;
		buf_addf(b, "%s%s", comma, query_type_word(p, i));
		comma = ", ";
	}
}

int query_parse_type(struct query *q, uint32_t *others, struct err *err)
{
	const struct profile *catalog = q->source->ops->catalog(q->source);
	const char *named = q->selector ? selector_type_text(q->selector) : NULL;
	struct buf list = { 0 };
	q->type = query_pick_type(catalog, q->selector, others);
	if (q->type != UINT32_MAX)
		return 0;
	query_list_types(&list, catalog, UINT32_MAX);
	err_set(err, EINVAL, "no type '%s'", named ? named : "");
	err_hint(err, "types here: %s", list.len ? buf_cstr(&list) : "none");
	buf_done(&list);
	return -EINVAL;
}

int query_parse_older(const struct query *newer, const struct query_span *span,
		      const struct query_range_words *words, const struct selector *s,
		      struct query *older, struct err *err)
{
	const struct profile *catalog = newer->source->ops->catalog(newer->source);
	struct query_span own = { span->words, newer->from_ns, newer->to_ns };
	uint32_t others;
	*older = *newer;
	int rc = query_span_parse(&own, words, older, err);
	if (rc < 0 || !s)
		return rc;
	older->selector = s;
	return selector_takes_type(s, catalog, older->type) ? 0
							    : query_parse_type(older, &others, err);
}

int query_no_label(const struct profile *catalog, const char *label, struct err *err)
{
	struct catalog_texts labels = { 0 };
	catalog_labels(catalog, NULL, &labels);
	const char *near = str_nearest(label, labels.all.v, labels.all.n);
	err_set(err, ENOENT, "no series has a label '%s'", label);
	if (near)
		err_hint(err, "did you mean '%s'?", near);
	catalog_texts_done(&labels);
	return -ENOENT;
}
