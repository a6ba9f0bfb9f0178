#include "query/pattern.h"

#include "base/buf.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

/* An expression on its way from theirs to the C library's. */
struct rewrite {
	const char *at;
	struct buf out;
	unsigned depth;
	uint64_t states; /* PATTERN_MAX_STATES */
	struct err *err;
};

static int refuse(struct rewrite *r, int len, const char *why)
{
	return err_set(r->err, EINVAL, "'%.*s' %s", len, r->at, why);
}

/* \d and the like, by where they stand. */
static const struct {
	char letter;
	const char *alone, *in_brackets;
} escapes[] = {
	{ 'd', "[0-9]", "0-9" }, { 'D', "[^0-9]", NULL },     { 'w', "\\w", "[:alnum:]_" },
	{ 'W', "\\W", NULL },    { 's', "\\s", "[:space:]" }, { 'S', "\\S", NULL },
	{ 'b', "\\b", NULL },    { 'B', "\\B", NULL },
};

static int rewrite_escape(struct rewrite *r, bool in_brackets)
{
	char c = r->at[1];
	for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++) {
		const char *to = in_brackets ? escapes[i].in_brackets : escapes[i].alone;
		if (escapes[i].letter != c || !to)
			continue;
		buf_adds(&r->out, to);
		r->at += 2;
		return 0;
	}
	if (!c)
		return refuse(r, 1, "is the last character");
	if (isalnum((unsigned char)c) || (in_brackets && strchr("]^-", c)))
		return refuse(r, 2, "is not known here");
	/* The C library has meanings of its own for \< \> \' and \`. */
	if (!in_brackets && !strchr("<>'`", c))
		buf_addc(&r->out, '\\');
	buf_addc(&r->out, c);
	r->at += 2;
	return 0;
}

/* [...]: up to the ] that is not the first and not part of a class like [:alpha:]. */
static int rewrite_brackets(struct rewrite *r)
{
	const char *start = r->at;
	buf_addc(&r->out, *r->at++);
	if (*r->at == '^')
		buf_addc(&r->out, *r->at++);
	if (*r->at == ']')
		buf_addc(&r->out, *r->at++);
	while (*r->at && *r->at != ']') {
		const char *end = NULL;
		if (r->at[0] == '[' && r->at[1] && strchr(":.=", r->at[1]))
			end = strstr(r->at + 2, (char[]){ r->at[1], ']', '\0' });
		if (end) {
			buf_add(&r->out, r->at, end + 2 - r->at);
			r->at = end + 2;
		} else if (*r->at != '\\') {
			buf_addc(&r->out, *r->at++);
		} else if (rewrite_escape(r, true) < 0) {
			return -EINVAL;
		}
	}
	if (!*r->at) {
		r->at = start;
		return refuse(r, 1, "has no ]");
	}
	buf_addc(&r->out, *r->at++);
	return 0;
}

static int rewrite_group(struct rewrite *r)
{
	if (r->at[1] == '?' && r->at[2] != ':')
		return refuse(r, 3, "is not known here");
	if (++r->depth > PATTERN_MAX_DEPTH)
		return refuse(r, 1, "is nested too deep");
	buf_addc(&r->out, '(');
	r->at += r->at[1] == '?' ? 3 : 1;
	return 0;
}

/* {n}, {n,} or {n,m}: copied, its larger number counted. */
static int rewrite_repeat(struct rewrite *r)
{
	const char *c = r->at;
	uint64_t most = 1, n = 0;
	for (; *c && *c != '}'; c++) {
		n = isdigit((unsigned char)*c) ? n * 10 + (*c - '0') : 0;
		most = n > most ? n : most;
		if (most * r->states > PATTERN_MAX_STATES)
			return refuse(r, c + 1 - r->at, "repeats too much");
	}
	r->states *= most;
	buf_add(&r->out, r->at, c - r->at);
	r->at = c;
	return 0;
}

static int rewrite_one(struct rewrite *r)
{
	switch (*r->at) {
	case '\\':
		return rewrite_escape(r, false);
	case '[':
		return rewrite_brackets(r);
	case '(':
		return rewrite_group(r);
	case '{':
		return rewrite_repeat(r);
	case ')':
		/* The C library takes a lone one for itself, which would end our own group. */
		if (!r->depth)
			return refuse(r, 1, "closes nothing");
		r->depth--;
		break;
	default:
		break;
	}
	buf_addc(&r->out, *r->at++);
	return 0;
}

int pattern_compile(const char *text, regex_t *out, struct err *err)
{
	struct rewrite r = { .at = text, .states = strlen(text) + 1, .err = err };
	int rc = 0;
	if (r.states > PATTERN_MAX_LEN)
		return err_set(err, EINVAL, "the expression is longer than %d bytes",
			       PATTERN_MAX_LEN);
	buf_adds(&r.out, "^(");
	while (rc == 0 && *r.at)
		rc = rewrite_one(&r);
	buf_adds(&r.out, ")$");
	int code = rc == 0 ? regcomp(out, buf_cstr(&r.out), REG_EXTENDED | REG_NOSUB) : 0;
	if (code) {
		char why[128];
		regerror(code, out, why, sizeof why);
		rc = err_set(err, EINVAL, "%s", why);
	}
	buf_done(&r.out);
	return rc;
}
