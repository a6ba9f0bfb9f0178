#include "base/mem.h"
#include "profile/select.h"
#include "profile/stack_id.h"
#include "query/selector_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- types ----------------------------------------------------------------------------------- */

const char *selector_type_text(const struct selector *s)
{
	return s->type_text;
}

/* A type in words. pprof's columns samples/count and cpu/nanoseconds are one type here: it is found
 * by either. */
struct type_view {
	const char *name, *sample, *unit, *period, *period_unit;
};

static bool view_fits(const struct selector *s, const struct type_view *v)
{
	const char *const *want = s->parts;
	bool is_name = strcmp(v->name, want[0]) == 0, is_sample = strcmp(v->sample, want[0]) == 0;
	/* What other programs call it whose long form people know. */
	is_name |= strcmp(want[0], "process_cpu") == 0 && strcmp(v->name, "cpu") == 0;
	if (s->n_parts == 1)
		return is_name || is_sample;
	if (!is_name || strcmp(v->sample, want[1]) != 0)
		return false;
	return s->n_parts == 2 ||
	       (strcmp(v->unit, want[2]) == 0 && strcmp(v->period, want[3]) == 0 &&
		strcmp(v->period_unit, want[4]) == 0);
}

static bool is_name(const struct condition *c)
{
	return strcmp(c->label, "__name__") == 0;
}

static bool is_negative(const struct condition *c)
{
	return c->op == OP_NOT_EQUAL || c->op == OP_NOT_MATCH;
}

/* Whether a value is what = or =~ ask for. */
static bool value_fits(const struct condition *c, const char *value)
{
	if (c->op == OP_EQUAL || c->op == OP_NOT_EQUAL)
		return strcmp(c->value, value) == 0;
	return regexec(&c->regex, value, 0, NULL, 0) == 0;
}

/* {__name__="cpu"} */
static bool names_fit(const struct selector *s, const char *name)
{
	for (int i = 0; i < s->n_conditions; i++) {
		const struct condition *c = &s->conditions[i];
		if (is_name(c) && value_fits(c, name) == is_negative(c))
			return false;
	}
	return true;
}

void selector_take_all_types(struct selector *s)
{
	s->n_parts = 0;
}

bool selector_takes_type(const struct selector *s, const struct profile *p, uint32_t type)
{
	const struct type *t = &p->series.types.v[type];
	struct type_view v = {
		.name = profile_str(p, t->name),
		.sample = profile_str(p, t->sample_type),
		.unit = profile_str(p, t->unit),
		.period = profile_str(p, t->period_type),
		.period_unit = profile_str(p, t->period_unit),
	};
	if (!names_fit(s, v.name))
		return false;
	if (!s->n_parts || view_fits(s, &v))
		return true;
	bool is_periodic =
		*v.period_unit && strcmp(v.sample, "samples") == 0 && strcmp(v.unit, "count") == 0;
	v.sample = v.period;
	v.unit = v.period_unit;
	return is_periodic && view_fits(s, &v);
}

/* --- labels ---------------------------------------------------------------------------------- */

static bool number_fits(const struct condition *c, int64_t number)
{
	char text[32];
	snprintf(text, sizeof text, "%" PRId64, number);
	return value_fits(c, text);
}

static bool label_fits(const struct condition *c, const struct profile *p, const struct label *l)
{
	return l->is_num ? number_fits(c, l->num) : value_fits(c, profile_str(p, l->str));
}

/* Sets *found when the set has the label. */
static bool set_fits(const struct condition *c, const struct profile *p, uint32_t set, bool *found)
{
	const struct label_set *ls = &p->series.sets.v[set];
	bool fits = false;
	*found = false;
	for (uint32_t i = 0; i < ls->n; i++) {
		const struct label *l = &p->series.labels.v[ls->first + i];
		if (strcmp(profile_str(p, l->key), c->label) != 0)
			continue;
		*found = true;
		fits |= label_fits(c, p, l);
	}
	return *found ? fits : value_fits(c, "");
}

bool selector_suits_labels(const struct selector *s)
{
	for (int i = 0; i < s->n_conditions; i++)
		if (s->conditions[i].column)
			return false;
	return s->n_parts <= 1;
}

