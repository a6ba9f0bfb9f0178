#include "strip.h"

#include "js.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* What lies between two tokens: nothing, blanks, or a newline. */
enum gap { GAP_NONE, GAP_BLANK, GAP_LINE };

static void put_gap(struct buf *out, enum gap *gap)
{
	if (*gap && out->len)
		buf_addc(out, *gap == GAP_LINE ? '\n' : ' ');
	*gap = GAP_NONE;
}

static void widen(enum gap *gap, const char *s, size_t len)
{
	enum gap more = memchr(s, '\n', len) ? GAP_LINE : GAP_BLANK;
	*gap = more > *gap ? more : *gap;
}

static bool is_kept(const char *s, size_t len)
{
	return len > 2 && s[1] == '*' && s[2] == '!';
}

/* --- JavaScript --- */

static bool is_sign(const struct js_token *t, const char *signs)
{
	return t->kind == JS_SIGN && strchr(signs, *t->s);
}

static bool is_operand(const struct js_token *t)
{
	return t->kind == JS_WORD || t->kind == JS_NUMBER || t->kind == JS_STRING ||
	       t->kind == JS_TEMPLATE;
}

/* Beside + - / < > ! and the like a blank says nothing, unless a sign or an expression behind it makes something else of both. */
static bool stands_apart(const struct js_token *a, const struct js_token *b)
{
	const char *const signs = "+-/<>!%^~";
	return (is_sign(a, signs) && is_operand(b)) || (is_operand(a) && is_sign(b, signs));
}

static bool needs_no_blank(const struct js_token *a, const struct js_token *b)
{
	const char *const signs = "(){}[];,=?:&|*";
	bool is_quoted = (a->kind == JS_WORD && b->kind == JS_STRING) ||
			 (a->kind == JS_STRING && b->kind == JS_WORD);
	return is_sign(a, signs) || is_sign(b, signs) || is_quoted || stands_apart(a, b);
}

/* A statement can end at a newline, but not behind these, nor before these, nor where a condition's ) wants one. `closed` is of a. */
static bool needs_no_line(const struct js_token *a, enum js_bracket closed,
			  const struct js_token *b)
{
	if (is_sign(a, "({[;,=?:&|") || is_sign(b, ")}];,?:&|"))
		return true;
	return is_sign(a, ")") && closed == JS_CONTROL;
}

static enum gap gap_left(enum gap gap, const struct js *before, const struct js_token *t)
{
	const struct js_token *last = &before->last;
	bool is_none =
		gap == GAP_LINE ? needs_no_line(last, before->closed, t) : needs_no_blank(last, t);
	return is_none ? GAP_NONE : gap;
}

static const char *strip_js(const char *text, size_t len, struct buf *out)
{
	struct js j, before;
	struct js_token t;
	enum gap gap = GAP_NONE;
	bool after_comment = false;
	js_init(&j, text, len);
	for (before = j; js_next(&j, &t); before = j) {
		if (t.kind == JS_SPACE || (t.kind == JS_COMMENT && !is_kept(t.s, t.len))) {
			widen(&gap, t.s, t.len);
			continue;
		}
		if (t.kind != JS_COMMENT && !after_comment)
			gap = gap_left(gap, &before, &t);
		after_comment = t.kind == JS_COMMENT;
		put_gap(out, &gap);
		buf_add(out, t.s, t.len);
	}
	buf_addc(out, '\n');
	return j.trouble;
}

/* --- CSS --- */

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || strchr("_-%#.", c) || (unsigned char)c >= 0x80;
}

/* A string, or what is in url(), to its end. */
static const char *css_string(const char *p, const char *end, char quote)
{
	for (p++; p < end && *p != quote; p++)
		if (*p == '\\' && p + 1 < end)
			p++;
	return p < end ? p + 1 : end;
}

static const char *css_piece(const char *p, const char *end)
{
	if (*p == '"' || *p == '\'')
		return css_string(p, end, *p);
	if (is_kept(p, end - p) && *p == '/')
		return (p = memmem(p, end - p, "*/", 2)) ? p + 2 : end;
	if (end - p > 4 && strncasecmp(p, "url(", 4) == 0 && p[4] != '"' && p[4] != '\'')
		return css_string(p, end, ')');
	return *p == '\\' && p + 1 < end ? p + 2 : p + 1;
}

