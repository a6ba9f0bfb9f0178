/* Builds a tree from libyaml's events, and rejects what a configuration does not need. */
#include "base/json/yaml.h"

#include "base/arena.h"
#include "base/err.h"

#include <errno.h>
#include <string.h>
#include <yaml.h>

struct reading {
	yaml_parser_t parser;
	const char *name;
	struct arena *arena;
	struct err *err;
	struct level {
		struct yaml *node, **tail;
		size_t n;
		const char *key; /* waiting for its value */
	} levels[YAML_MAX_NESTING];
	size_t depth;
	struct yaml *root;
	bool is_over;
};

static int refuse(struct reading *r, const yaml_event_t *e, const char *why)
{
	return err_set(r->err, EINVAL, "%s:%zu: %s", r->name, e->start_mark.line + 1, why);
}

/* --- entries ---------------------------------------------------------------------------------- */

static bool has_key(const struct yaml *mapping, const char *key)
{
	for (const struct yaml *y = mapping->kids; y; y = y->next)
		if (strcmp(y->key, key) == 0)
			return true;
	return false;
}

static int take_key(struct reading *r, const yaml_event_t *e, struct level *l)
{
	const char *key = (const char *)e->data.scalar.value;

	if (e->type != YAML_SCALAR_EVENT)
		return refuse(r, e, "a key must be a word");
	if (has_key(l->node, key))
		return err_set(r->err, EINVAL, "%s:%zu: %s is repeated", r->name,
			       e->start_mark.line + 1, key);
	l->key = arena_dup(r->arena, key, e->data.scalar.length);
	return 0;
}

static int add(struct reading *r, const yaml_event_t *e, struct yaml *y)
{
	struct level *l = r->depth ? &r->levels[r->depth - 1] : NULL;

	y->line = (unsigned)e->start_mark.line + 1;
	if (!l) {
		r->root = y;
		return 0;
	}
	if (l->n++ == YAML_MAX_ENTRIES)
		return refuse(r, e, "too many entries");
	y->key = l->key;
	l->key = NULL;
	*l->tail = y;
	l->tail = &y->next;
	return 0;
}

static bool waits_for_key(const struct reading *r)
{
	const struct level *l = r->depth ? &r->levels[r->depth - 1] : NULL;

	return l && l->node->kind == YAML_MAPPING && !l->key;
}

/* --- events ----------------------------------------------------------------------------------- */

static bool says_null(const yaml_event_t *e)
{
	static const char *const words[] = { "", "~", "null", "Null", "NULL" };

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
		    strcmp((const char *)e->data.scalar.value, words[i]) == 0)
			return true;
	return false;
}

static int on_text(struct reading *r, const yaml_event_t *e)
{
	const char *text = (const char *)e->data.scalar.value;
	size_t len = e->data.scalar.length;

	if (memchr(text, '\0', len))
		return refuse(r, e, "the text contains NUL");
	if (waits_for_key(r))
		return take_key(r, e, &r->levels[r->depth - 1]);
	struct yaml *y = arena_zalloc(r->arena, sizeof *y);
	*y = (struct yaml){ .kind = YAML_TEXT,
			    .text = arena_dup(r->arena, text, len),
			    .is_null = says_null(e) };
	return add(r, e, y);
}

static int on_open(struct reading *r, const yaml_event_t *e, enum yaml_kind kind)
{
	if (waits_for_key(r))
		return refuse(r, e, "a key must be a word");
	if (r->depth == YAML_MAX_NESTING)
		return refuse(r, e, "nested too deep");
	struct yaml *y = arena_zalloc(r->arena, sizeof *y);
	y->kind = kind;
	int rc = add(r, e, y);
	r->levels[r->depth++] = (struct level){ .node = y, .tail = &y->kids };
	return rc;
}

static int on_document(struct reading *r, const yaml_event_t *e)
{
	return r->root ? refuse(r, e, "more than one document") : 0;
}

static bool has_extras(const yaml_event_t *e)
{
	switch (e->type) {
	case YAML_ALIAS_EVENT:
		return true;
	case YAML_SCALAR_EVENT:
		return e->data.scalar.anchor || e->data.scalar.tag;
	case YAML_SEQUENCE_START_EVENT:
		return e->data.sequence_start.anchor || e->data.sequence_start.tag;
	case YAML_MAPPING_START_EVENT:
		return e->data.mapping_start.anchor || e->data.mapping_start.tag;
	default:
		return false;
	}
}

static int on_event(struct reading *r, const yaml_event_t *e)
{
	if (has_extras(e))
		return refuse(r, e,
			      "anchors (&), aliases (*) and tags (!) are not supported; quote a "
			      "text that starts like one");
	switch (e->type) {
	case YAML_DOCUMENT_START_EVENT:
		return on_document(r, e);
	case YAML_SCALAR_EVENT:
		return on_text(r, e);
	case YAML_SEQUENCE_START_EVENT:
		return on_open(r, e, YAML_LIST);
	case YAML_MAPPING_START_EVENT:
		return on_open(r, e, YAML_MAPPING);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		r->depth--;
		return 0;
	case YAML_STREAM_END_EVENT:
		r->is_over = true;
		return 0;
	default:
		return 0;
	}
}

static int syntax_error(struct reading *r)
{
	const yaml_parser_t *p = &r->parser;
	size_t line = p->problem_mark.line ? p->problem_mark.line : p->context_mark.line;

	return err_set(r->err, EINVAL, "%s:%zu: invalid YAML: %s", r->name, line + 1,
		       p->problem ? p->problem : "it cannot be read");
}

static int next_event(struct reading *r)
{
	yaml_event_t e;

	if (!yaml_parser_parse(&r->parser, &e))
		return syntax_error(r);
	int rc = on_event(r, &e);
	yaml_event_delete(&e);
	return rc;
}

int yaml_read(const void *data, size_t len, const char *name, struct arena *a,
	      const struct yaml **out, struct err *err)
{
	struct reading r = { .name = name, .arena = a, .err = err };
	int rc = 0;

	if (len > YAML_MAX_BYTES)
		return err_set(err, EFBIG, "%s is larger than %d KiB", name, YAML_MAX_BYTES >> 10);
	if (!yaml_parser_initialize(&r.parser))
		return err_set(err, ENOMEM, "%s: no memory to read it", name);
	yaml_parser_set_input_string(&r.parser, data, len);
	while (!rc && !r.is_over)
		rc = next_event(&r);
	yaml_parser_delete(&r.parser);
	if (rc)
		return rc;
	if (!r.root || (r.root->kind == YAML_TEXT && r.root->is_null)) {
		r.root = arena_zalloc(a, sizeof *r.root);
		*r.root = (struct yaml){ .kind = YAML_MAPPING, .line = 1 };
	}
	*out = r.root;
	return 0;
}

/* --- comparing -------------------------------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* Recursion is limited by YAML_MAX_NESTING. */
bool yaml_equal(const struct yaml *a, const struct yaml *b)
{
	if (!a || !b)
		return a == b;
	if (a->kind != b->kind || a->is_null != b->is_null || !same_text(a->key, b->key) ||
	    !same_text(a->text, b->text))
		return false;
	for (a = a->kids, b = b->kids; a && b; a = a->next, b = b->next)
		if (!yaml_equal(a, b))
			return false;
	return a == b;
}
