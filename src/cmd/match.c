#include "cmd/match.h"

#include "base/log.h"
#include "base/str.h"
#include "cmd/cmd.h"

int match_parse(const char *text, struct selector **out)
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

void match_apply(const struct selector *s, struct profile *p)
{
	if (!s || selector_apply(s, p))
		return;
	const char *unknown = selector_unknown_label(s, p);
	if (unknown)
		match_explain(unknown, p);
}
