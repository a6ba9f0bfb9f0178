#include "cmd/choose.h"

#include "query/selector.h"

#include <string.h>

/* Conditions alone are as good as in braces. */
static int parse(const char *text, struct selector **out, struct err *err)
{
	struct buf b = { 0 };
	bool is_bare = !strchr(text, '{') && strpbrk(text, "=~");

	buf_addf(&b, is_bare ? "{%s}" : "%s", text);
	int rc = selector_parse(buf_cstr(&b), out, err);
	buf_done(&b);
	return rc;
}

static int add(struct cmd_line *line, const char *option, const char *text, struct selector **out)
{
	struct err err = { 0 };

	if (parse(text, out, &err) < 0) {
		err_prefix(&err, "option --%s", option);
		return cmd_fail(CMD_USAGE, &err);
	}
	if (selector_suits_labels(*out))
		return CMD_OK;
	return cmd_usage(line, "option --%s: '%s' asks for more than labels and the name of a type",
			 option, text);
}

int choose_settle(struct cmd_line *line, struct choose *c, const struct str_list *only,
		  const struct str_list *exclude)
{
	int status = CMD_OK;

	for (size_t i = 0; i < only->n && status == CMD_OK; i++) {
		vec_push(&c->only, NULL);
		status = add(line, "only", only->v[i], &c->only.v[i]);
	}
	for (size_t i = 0; i < exclude->n && status == CMD_OK; i++) {
		vec_push(&c->exclude, NULL);
		status = add(line, "exclude", exclude->v[i], &c->exclude.v[i]);
	}
	return status;
}

int choose_settle_attach(struct cmd_line *line, struct choose *c, const struct str_list *attach)
{
	int status = CMD_OK;

	for (size_t i = 0; i < attach->n && status == CMD_OK; i++) {
		struct selector **s;

		vec_push(&c->attach, NULL);
		s = &c->attach.v[i];
		status = add(line, "gpu-attach", attach->v[i], s);
		if (status == CMD_OK && selector_type_text(*s))
			status = cmd_usage(
				line,
				"option --gpu-attach: '%s' names a type: programs are chosen "
				"by labels: 'comm=\"train\"'; all of them: '{}'",
				attach->v[i]);
	}
	return status;
}

void choose_done(struct choose *c)
{
	for (size_t i = 0; i < c->only.n; i++)
		selector_free(c->only.v[i]);
	for (size_t i = 0; i < c->exclude.n; i++)
		selector_free(c->exclude.v[i]);
	for (size_t i = 0; i < c->attach.n; i++)
		selector_free(c->attach.v[i]);
	vec_done(&c->only);
	vec_done(&c->exclude);
	vec_done(&c->attach);
}

static const char *get(void *ctx, const char *label)
{
	const struct series_labels *l = ctx;

	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->v[i].key, label) == 0)
			return l->v[i].value;
	return NULL;
}

static bool keeps(void *ctx, struct series_labels *labels)
{
	const struct choose *c = ctx;
	bool keep = !c->only.n;

	for (size_t i = 0; i < c->only.n && !keep; i++)
		keep = selector_takes_labels(c->only.v[i], labels->type, get, labels);
	for (size_t i = 0; i < c->exclude.n && keep; i++)
		keep = !selector_takes_labels(c->exclude.v[i], labels->type, get, labels);
	return keep;
}

struct series_hook choose_hook(const struct choose *c)
{
	bool any = c->only.n || c->exclude.n;

	return any ? (struct series_hook){ keeps, (void *)c } : (struct series_hook){ 0 };
}

static bool attaches(void *ctx, struct series_labels *labels)
{
	const struct choose *c = ctx;
	bool takes = false;

	for (size_t i = 0; i < c->attach.n && !takes; i++)
		takes = selector_takes_labels(c->attach.v[i], labels->type, get, labels);
	return takes && keeps(ctx, labels);
}

struct series_hook choose_attach_hook(const struct choose *c)
{
	return c->attach.n ? (struct series_hook){ attaches, (void *)c }
			   : (struct series_hook){ 0 };
}
