/* Errors of columns that a source does not have. */
#include "query/query.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int column_error(struct err *err, const char *of, const char *text, const char *where,
		 const char *what)
{
	enum { BEFORE = 40, SHOWN = 72 };
	const char *line = text, *end;
	int lines = 1;
	for (; (end = memchr(line, '\n', where - line)); lines++)
		line = end + 1;
	size_t at = where - line, from = at > BEFORE ? at - BEFORE : 0;
	while (from && ((unsigned char)line[from] & 0xc0) == 0x80)
		from--; /* not inside a character */
	size_t shown = strcspn(line + from, "\n");
	char *before = xstrndup(line + from, at - from);
	if (lines > 1)
		err_set(err, EINVAL, "%s, line %d, column %zu: %s", of, lines, at + 1, what);
	else
		err_set(err, EINVAL, "%s, column %zu: %s", of, at + 1, what);
	err_hint(err, "%.*s\n%*s", (int)(shown < SHOWN ? shown : SHOWN), line + from,
		 (int)utf8_width(before) + 1, "^");
	free(before);
	return -EINVAL;
}
