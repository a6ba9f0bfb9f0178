/* tui/match.h: a filter typed after `/`: a substring, ignoring case, or /a regular expression/ as
 * in selectors, which need not match the whole name. */
#ifndef CRESSET_TUI_MATCH_H
#define CRESSET_TUI_MATCH_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

struct err;

struct match { /* zeroed: everything matches */
	char *text;
	bool is_regex;
	regex_t regex;
};

/* "" matches everything. Returns -EINVAL with a message and leaves *m unchanged if the text is
 * invalid. */
int match_set(struct match *m, const char *text, struct err *err);
void match_done(struct match *m);
bool match_is(const struct match *m, const char *name);
static inline bool match_is_on(const struct match *m)
{
	return m->text != NULL;
}

#endif
