/* Parses selectors, with errors at their position. */
#include "query/selector.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/pattern.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "profile/link.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "profile/stack_id.h"
#include "profile/tree/select.h"
#include "profile/units.h"
#include "query/query.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum condition_op { OP_EQUAL, OP_NOT_EQUAL, OP_MATCH, OP_NOT_MATCH };
enum sample_column { COLUMN_NONE, COLUMN_PID, COLUMN_TID, COLUMN_CPU, COLUMN_TRACE, COLUMN_STACK };

struct condition {
	const char *label, *value;
	enum condition_op op;
	regex_t regex; /* of OP_MATCH and OP_NOT_MATCH */
	enum sample_column column;
};

enum { TYPE_PARTS = 5 };
struct selector {
	struct arena arena; /* all text */
	const char *type_text;
	const char *parts[TYPE_PARTS];
	int n_parts; /* 0: any type */
	struct condition conditions[SELECTOR_MAX_CONDITIONS];
	int n_conditions;
};

struct parser {
	const char *text, *at;
	struct selector *out;
	struct err *err;
};

static int parse_error(struct parser *p, const char *where, const char *what)
{
	return column_error(p->err, "selector", p->text, where, what);
}

static void skip_blanks(struct parser *p)
{
	p->at += strspn(p->at, " \t\r\n");
}

/* --- strings --------------------------------------------------------------------------------- */

/* Parses n digits at s; returns -1 if they are not there. */
static int64_t digits(const char *s, int n, int base)
{
	int64_t v = 0;
	for (int i = 0; i < n; i++) {
		const char *all = "0123456789abcdef";
		const char *digit = s[i] ? strchr(all, tolower((unsigned char)s[i])) : NULL;
		if (!digit || digit - all >= base)
			return -1;
		v = v * base + (digit - all);
	}
	return v;
}

/* Parses \x41 \101 \u00e9 \U0001f600: the first two are bytes, the others characters. */
static int parse_number_escape(struct parser *p, struct buf *b)
{
	char c = p->at[1];
	int n = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 3;
	const char *first = p->at + (isdigit((unsigned char)c) ? 1 : 2);
	int64_t v = digits(first, n, isdigit((unsigned char)c) ? 8 : 16);
	bool is_byte = n < 4;
	if (v <= 0 || v > (is_byte ? 0xff : 0x10ffff) || (v >= 0xd800 && v < 0xe000))
		return parse_error(p, p->at, "invalid character");
	if (is_byte)
		buf_addc(b, v);
	else
		utf8_add(b, v);
	p->at = first + n;
	return 0;
}

static int parse_escape(struct parser *p, struct buf *b)
{
	static const char letters[] = "abfnrtv\\\"'", meaning[] = "\a\b\f\n\r\t\v\\\"'";
	char c = p->at[1];
	const char *known = c ? strchr(letters, c) : NULL;
	if (known) {
		buf_addc(b, meaning[known - letters]);
		p->at += 2;
		return 0;
	}
	if (c == 'x' || c == 'u' || c == 'U' || isdigit((unsigned char)c))
		return parse_number_escape(p, b);
	return parse_error(p, p->at, "unknown escape; a \\ is written \\\\, or use `...`");
}

static int parse_string(struct parser *p, const char **out)
{
	const char *start = p->at;
	char quote = *p->at;
	struct buf b = { 0 };
	int rc = 0;
	if (!quote || !strchr("\"'`", quote))
		return parse_error(p, p->at, "a value in quotes is missing");
	p->at++;
	while (rc == 0 && *p->at && *p->at != quote) {
		if (*p->at == '\\' && quote != '`')
			rc = parse_escape(p, &b);
		else
			buf_addc(&b, *p->at++);
	}
	if (rc == 0 && !*p->at)
		rc = parse_error(p, start, "this quote is not closed");
	if (rc == 0) {
		p->at++;
		*out = arena_dup(&p->out->arena, b.data, b.len);
	}
	buf_done(&b);
	return rc;
}

/* --- the type -------------------------------------------------------------------------------- */

static bool is_part(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("_-./", c)) || (unsigned char)c >= 0x80;
}

static int parse_part(struct parser *p, const char **out)
{
	const char *start = p->at;
	if (*p->at == '"')
		return parse_string(p, out);
	while (is_part(*p->at))
		p->at++;
	if (p->at == start)
		return parse_error(p, p->at, "the name of a type is missing");
	*out = arena_dup(&p->out->arena, start, p->at - start);
	return 0;
}

