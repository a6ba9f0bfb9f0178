/* Finds a format by name or file name ending, with errors that list the known ones. */
#include "cmd/cli/cmd.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "format/common/format.h"
#include "format/formats.h"

#include <errno.h>

/* Whether a format supports any of these uses. */
static bool format_does(const struct format *f, unsigned uses)
{
	return (uses & FORMAT_READS && f->read) || (uses & FORMAT_WRITES && f->write);
}

void format_names(struct buf *b, unsigned uses, const char *separator)
{
	const char *between = "";
	for (const struct format *const *f = formats; *f; f++) {
		if (!format_does(*f, uses))
			continue;
		buf_addf(b, "%s%s", between, (*f)->name);
		between = separator;
	}
}

const struct format *format_asked(const char *name, enum format_use use, struct err *err)
{
	const struct format *f = format_by_name(name);
	if (f && format_does(f, use))
		return f;
	enum { FORMATS_MAX = 64 };
	const char *names[FORMATS_MAX];
	size_t n = 0;
	for (const struct format *const *f = formats; *f && n < FORMATS_MAX; f++)
		if (format_does(*f, use))
			names[n++] = (*f)->name;
	const char *near = str_nearest(name, names, n);
	const char *verb = use == FORMAT_READS ? "read" : "written";
	struct buf list = { 0 };
	format_names(&list, use, ", ");
	if (f)
		err_set(err, EINVAL, "format '%s' cannot be %s", name, verb);
	else
		err_set(err, EINVAL, "unknown format '%s'", name);
	if (near)
		err_hint(err, "did you mean '%s'?\ncan be %s: %s", near, verb, buf_cstr(&list));
	else
		err_hint(err, "can be %s: %s", verb, buf_cstr(&list));
	buf_done(&list);
	return NULL;
}
