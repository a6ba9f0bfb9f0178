#include "base/mem.h"
#include "base/pattern.h"
#include "base/str.h"
#include "query/column_error.h"
#include "query/selector_parts.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

/* n digits at s as a number; -1 when they are not there. */
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

/* \x41 \101 \u00e9 \U0001f600: the first two are bytes, the others characters. */
static int parse_number_escape(struct parser *p, struct buf *b)
{
	char c = p->at[1];
	int n = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 3;
	const char *first = p->at + (isdigit((unsigned char)c) ? 1 : 2);
	int64_t v = digits(first, n, isdigit((unsigned char)c) ? 8 : 16);
	bool is_byte = n < 4;
	if (v <= 0 || v > (is_byte ? 0xff : 0x10ffff) || (v >= 0xd800 && v < 0xe000))
		return parse_error(p, p->at, "this is no character");
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

/* The id of a trace or a stack, as it is compared: lower case. "" stands for samples without one. */
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
		return parse_error(p, p->at, "there are too many conditions");
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
	return *p->at ? parse_error(p, p->at, "nothing is expected here") : 0;
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