bool selector_takes_labels(const struct selector *s, const char *type, selector_get_fn *get,
			   void *ctx)
{
	const struct type_view view = { type, "", "", "", "" };

	if (!names_fit(s, type) || (s->n_parts && !view_fits(s, &view)))
		return false;
	for (int i = 0; i < s->n_conditions; i++) {
		const struct condition *c = &s->conditions[i];
		const char *value = is_name(c) ? NULL : get(ctx, c->label);
		if (!is_name(c) && value_fits(c, value ? value : "") == is_negative(c))
			return false;
	}
	return true;
}

static bool label_is_known(const struct profile *p, const char *name)
{
	uint32_t key = strtab_find(&p->strings, name);
	for (size_t i = 0; i < p->series.labels.n; i++)
		if (p->series.labels.v[i].key == key)
			return true;
	return false;
}

const char *selector_unknown_label(const struct selector *s, const struct profile *p)
{
	for (int i = 0; i < s->n_conditions; i++)
		if (!s->conditions[i].column && !is_name(&s->conditions[i]) &&
		    !label_is_known(p, s->conditions[i].label))
			return s->conditions[i].label;
	return NULL;
}

/* --- series and samples ---------------------------------------------------------------------- */

/* What a condition says of the stacks of a dictionary. */
struct stack_answers {
	const struct profile *dict;
	struct stack_ids ids;
	VEC(uint8_t) said; /* by stack: 0: not asked yet, else 1 + whether it fits */
};

/* A condition on a column, and what it said of the last value. */
struct column_test {
	const struct condition *c;
	bool *is_label; /* by label set: it has a label of this name, which was asked already */
	bool is_known, fits;
	uint32_t id;
	uint8_t trace[LINK_TRACE_BYTES]; /* zeros: none */
	VEC(struct stack_answers) dicts;
	size_t last_dict;
};

struct selector_match {
	const struct selector *s;
	const struct profile *p;
	bool *type_fits, *set_fits;
	struct column_test tests[SELECTOR_MAX_CONDITIONS];
	int n_tests;
};

static bool *add_test(struct selector_match *m, const struct condition *c)
{
	struct column_test *t = &m->tests[m->n_tests++];
	t->c = c;
	t->is_label = xcalloc(m->p->series.sets.n, sizeof *t->is_label);
	return t->is_label;
}

static void match_labels(struct selector_match *m, const struct condition *c)
{
	bool found, *is_label = c->column ? add_test(m, c) : NULL;
	for (uint32_t set = 0; set < m->p->series.sets.n; set++) {
		bool fits = set_fits(c, m->p, set, &found) != is_negative(c);
		m->set_fits[set] &= fits || (is_label && !found);
		if (is_label)
			is_label[set] = found;
	}
}

struct selector_match *selector_match_new(const struct selector *s, const struct profile *p)
{
	const struct series_table *t = &p->series;
	struct selector_match *m = xcalloc(1, sizeof *m);
	m->s = s;
	m->p = p;
	m->type_fits = xcalloc(t->types.n, sizeof *m->type_fits);
	m->set_fits = xcalloc(t->sets.n, sizeof *m->set_fits);
	for (uint32_t i = 0; i < t->types.n; i++)
		m->type_fits[i] = selector_takes_type(s, p, i);
	memset(m->set_fits, true, t->sets.n * sizeof *m->set_fits);
	for (int i = 0; i < s->n_conditions; i++)
		if (!is_name(&s->conditions[i]))
			match_labels(m, &s->conditions[i]);
	return m;
}

static void test_done(struct column_test *t)
{
	for (size_t i = 0; i < t->dicts.n; i++) {
		stack_ids_done(&t->dicts.v[i].ids);
		vec_done(&t->dicts.v[i].said);
	}
	vec_done(&t->dicts);
	free(t->is_label);
}

void selector_match_free(struct selector_match *m)
{
	if (!m)
		return;
	for (int i = 0; i < m->n_tests; i++)
		test_done(&m->tests[i]);
	free(m->type_fits);
	free(m->set_fits);
	free(m);
}

