/* Formats messages into the fixed buffers of struct err; long ones are truncated. */
#include "base/err.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define ELLIPSIS "\xe2\x80\xa6"

/* Formats into to (size bytes), on one line unless `lines`; long text is truncated between
 * characters and ends with "…". Uses a copy because the arguments may point into the text being
 * replaced. */
static void err_format(char *to, size_t size, bool lines, const char *fmt, va_list ap)
{
	char text[sizeof((struct err *)0)->text];
	int len = vsnprintf(text, size, fmt, ap);
	if (len < 0)
		text[0] = '\0';
	if (len >= (int)size) {
		size_t cut = size - sizeof ELLIPSIS;
		while (cut > 0 && (text[cut] & 0xc0) == 0x80)
			cut--;
		memcpy(text + cut, ELLIPSIS, sizeof ELLIPSIS);
	}
	for (char *p = text; !lines && *p; p++)
		if (*p == '\n' || *p == '\r')
			*p = ' ';
	memcpy(to, text, strlen(text) + 1);
}

int err_set(struct err *err, int code, const char *fmt, ...)
{
	if (code == 0)
		code = EIO;
	if (!err)
		return -code;
	va_list ap;
	va_start(ap, fmt);
	err_format(err->text, sizeof err->text, false, fmt, ap);
	va_end(ap);
	err->code = code;
	err->hint[0] = '\0';
	return -code;
}

static void err_join(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void err_join(struct err *err, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	err_format(err->text, sizeof err->text, false, fmt, ap);
	va_end(ap);
}

int err_prefix(struct err *err, const char *fmt, ...)
{
	if (!err)
		return -EIO;
	char context[sizeof err->text];
	va_list ap;
	va_start(ap, fmt);
	err_format(context, sizeof context, false, fmt, ap);
	va_end(ap);
	err_join(err, "%s: %s", context, err->text);
	return -err->code;
}

int err_hint(struct err *err, const char *fmt, ...)
{
	if (!err)
		return -EIO;
	va_list ap;
	va_start(ap, fmt);
	err_format(err->hint, sizeof err->hint, true, fmt, ap);
	va_end(ap);
	return -err->code;
}
