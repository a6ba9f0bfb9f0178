/* Formats a line with its level, and writes it to standard error. */
#include "base/log.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/escape.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Longer messages are truncated: a name in them may be a megabyte. */
enum { LOG_MAX_BYTES = 4096 };

static enum log_level level_now = LOG_NORMAL;
static int wait_ms = -1; /* -1: as long as it takes */
static _Atomic unsigned dropped;
static _Atomic pid_t dropped_by; /* the process that counted them: a fork copies the count */

void log_set_level(enum log_level level)
{
	level_now = level;
}

enum log_level log_level(void)
{
	return level_now;
}

void log_set_wait_ms(int ms)
{
	wait_ms = ms;
}

/* A pipe that can be written to has space for PIPE_BUF bytes. A signal may end the wait: then the
 * pipe is still full. */
static bool has_space(int ms)
{
	struct pollfd p = { .fd = STDERR_FILENO, .events = POLLOUT };

	return poll(&p, 1, ms) > 0;
}

static size_t piece_of(size_t left)
{
	return wait_ms >= 0 && left > PIPE_BUF ? PIPE_BUF : left;
}

/* One write per message, so that messages of several processes do not mix. Returns false if it was
 * full. */
static bool put(const char *text, size_t len)
{
	for (size_t done = 0; done < len;) {
		if (wait_ms >= 0 && !has_space(wait_ms))
			return false;
		ssize_t n = write(STDERR_FILENO, text + done, piece_of(len - done));
		if (n < 0 && errno == EAGAIN) { /* another process has set O_NONBLOCK */
			if (wait_ms >= 0)
				return false;
			has_space(wait_ms);
			continue;
		}
		if (n < 0 && errno != EINTR)
			break;
		done += n > 0 ? n : 0;
	}
	return true;
}

static void count_dropped(unsigned n)
{
	atomic_store(&dropped_by, getpid());
	atomic_fetch_add(&dropped, n);
}

/* Later messages do not wait as well: each of many would wait in turn. */
static void tell_dropped(void)
{
	char text[96];
	if (atomic_load(&dropped_by) != getpid())
		atomic_store(&dropped, 0); /* the process that forked this one reports them */
	unsigned n = has_space(0) ? atomic_exchange(&dropped, 0) : 0;
	int len = snprintf(text, sizeof text,
			   "cresset: warning: %u messages were dropped: standard error was full\n",
			   n);

	if (n && !put(text, len))
		count_dropped(n);
}

static void log_flush(struct buf *b)
{
	if (atomic_load(&dropped))
		tell_dropped();
	if (atomic_load(&dropped) || !put(b->data, b->len))
		count_dropped(1);
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

static void add_lines(struct buf *b, const char *text)
{
	struct cur c = cur_of(text, strlen(text));
	const char *line;
	size_t len;
	while (cur_line(&c, &line, &len))
		log_line(b, "  ", line, len);
}

static void log_err(const char *prefix, const struct err *err)
{
	struct buf b = { 0 };
	const char *text = err->text[0] ? err->text : strerror(err->code);
	log_line(&b, prefix, text, strlen(text));
	add_lines(&b, err->hint);
	log_flush(&b);
}

void log_error(const struct err *err)
{
	log_err("cresset: error: ", err);
}

void log_warning(const struct err *err)
{
	if (level_now >= LOG_NORMAL)
		log_err("cresset: warning: ", err);
}

void log_lines(enum log_level needed, const char *text)
{
	struct buf b = { 0 };
	if (level_now < needed)
		return;
	add_lines(&b, text);
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