enum selector_answer selector_match_series(const struct selector_match *m, uint32_t series)
{
	const struct series *s = &m->p->series.series.v[series];
	unsigned by = 0;
	if (series_is_free(&m->p->series, series))
		return SELECTS_NOTHING;
	if (!m->type_fits[s->type] || !m->set_fits[s->labels])
		return SELECTS_NOTHING;
	for (int i = 0; i < m->n_tests; i++)
		if (!m->tests[i].is_label[s->labels])
			by |= m->tests[i].c->column == COLUMN_STACK ? SELECTS_BY_STACK
								    : SELECTS_BY_COLUMN;
	return by ? (enum selector_answer)by : SELECTS_ALL;
}

static bool column_fits(struct column_test *t, uint32_t id)
{
	if (!t->is_known || t->id != id) {
		bool fits = id == SAMPLE_NO_ID ? value_fits(t->c, "") : number_fits(t->c, id);
		t->fits = fits != is_negative(t->c);
		t->is_known = true;
		t->id = id;
	}
	return t->fits;
}

static bool trace_fits(struct column_test *t, const struct trace_link *link)
{
	static const uint8_t none[LINK_TRACE_BYTES];
	const uint8_t *trace = link ? link->trace : none;
	if (!t->is_known || memcmp(t->trace, trace, sizeof none) != 0) {
		char text[LINK_TEXT_BYTES] = "";
		if (memcmp(trace, none, sizeof none) != 0)
			link_text(trace, sizeof none, text);
		t->fits = value_fits(t->c, text) != is_negative(t->c);
		t->is_known = true;
		memcpy(t->trace, trace, sizeof none);
	}
	return t->fits;
}

static struct stack_answers *answers_of(struct column_test *t, const struct profile *dict)
{
	if (t->last_dict < t->dicts.n && t->dicts.v[t->last_dict].dict == dict)
		return &t->dicts.v[t->last_dict];
	size_t i = 0;
	while (i < t->dicts.n && t->dicts.v[i].dict != dict)
		i++;
	if (i == t->dicts.n)
		vec_push(&t->dicts, (struct stack_answers){ .dict = dict });
	t->last_dict = i;
	return &t->dicts.v[i];
}

static bool stack_fits(struct column_test *t, const struct profile *dict, uint32_t stack)
{
	char text[STACK_ID_TEXT_BYTES];
	if (!dict)
		return value_fits(t->c, "") != is_negative(t->c);
	struct stack_answers *a = answers_of(t, dict);
	while (a->said.n <= stack)
		vec_push(&a->said, 0);
	if (!a->said.v[stack]) {
		struct stack_id id = stack_id_of(&a->ids, dict, stack);
		stack_id_text(&id, text);
		a->said.v[stack] = 1 + (value_fits(t->c, text) != is_negative(t->c));
	}
	return a->said.v[stack] == 2;
}

static bool test_fits(struct column_test *t, const struct selected_sample *sample)
{
	switch (t->c->column) {
	case COLUMN_PID:
		return column_fits(t, sample->pid);
	case COLUMN_TID:
		return column_fits(t, sample->tid);
	case COLUMN_CPU:
		return column_fits(t, sample->cpu);
	case COLUMN_STACK:
		return stack_fits(t, sample->dict, sample->stack);
	default:
		return trace_fits(t, sample->link);
	}
}

bool selector_match_sample(struct selector_match *m, const struct selected_sample *sample)
{
	const struct series *s = &m->p->series.series.v[sample->series];
	bool fits = m->type_fits[s->type] && m->set_fits[s->labels];
	for (int i = 0; fits && i < m->n_tests; i++) {
		struct column_test *t = &m->tests[i];
		fits = t->is_label[s->labels] || test_fits(t, sample);
	}
	return fits;
}

size_t selector_apply(const struct selector *s, struct profile *p)
{
	const struct sample_columns *c = &p->samples;
	struct selector_match *m = selector_match_new(s, p);
	bool *keep = xcalloc(c->n, sizeof *keep);
	for (size_t row = 0; row < c->n; row++) {
		const struct selected_sample sample = { c->series[row],
							c->pid[row],
							c->tid[row],
							c->cpu[row],
							link_get(&p->links, sample_link(c, row)),
							p,
							c->stack[row] };
		keep[row] = selector_match_sample(m, &sample);
	}
	profile_keep_samples(p, keep);
	selector_match_free(m);
	free(keep);
	return p->samples.n;
}
