/* Compiles the filter text. */
#include "tui/match.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/pattern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void match_done(struct match *m)
{
	if (m->is_regex)
		regfree(&m->regex);
	free(m->text);
	*m = (struct match){ 0 };
}

/* Compiles the text between the slashes; the closing one is optional. */
static int compile(const char *text, regex_t *out, struct err *err)
{
	size_t n = strlen(text);
	struct buf b = { 0 };
	if (n > 1 && text[n - 1] == '/')
		n--;
	buf_adds(&b, "(.*)(?:");
	buf_add(&b, text + 1, n - 1);
	buf_adds(&b, ")(.*)");
	int rc = pattern_compile(buf_cstr(&b), out, err);
	buf_done(&b);
	return rc;
}

int match_set(struct match *m, const char *text, struct err *err)
{
	struct match fresh = { .is_regex = *text == '/' };
	if (*text && fresh.is_regex && compile(text, &fresh.regex, err) < 0)
		return -EINVAL;
	match_done(m);
	if (!*text)
		return 0;
	fresh.text = xstrdup(text);
	*m = fresh;
	return 0;
}

bool match_is(const struct match *m, const char *name)
{
	if (!m->text)
		return true;
	if (m->is_regex)
		return regexec(&m->regex, name, 0, NULL, 0) == 0;
	return strcasestr(name, m->text) != NULL;
}