static int parse_type(struct parser *p)
{
	struct selector *s = p->out;
	const char *start = p->at;
	if (*p->at == '{')
		return 0;
	do {
		if (s->n_parts)
			p->at++; /* the colon */
		if (s->n_parts == TYPE_PARTS)
			return parse_error(p, p->at, "a type has at most five parts");
		if (parse_part(p, &s->parts[s->n_parts]) < 0)
			return -EINVAL;
		s->n_parts++;
	} while (*p->at == ':');
	if (s->n_parts == 3 || s->n_parts == 4)
		return parse_error(p, start,
				   "a type is NAME, NAME:SAMPLE or "
				   "NAME:SAMPLE:UNIT:PERIOD:PERIOD-UNIT");
	s->type_text = arena_dup(&s->arena, start, p->at - start);
	return 0;
}

/* --- conditions ------------------------------------------------------------------------------ */

static int parse_label(struct parser *p, const char **out)
{
	const char *start = p->at;
	if (*p->at == '"')
		return parse_string(p, out);
	while (isalnum((unsigned char)*p->at) || *p->at == '_')
		p->at++;
	if (p->at == start)
		return parse_error(p, p->at, "the name of a label is missing");
	if (isdigit((unsigned char)*start) || (*p->at && !strchr("=!~ \t\r\n,}", *p->at)))
		return parse_error(p, start, "such a name needs quotes: {\"service.name\"=\"x\"}");
	*out = arena_dup(&p->out->arena, start, p->at - start);
	return 0;
}

static int parse_op(struct parser *p, enum condition_op *out)
{
	static const struct {
		const char *text;
		enum condition_op op;
	} ops[] = { { "=~", OP_MATCH },
		    { "!~", OP_NOT_MATCH },
		    { "!=", OP_NOT_EQUAL },
		    { "=", OP_EQUAL } };
	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
		if (!str_starts(p->at, ops[i].text))
			continue;
		p->at += strlen(ops[i].text);
		*out = ops[i].op;
		return 0;
	}
	return parse_error(p, p->at, "one of = != =~ !~ is missing");
}

static enum sample_column column_of(const char *label)
{
	static const char *const names[] = { "", "pid", "tid", "cpu", "trace_id", "stack_id" };
	for (int i = COLUMN_PID; i <= COLUMN_STACK; i++)
		if (strcmp(label, names[i]) == 0)
			return i;
	return COLUMN_NONE;
}

/* Converts the id of a trace or a stack to lower case, for comparison. "" selects samples without
 * one. */
static int check_id(struct parser *p, struct condition *c, const char *where)
{
	uint8_t id[LINK_TRACE_BYTES];
	char text[LINK_TEXT_BYTES];
	if (!*c->value)
		return 0;
	if (!link_parse(c->value, strlen(c->value), id, sizeof id))
		return parse_error(p, where,
				   c->column == COLUMN_TRACE
					   ? "a trace_id is 32 hexadecimal digits"
					   : "a stack_id is 32 hexadecimal digits");
	link_text(id, sizeof id, text);
	c->value = arena_dup(&p->out->arena, text, sizeof text - 1);
	return 0;
}

static int parse_condition(struct parser *p)
{
	struct selector *s = p->out;
	struct condition c = { 0 };
	struct err why = { 0 };
	if (s->n_conditions == SELECTOR_MAX_CONDITIONS)
		return parse_error(p, p->at, "too many conditions");
	if (parse_label(p, &c.label) < 0)
		return -EINVAL;
	skip_blanks(p);
	if (parse_op(p, &c.op) < 0)
		return -EINVAL;
	skip_blanks(p);
	const char *value = p->at;
	if (parse_string(p, &c.value) < 0)
		return -EINVAL;
	if (c.op >= OP_MATCH && pattern_compile(c.value, &c.regex, &why) < 0)
		return parse_error(p, value, why.text);
	c.column = column_of(c.label);
	if (c.column >= COLUMN_TRACE && c.op < OP_MATCH && check_id(p, &c, value) < 0)
		return -EINVAL;
	s->conditions[s->n_conditions++] = c;
	return 0;
}

static int parse_conditions(struct parser *p)
{
	const char *open = p->at++;
	for (skip_blanks(p); *p->at != '}'; skip_blanks(p)) {
		if (!*p->at)
			return parse_error(p, open, "this { is not closed");
		if (parse_condition(p) < 0)
			return -EINVAL;
		skip_blanks(p);
		if (*p->at == ',')
			p->at++;
		else if (*p->at != '}')
			return parse_error(p, p->at, "a comma or } is missing");
	}
	p->at++;
	return 0;
}

