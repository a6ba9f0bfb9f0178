#include "js.h"

#include <ctype.h>
#include <string.h>

void js_init(struct js *j, const char *text, size_t len)
{
	*j = (struct js){ .at = text, .end = text + len };
}

bool js_is(const struct js_token *t, const char *text)
{
	return t->len == strlen(text) && memcmp(t->s, text, t->len) == 0;
}

static bool is_one_of(const struct js_token *t, const char *const *words)
{
	for (; *words; words++)
		if (js_is(t, *words))
			return true;
	return false;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '#' || c == '\\' ||
	       (unsigned char)c >= 0x80;
}

/* --- what may come ---------------------------------------------------------------------------- */

static bool is_operator_word(const struct js_token *t)
{
	static const char *const words[] = { "return", "typeof", "case",    "in",
					     "of",     "delete", "void",    "instanceof",
					     "new",    "do",     "else",    "yield",
					     "await",  "throw",  "extends", NULL };
	return is_one_of(t, words);
}

/* Whether a value may begin here: then a / begins a regular expression. */
static bool wants_value(const struct js *j)
{
	const struct js_token *t = &j->last;
	switch (t->kind) {
	case JS_END:
		return true;
	case JS_WORD:
		return !j->after_point && is_operator_word(t);
	case JS_TEMPLATE:
		return t->s[t->len - 1] == '{';
	case JS_SIGN:
		if (*t->s == ')')
			return j->closed == JS_CONTROL;
		if (*t->s == '}')
			return j->closed == JS_BLOCK;
		return *t->s != ']' && !js_is(t, "++") && !js_is(t, "--");
	default:
		return false;
	}
}

static enum js_bracket brace_kind(const struct js *j)
{
	static const char *const value_words[] = { "return", "typeof", "case", "in",
						   "of",     "delete", "void", "yield",
						   "await",  "throw",  "new",  NULL };
	const struct js_token *t = &j->last;
	if (t->kind == JS_WORD)
		return !j->after_point && is_one_of(t, value_words) ? JS_PLAIN : JS_BLOCK;
	if (t->kind != JS_SIGN)
		return t->kind == JS_TEMPLATE ? JS_PLAIN : JS_BLOCK;
	return js_is(t, "=>") || strchr(";{})", *t->s) ? JS_BLOCK : JS_PLAIN;
}

static enum js_bracket paren_kind(const struct js *j)
{
	static const char *const words[] = { "if", "for", "while", "with", NULL };
	bool is_control = j->last.kind == JS_WORD && !j->after_point && is_one_of(&j->last, words);
	return is_control ? JS_CONTROL : JS_PLAIN;
}

/* --- tokens of each kind ---------------------------------------------------------------------- */

static const char *fail(struct js *j, const char *trouble)
{
	j->trouble = trouble;
	return j->end;
}

static const char *comment_end(struct js *j)
{
	size_t left = j->end - j->at;
	if (j->at[1] == '/') {
		const char *end = memchr(j->at, '\n', left);
		return end ? end : j->end;
	}
	const char *end = memmem(j->at + 2, left - 2, "*/", 2);
	return end ? end + 2 : fail(j, "a comment without an end");
}

static const char *string_end(struct js *j)
{
	char quote = *j->at;
	for (const char *p = j->at + 1; p < j->end && *p != '\n'; p++) {
		if (*p == quote)
			return p + 1;
		if (*p == '\\')
			p++;
	}
	return fail(j, "a string without an end");
}

/* at: behind the ` or the }. */
static const char *template_end(struct js *j)
{
	for (const char *p = j->at + 1; p < j->end; p++) {
		if (*p == '`')
			return p + 1;
		if (*p == '$' && p + 1 < j->end && p[1] == '{') {
			j->open[j->depth++] = JS_PIECE;
			return p + 2;
		}
		if (*p == '\\')
			p++;
	}
	return fail(j, "a template without an end");
}

static const char *regex_end(struct js *j)
{
	bool in_class = false;
	const char *p = j->at + 1;
	for (; p < j->end && *p != '\n' && (in_class || *p != '/'); p++) {
		if (*p == '\\')
			p++;
		else if (*p == '[' || *p == ']')
			in_class = *p == '[';
	}
	if (p >= j->end || *p != '/')
		return fail(j, "a regular expression without an end");
	for (p++; p < j->end && is_word(*p); p++)
		;
	return p;
}

static const char *number_end(const struct js *j)
{
	const char *p = j->at;
	while (p < j->end && (is_word(*p) || *p == '.'))
		p++;
	return p;
}

static const char *sign_end(struct js *j)
{
	static const char pairs[][3] = { "=>", "++", "--" };
	char c = *j->at;
	if (c == '(' || c == '[')
		j->open[j->depth++] = c == '(' ? paren_kind(j) : JS_PLAIN;
	if (c == '{')
		j->open[j->depth++] = brace_kind(j);
	if (c == ')' || c == ']' || c == '}') {
		if (!j->depth)
			return fail(j, "a bracket that was not opened");
		j->closed = j->open[--j->depth];
	}
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		if (j->end - j->at >= 2 && memcmp(j->at, pairs[i], 2) == 0)
			return j->at + 2;
	return j->at + 1;
}

static bool begins_number(const struct js *j)
{
	const char *p = j->at;
	return isdigit((unsigned char)*p) ||
	       (*p == '.' && p + 1 < j->end && isdigit((unsigned char)p[1]));
}

static bool begins_comment(const struct js *j)
{
	return j->end - j->at >= 2 && *j->at == '/' && (j->at[1] == '/' || j->at[1] == '*');
}

static enum js_kind find_end(struct js *j, const char **end)
{
	char c = *j->at;
	const char *p = j->at;
	if (isspace((unsigned char)c)) {
		while (p < j->end && isspace((unsigned char)*p))
			p++;
		*end = p;
		return JS_SPACE;
	}
	if (begins_comment(j))
		return *end = comment_end(j), JS_COMMENT;
	if (begins_number(j))
		return *end = number_end(j), JS_NUMBER;
	if (is_word(c)) {
		while (p < j->end && is_word(*p))
			p++;
		*end = p;
		return JS_WORD;
	}
	if (c == '"' || c == '\'')
		return *end = string_end(j), JS_STRING;
	if (c == '`')
		return *end = template_end(j), JS_TEMPLATE;
	if (c == '}' && j->depth && j->open[j->depth - 1] == JS_PIECE) {
		j->depth--;
		return *end = template_end(j), JS_TEMPLATE;
	}
	if (c == '/' && wants_value(j))
		return *end = regex_end(j), JS_REGEX;
	return *end = sign_end(j), JS_SIGN;
}

bool js_next(struct js *j, struct js_token *out)
{
	const char *end;
	*out = (struct js_token){ JS_END, j->at, 0, j->depth };
	if (!j->trouble && j->at == j->end && j->depth)
		j->trouble = "a bracket without an end";
	if (j->trouble || j->at == j->end)
		return false;
	if (j->depth + 1 >= JS_MAX_DEPTH) {
		j->trouble = "too many brackets in each other";
		return false;
	}
	out->kind = find_end(j, &end);
	if (j->trouble)
		return false;
	out->len = end - j->at;
	out->depth = j->depth < out->depth ? j->depth : out->depth;
	j->at = end;
	if (out->kind != JS_SPACE && out->kind != JS_COMMENT) {
		j->after_point = j->last.kind == JS_SIGN && *j->last.s == '.';
		j->last = *out;
	}
	return true;
}
