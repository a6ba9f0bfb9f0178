/* Rewrites the common subset to POSIX extended expressions, and reports expressions outside of it
 * with their position. */
#include "base/pattern.h"

#include "base/buf.h"
#include "base/err.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

/* State of translating an expression to the C library's syntax. sizes count the size of the
 * unrolled expression: the C library copies repeated parts, for x+ as well. */
struct rewrite {
	const char *at;
	struct buf out;
	unsigned depth;
	uint64_t sizes[PATTERN_MAX_DEPTH + 1]; /* of open groups, by depth */
	uint64_t last;                         /* size of the previous character or group */
	bool can_repeat, can_be_lazy;          /* the previous item: repeatable; a repetition */
	size_t opened;                         /* parentheses written */
	struct pattern_groups *groups;         /* NULL: not requested */
	struct err *err;
};

static int refuse(struct rewrite *r, int len, const char *why)
{
	return err_set(r->err, EINVAL, "'%.*s' %s", len, r->at, why);
}

/* \d and similar, outside and inside of brackets. */
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
		return refuse(r, 2, "is not supported");
	/* The C library gives \< \> \' and \` a meaning. */
	if (!in_brackets && !strchr("<>'`", c))
		buf_addc(&r->out, '\\');
	buf_addc(&r->out, c);
	r->at += 2;
	return 0;
}

/* Copies [...] up to the ] that is not the first and not part of a class like [:alpha:]. */
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

static int add_size(struct rewrite *r, uint64_t size, int len)
{
	r->sizes[r->depth] += size;
	if (r->sizes[r->depth] > PATTERN_MAX_STATES)
		return refuse(r, len, "makes it too large");
	return 0;
}

/* Returns the length of "(", "(?:", "(?P<name>" or "(?<name>", 0 for anything else. */
static size_t open_len(const char *s, struct pattern_group *group)
{
	size_t front = s[1] != '?'               ? 1
		       : s[2] == ':'             ? 3
		       : s[2] == '<'             ? 3
		       : strncmp(s + 2, "P<", 2) ? 0
						 : 4;

	*group = (struct pattern_group){ 0 };
	if (s[1] != '?' || s[2] == ':' || !front)
		return front;
	group->name = s + front;
	while (isalnum((unsigned char)group->name[group->name_len]) ||
	       group->name[group->name_len] == '_')
		group->name_len++;
	return group->name_len && group->name[group->name_len] == '>' ? front + group->name_len + 1
								      : 0;
}

static int add_group(struct rewrite *r, struct pattern_group *group)
{
	struct pattern_groups *g = r->groups;

	if (g->n > PATTERN_MAX_GROUPS)
		return refuse(r, 1, "is one group too many");
	group->at = g->most_at = r->opened;
	g->v[g->n++] = *group;
	return 0;
}

static int rewrite_open(struct rewrite *r)
{
	struct pattern_group group;
	size_t len = open_len(r->at, &group);
	if (!len)
		return refuse(r, 3, "is not supported");
	if (r->depth == PATTERN_MAX_DEPTH)
		return refuse(r, 1, "is nested too deep");
	r->opened++;
	if (r->groups && r->at[len - 1] != ':' && add_group(r, &group))
		return -EINVAL;
	r->sizes[++r->depth] = 0;
	r->can_repeat = r->can_be_lazy = false;
	buf_addc(&r->out, '(');
	r->at += len;
	return 0;
}

/* An unmatched ) would close our own group in the C library. */
static int rewrite_close(struct rewrite *r)
{
	if (!r->depth)
		return refuse(r, 1, "closes nothing");
	r->last = r->sizes[r->depth--] + 1;
	r->can_repeat = true;
	r->can_be_lazy = false;
	if (add_size(r, r->last, 1) < 0)
		return -EINVAL;
	buf_addc(&r->out, *r->at++);
	return 0;
}

/* Returns the length of {n}, {n,} or {n,m}, 0 for anything else. Sets *most to the larger
 * number. */
static int braces(const char *s, uint64_t *most)
{
	const char *c = s + 1;
	int commas = 0;
	uint64_t n = 0;
	*most = 1;
	for (; isdigit((unsigned char)*c) || (*c == ',' && c > s + 1 && !commas++); c++) {
		n = *c == ',' ? 0 : n * 10 + (*c - '0');
		n = n > PATTERN_MAX_STATES ? PATTERN_MAX_STATES + 1 : n;
		*most = n > *most ? n : *most;
	}
	return *c == '}' && c > s + 1 ? c + 1 - s : 0;
}