static int parse_all(struct parser *p)
{
	skip_blanks(p);
	if (!*p->at)
		return parse_error(p, p->at, "it is empty");
	if (parse_type(p) < 0)
		return -EINVAL;
	skip_blanks(p);
	if (*p->at == '{' && parse_conditions(p) < 0)
		return -EINVAL;
	skip_blanks(p);
	return *p->at ? parse_error(p, p->at, "unexpected text") : 0;
}

int selector_parse(const char *text, struct selector **out, struct err *err)
{
	if (strlen(text) > SELECTOR_MAX_LEN)
		return err_set(err, EINVAL, "the selector is longer than %d bytes",
			       SELECTOR_MAX_LEN);
	struct parser p = { .text = text, .at = text, .err = err };
	p.out = xcalloc(1, sizeof *p.out);
	int rc = parse_all(&p);
	if (rc < 0)
		selector_free(p.out);
	else
		*out = p.out;
	return rc;
}

void selector_free(struct selector *s)
{
	if (!s)
		return;
	for (int i = 0; i < s->n_conditions; i++)
		if (s->conditions[i].op >= OP_MATCH)
			regfree(&s->conditions[i].regex);
	arena_done(&s->arena);
	free(s);
}

/* --- matching types -------------------------------------------------------------------------- */

const char *selector_type_text(const struct selector *s)
{
	return s->type_text;
}

/* The names of a type. pprof's columns samples/count and cpu/nanoseconds are one type here, found
 * by either. */
struct type_view {
	const char *name, *sample, *unit, *period, *period_unit;
};

/* Any unit of the same quantity fits: values are converted. */
static bool unit_fits(const char *unit, const char *want)
{
	const char *a = unit_base_of(unit).base, *b = unit_base_of(want).base;
	return strcmp(unit, want) == 0 || (a && b && strcmp(a, b) == 0);
}

static bool view_fits(const struct selector *s, const struct type_view *v)
{
	const char *const *want = s->parts;
	bool is_name = strcmp(v->name, want[0]) == 0, is_sample = strcmp(v->sample, want[0]) == 0;
	/* Well-known names of other programs. */
	is_name |= strcmp(want[0], "process_cpu") == 0 && strcmp(v->name, "cpu") == 0;
	if (s->n_parts == 1)
		return is_name || is_sample;
	if (!is_name || strcmp(v->sample, want[1]) != 0)
		return false;
	return s->n_parts == 2 || (unit_fits(v->unit, want[2]) && strcmp(v->period, want[3]) == 0 &&
				   unit_fits(v->period_unit, want[4]));
}

static bool is_name(const struct condition *c)
{
	return strcmp(c->label, "__name__") == 0;
}

static bool is_negative(const struct condition *c)
{
	return c->op == OP_NOT_EQUAL || c->op == OP_NOT_MATCH;
}

/* Returns whether a value matches the condition's = or =~. */
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
	/* A single word is the name of a type, which may sample what another one measures. */
	bool is_periodic = s->n_parts > 1 && *v.period_unit && strcmp(v.sample, "samples") == 0 &&
			   strcmp(v.unit, "count") == 0;
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

/* Sets *found if the set has the label. */
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
		fits |= l->is_num ? number_fits(c, l->num) : value_fits(c, profile_str(p, l->str));
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

/* Cached results of a condition for the stacks of a dictionary. */
struct stack_answers {
	const struct profile *dict;
	struct stack_ids ids;
	VEC(uint8_t) said; /* by stack: 0: not tested yet, otherwise 1 + whether it fits */
};

/* A condition on a column, and its result for the last value. */
struct column_test {
	const struct condition *c;
	bool *is_label; /* by label set: it has this label, which was tested instead */
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

static void match_labels(struct selector_match *m, const struct condition *c)
{
	bool found, *is_label = NULL;
	if (c->column) {
		struct column_test *t = &m->tests[m->n_tests++];
		is_label = xcalloc(m->p->series.sets.n, sizeof *is_label);
		t->c = c;
		t->is_label = is_label;
	}
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

void selector_match_free(struct selector_match *m)
{
	if (!m)
		return;
	for (int i = 0; i < m->n_tests; i++) {
		struct column_test *t = &m->tests[i];
		for (size_t k = 0; k < t->dicts.n; k++) {
			stack_ids_done(&t->dicts.v[k].ids);
			vec_done(&t->dicts.v[k].said);
		}
		vec_done(&t->dicts);
		free(t->is_label);
	}
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
