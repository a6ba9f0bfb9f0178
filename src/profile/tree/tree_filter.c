/* Compiles expressions, and tests each function once. */
#include "profile/tree/tree_filter.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "profile/frame.h"
#include "profile/strtab.h"
#include "profile/tree/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *prefix;
	enum pattern_field field;
} pattern_prefixes[] = {
	{ "binary:", PATTERN_BINARY },
	{ "file:", PATTERN_FILE },
	{ "kind:", PATTERN_KIND },
};

static int pattern_init(struct pattern *p, const char *what, const char *text, struct err *err)
{
	const char *regex = text;
	for (size_t i = 0; i < sizeof pattern_prefixes / sizeof *pattern_prefixes; i++) {
		if (!str_starts(text, pattern_prefixes[i].prefix))
			continue;
		p->field = pattern_prefixes[i].field;
		regex = text + strlen(pattern_prefixes[i].prefix);
	}
	int code = regcomp(&p->regex, regex, REG_EXTENDED | REG_NOSUB);
	if (code) {
		char why[128];
		regerror(code, &p->regex, why, sizeof why);
		return err_set(err, EINVAL, "%s: bad regular expression '%s': %s", what, regex,
			       why);
	}
	return 0;
}

static int patterns_init(struct patterns *p, uint32_t max, const char *what, const char *text,
			 struct err *err)
{
	char *copy = text ? xstrdup(text) : NULL, *at = copy;
	int ret = 0;
	for (char *line; ret == 0 && (line = strsep(&at, "\n"));) {
		if (!*line && p->n + (at ? 1u : 0u))
			continue; /* a single empty pattern matches everything */
		if (p->n == max)
			ret = err_set(err, EINVAL, "%s: more than %u patterns", what, max);
		else
			ret = pattern_init(&p->v[p->n], what, line, err);
		p->n += ret == 0;
	}
	free(copy);
	return ret;
}

int tree_filter_init(struct tree_filter *f, const struct tree_opts *opts, struct err *err)
{
	*f = (struct tree_filter){ .no_kernel = opts->no_kernel, .no_user = opts->no_user };
	int ret = patterns_init(&f->focus, FOCUS_PATTERNS, "focus", opts->focus, err);
	if (ret == 0)
		ret = patterns_init(&f->ignore, FILTER_PATTERNS, "ignore", opts->ignore, err);
	return ret ? ret : patterns_init(&f->hide, FILTER_PATTERNS, "hide", opts->hide, err);
}

static void patterns_done(struct patterns *p)
{
	while (p->n)
		regfree(&p->v[--p->n].regex);
}

void tree_filter_done(struct tree_filter *f)
{
	patterns_done(&f->focus);
	patterns_done(&f->ignore);
	patterns_done(&f->hide);
}

bool tree_filter_passes(const struct tree_filter *f, unsigned bits)
{
	unsigned wanted = ((1u << f->focus.n) - 1) * FUNC_FOCUS;
	return (bits & wanted) == wanted && !(bits & FUNC_IGNORE);
}

static const char *pattern_subject(enum pattern_field field, const struct strtab *strings,
				   const struct tree_func *func)
{
	switch (field) {
	case PATTERN_BINARY:
		return strtab_get(strings, func->binary);
	case PATTERN_FILE:
		return strtab_get(strings, func->file);
	case PATTERN_KIND:
		return frame_kinds[func->kind].name;
	case PATTERN_NAME:
		break;
	}
	return strtab_get(strings, func->name);
}

static bool pattern_matches(const struct pattern *p, const struct strtab *strings,
			    const struct tree_func *func)
{
	return regexec(&p->regex, pattern_subject(p->field, strings, func), 0, NULL, 0) == 0;
}

static bool any_matches(const struct patterns *p, const struct strtab *strings,
			const struct tree_func *func)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (pattern_matches(&p->v[i], strings, func))
			return true;
	return false;
}

/* Whether the frame is neither the kernel's nor a GPU's: user space, including its markers. */
static bool is_user(uint8_t kind)
{
	bool is_gpu = kind >= FRAME_GPU_SOURCE && kind <= FRAME_GPU_STALL;
	return kind != FRAME_KERNEL && kind != FRAME_REST && !is_gpu;
}

unsigned tree_filter_func(const struct tree_filter *f, const struct strtab *strings,
			  const struct tree_func *func)
{
	unsigned bits = 0;
	for (uint32_t i = 0; i < f->focus.n; i++)
		if (pattern_matches(&f->focus.v[i], strings, func))
			bits |= FUNC_FOCUS << i;
	if (any_matches(&f->ignore, strings, func))
		bits |= FUNC_IGNORE;
	if ((f->no_kernel && func->kind == FRAME_KERNEL) || (f->no_user && is_user(func->kind)) ||
	    any_matches(&f->hide, strings, func))
		bits |= FUNC_DROP;
	return bits;
}