/* * Translates * + ? {n,m}. A ? after one makes it lazy, which has no effect when whole values are
 * matched. */
static int rewrite_repeat(struct rewrite *r)
{
	uint64_t most = *r->at == '+' ? 2 : 1;
	int len = *r->at == '{' ? braces(r->at, &most) : 1;
	if (*r->at == '?' && r->can_be_lazy && r->groups)
		return refuse(r, 1,
			      "is non-greedy, which is not supported: exclude a character instead, "
			      "as in [^-]*");
	if (*r->at == '?' && r->can_be_lazy) {
		r->can_be_lazy = false;
		r->at++;
		return 0;
	}
	if (!len)
		return refuse(r, 1, "is not a repetition; for the character write \\{");
	if (!r->can_repeat)
		return refuse(r, len, "repeats nothing");
	if (add_size(r, r->last * (most - 1), len) < 0)
		return -EINVAL;
	r->last *= most;
	r->can_repeat = false;
	r->can_be_lazy = true;
	buf_add(&r->out, r->at, len);
	r->at += len;
	return 0;
}

static int rewrite_char(struct rewrite *r)
{
	int rc = add_size(r, 1, 1);
	r->last = 1;
	r->can_repeat = *r->at != '|';
	r->can_be_lazy = false;
	if (rc < 0)
		return rc;
	if (*r->at == '\\')
		return rewrite_escape(r, false);
	if (*r->at == '[')
		return rewrite_brackets(r);
	buf_addc(&r->out, *r->at++);
	return 0;
}

/* \Q…\E: each character stands for itself. */
static int rewrite_quoted(struct rewrite *r)
{
	for (r->at += 2; *r->at && strncmp(r->at, "\\E", 2) != 0; r->at++) {
		if (add_size(r, 1, 1) < 0)
			return -EINVAL;
		if (strchr("\\^$.[]|()*+?{}", *r->at))
			buf_addc(&r->out, '\\');
		buf_addc(&r->out, *r->at);
		r->last = 1;
		r->can_repeat = true;
		r->can_be_lazy = false;
	}
	r->at += *r->at ? 2 : 0;
	return 0;
}

static int rewrite_one(struct rewrite *r)
{
	if (r->at[0] == '\\' && r->at[1] == 'Q')
		return rewrite_quoted(r);
	if (*r->at == '(')
		return rewrite_open(r);
	if (*r->at == ')')
		return rewrite_close(r);
	if (strchr("*+?{", *r->at))
		return rewrite_repeat(r);
	return rewrite_char(r);
}

static int compile(const char *text, regex_t *out, struct pattern_groups *groups, struct err *err)
{
	static const char any_case[] = "(?i)";
	bool is_any_case = strncmp(text, any_case, strlen(any_case)) == 0;
	struct rewrite r = { .at = text + (is_any_case ? strlen(any_case) : 0),
			     .err = err,
			     .groups = groups,
			     .opened = 1 };
	int rc = 0;
	if (strlen(text) > PATTERN_MAX_LEN)
		return err_set(err, EINVAL, "the expression is longer than %d bytes",
			       PATTERN_MAX_LEN);
	buf_adds(&r.out, "^(");
	while (rc == 0 && *r.at)
		rc = rewrite_one(&r);
	buf_adds(&r.out, ")$");
	int flags = REG_EXTENDED | (groups ? 0 : REG_NOSUB) | (is_any_case ? REG_ICASE : 0);
	int code = rc == 0 ? regcomp(out, buf_cstr(&r.out), flags) : 0;
	if (code) {
		char why[128];
		regerror(code, out, why, sizeof why);
		rc = err_set(err, EINVAL, "%s", why);
	}
	buf_done(&r.out);
	return rc;
}

int pattern_compile(const char *text, regex_t *out, struct err *err)
{
	return compile(text, out, NULL, err);
}

int pattern_compile_groups(const char *text, regex_t *out, struct pattern_groups *groups,
			   struct err *err)
{
	*groups = (struct pattern_groups){ .n = 1 };
	return compile(text, out, groups, err);
}
