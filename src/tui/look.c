/* Builds filters and a scope. */
#include "tui/look.h"

#include "base/buf.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "query/part.h"
#include "query/plan.h"
#include "query/query.h"
#include "query/selector.h"
#include "query/source.h"

#include <ctype.h>
#include <string.h>

uint32_t look_find_type(struct source *s, const char *name, bool is_prefix)
{
	const struct profile *p = s->ops->catalog(s);
	size_t n = strlen(name);
	for (uint32_t i = 0; i < p->series.types.n; i++) {
		const struct type *t = &p->series.types.v[i];
		const char *is = profile_str(p, t->name);
		if (!type_is_metric(t) && (is_prefix ? !strncmp(is, name, n) : !strcmp(is, name)))
			return i;
	}
	return UINT32_MAX;
}

const char *look_type_name(const struct look *l)
{
	const struct profile *p = l->source->ops->catalog(l->source);
	return l->type < p->series.types.n ? profile_str(p, p->series.types.v[l->type].name) : "";
}

/* Returns a regular expression that matches only this name. */
static char *exact_pattern(const char *name)
{
	struct buf b = { 0 };
	buf_adds(&b, "^");
	for (; *name; name++) {
		unsigned char c = *name;
		if (isalnum(c) || c == '_' || c >= 0x80)
			buf_addc(&b, c);
		else if (c == '^' || c == '\\')
			buf_addf(&b, "\\%c", c);
		else
			buf_addf(&b, "[%c]", c);
	}
	buf_adds(&b, "$");
	buf_cstr(&b);
	return buf_steal(&b);
}

struct asked {
	struct query q;
	struct selector *selector;
	char *focus;
};

static int ask(const struct look *l, struct asked *a, struct err *err)
{
	char text[64] = "";
	*a = (struct asked){ .q = { .source = l->source,
				    .type = l->type,
				    .from_ns = l->from_ns,
				    .to_ns = l->to_ns } };
	if (l->tid != SAMPLE_NO_ID)
		snprintf(text, sizeof text, "{pid=\"%u\",tid=\"%u\"}", l->pid, l->tid);
	else if (l->pid != SAMPLE_NO_ID)
		snprintf(text, sizeof text, "{pid=\"%u\"}", l->pid);
	int rc = *text ? selector_parse(text, &a->selector, err) : 0;
	a->focus = l->function ? exact_pattern(l->function) : NULL;
	a->q.selector = a->selector;
	a->q.tree.focus = a->focus;
	a->q.tree.no_kernel = l->no_kernel;
	return rc;
}

static void asked_done(struct asked *a)
{
	selector_free(a->selector);
	free(a->focus);
}

int look_tree(const struct look *l, struct tree **out, struct err *err)
{
	struct query_tree answer;
	struct asked a;
	int rc = ask(l, &a, err);
	if (rc == 0)
		rc = query_tree(&a.q, &answer, err);
	if (rc == 0)
		*out = answer.tree;
	asked_done(&a);
	return rc;
}

int look_profile(const struct look *l, struct profile **out, struct tree_opts *tree,
		 struct err *err)
{
	struct asked a;
	int rc = ask(l, &a, err);
	if (rc == 0)
		rc = query_part(&a.q, &a.q.tree, true, out, NULL, err);
	if (rc == 0) {
		*tree = (struct tree_opts){ 0 };
		query_default_frames(*out, tree);
	}
	asked_done(&a);
	return rc;
}
