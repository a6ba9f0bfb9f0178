#include "base/log.h"

#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Longer messages are cut: a name in them may be a megabyte. */
enum { LOG_MAX_BYTES = 4096 };

static enum log_level level_now = LOG_NORMAL;

void log_set_level(enum log_level level)
{
	level_now = level;
}

enum log_level log_level(void)
{
	return level_now;
}

/* One write per message, so that messages of several processes do not mix. */
static void log_flush(struct buf *b)
{
	for (size_t done = 0; done < b->len;) {
		ssize_t n = write(STDERR_FILENO, b->data + done, b->len - done);
		if (n < 0 && errno != EINTR)
			break;
		done += n > 0 ? n : 0;
	}
	buf_done(b);
}

static void log_line(struct buf *b, const char *prefix, const char *text, size_t len)
{
	buf_adds(b, prefix);
	esc_term(b, text, len, LOG_MAX_BYTES);
	buf_addc(b, '\n');
}

static void log_say(enum log_level needed, const char *prefix, const char *fmt, va_list ap)
{
	if (level_now < needed)
		return;
	char *text = NULL;
	int len = vasprintf(&text, fmt, ap);
	struct buf b = { 0 };
	if (len >= 0)
		log_line(&b, prefix, text, len);
	free(text);
	log_flush(&b);
}

void log_error(const struct err *err)
{
	struct buf b = { 0 };
	const char *text = err->text[0] ? err->text : strerror(err->code);
	log_line(&b, "cresset: error: ", text, strlen(text));
	struct cur hint = cur_of(err->hint, strlen(err->hint));
	const char *line;
	size_t len;
	while (cur_line(&hint, &line, &len))
		log_line(&b, "  ", line, len);
	log_flush(&b);
}

void log_warn(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	log_say(LOG_NORMAL, "cresset: warning: ", fmt, ap);
	va_end(ap);
}

void log_info(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	log_say(LOG_NORMAL, "cresset: ", fmt, ap);
	va_end(ap);
}

void log_verbose(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	log_say(LOG_VERBOSE, "cresset: ", fmt, ap);
	va_end(ap);
}

void log_debug(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	log_say(LOG_DEBUG, "cresset: debug: ", fmt, ap);
	va_end(ap);
}
