#include "profile/tree_filter.h"

#include "base/str.h"

#include <errno.h>
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
	if (!text)
		return 0;
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
	p->is_set = true;
	return 0;
}

int tree_filter_init(struct tree_filter *f, const struct tree_opts *opts, struct err *err)
{
	*f = (struct tree_filter){ .no_kernel = opts->no_kernel, .no_user = opts->no_user };
	int ret = pattern_init(&f->focus, "focus", opts->focus, err);
	ret = ret ? ret : pattern_init(&f->ignore, "ignore", opts->ignore, err);
	return ret ? ret : pattern_init(&f->hide, "hide", opts->hide, err);
}

static void pattern_done(struct pattern *p)
{
	if (p->is_set)
		regfree(&p->regex);
	p->is_set = false;
}

void tree_filter_done(struct tree_filter *f)
{
	pattern_done(&f->focus);
	pattern_done(&f->ignore);
	pattern_done(&f->hide);
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
	return p->is_set &&
	       regexec(&p->regex, pattern_subject(p->field, strings, func), 0, NULL, 0) == 0;
}

/* Neither the kernel's nor a GPU's: what ran in user space, and what is said about its stack. */
static bool is_user(uint8_t kind)
{
	bool is_gpu = kind >= FRAME_GPU_SOURCE && kind <= FRAME_GPU_STALL;
	return kind != FRAME_KERNEL && kind != FRAME_REST && !is_gpu;
}

unsigned tree_filter_func(const struct tree_filter *f, const struct strtab *strings,
			  const struct tree_func *func)
{
	unsigned bits = 0;
	if (pattern_matches(&f->focus, strings, func))
		bits |= FUNC_FOCUS;
	if (pattern_matches(&f->ignore, strings, func))
		bits |= FUNC_IGNORE;
	if ((f->no_kernel && func->kind == FRAME_KERNEL) || (f->no_user && is_user(func->kind)) ||
	    pattern_matches(&f->hide, strings, func))
		bits |= FUNC_DROP;
	return bits;
}