/* Two names with only a comment between them are two. */
static void css_join(struct buf *out, enum gap *gap, bool had_comment, char next)
{
	if (*gap == GAP_NONE && had_comment && out->len && is_name(out->data[out->len - 1]) &&
	    is_name(next))
		buf_adds(out, "/**/");
	put_gap(out, gap);
}

/* Beside these a blank says nothing; before a colon it is part of a selector. */
static bool css_needs_no_gap(const struct buf *out, char next)
{
	char last = out->len ? out->data[out->len - 1] : ';';
	bool is_escaped = out->len > 1 && out->data[out->len - 2] == '\\';
	return strchr("{};,", next) || (strchr("{};,:", last) && !is_escaped);
}

static const char *strip_css(const char *text, size_t len, struct buf *out)
{
	const char *p = text, *end = text + len;
	enum gap gap = GAP_NONE;
	bool had_comment = false;
	while (p < end) {
		const char *from = p;
		if (isspace((unsigned char)*p)) {
			widen(&gap, p++, 1);
		} else if (end - p > 1 && p[0] == '/' && p[1] == '*' && !is_kept(p, end - p)) {
			p = memmem(p + 2, end - p - 2, "*/", 2);
			if (!p)
				return "a comment without an end";
			p += 2;
			had_comment = true;
		} else {
			if (css_needs_no_gap(out, *p))
				gap = GAP_NONE;
			css_join(out, &gap, had_comment, *p);
			had_comment = false;
			p = css_piece(p, end);
			buf_add(out, from, p - from);
		}
	}
	buf_addc(out, '\n');
	return NULL;
}

/* --- HTML --- */

/* Elements whose blanks, or whose whole text, are not to be touched. */
static const char *const raw_elements[] = { "script", "style", "pre", "textarea", "title", NULL };

static const char *raw_element(const char *tag, size_t len)
{
	for (const char *const *name = raw_elements; *name; name++) {
		size_t n = strlen(*name);
		if (len > n && strncasecmp(tag, *name, n) == 0 && !isalnum((unsigned char)tag[n]))
			return *name;
	}
	return NULL;
}

/* Behind the tag that begins at p. */
static const char *tag_end(const char *p, const char *end)
{
	for (; p < end && *p != '>'; p++)
		if (*p == '"' || *p == '\'') {
			p = memchr(p + 1, *p, end - p - 1);
			if (!p)
				return NULL;
		}
	return p < end ? p + 1 : NULL;
}

/* Behind the end tag of the raw element. */
static const char *raw_end(const char *p, const char *end, const char *name)
{
	size_t n = strlen(name);
	for (; (p = memmem(p, end - p, "</", 2)); p += 2)
		if ((size_t)(end - p) > n + 2 && strncasecmp(p + 2, name, n) == 0)
			return tag_end(p, end);
	return NULL;
}

static const char *markup_end(const char *p, const char *end)
{
	const char *raw = raw_element(p + 1, end - p - 1), *behind = tag_end(p, end);
	return raw && behind ? raw_end(behind, end, raw) : behind;
}

static const char *strip_html(const char *text, size_t len, struct buf *out)
{
	const char *p = text, *end = text + len;
	enum gap gap = GAP_NONE;
	while (p < end) {
		const char *from = p;
		if (isspace((unsigned char)*p)) {
			widen(&gap, p++, 1);
			continue;
		}
		if (end - p > 4 && memcmp(p, "<!--", 4) == 0) {
			p = memmem(p + 4, end - p - 4, "-->", 3);
			if (!p)
				return "a comment without an end";
			p += 3;
			continue;
		}
		put_gap(out, &gap);
		p = *p == '<' ? markup_end(p, end) : p + 1;
		if (!p)
			return "a tag without an end";
		buf_add(out, from, p - from);
	}
	buf_addc(out, '\n');
	return NULL;
}

const char *strip(const char *name, const char *text, size_t len, struct buf *out)
{
	const char *ending = strrchr(name, '.');
	if (ending && strcmp(ending, ".js") == 0)
		return strip_js(text, len, out);
	if (ending && strcmp(ending, ".css") == 0)
		return strip_css(text, len, out);
	if (ending && strcmp(ending, ".html") == 0)
		return strip_html(text, len, out);
	buf_add(out, text, len);
	return NULL;
}
