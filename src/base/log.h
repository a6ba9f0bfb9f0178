/* base/log.h: messages to standard error: "cresset: warning: …". Library code never calls this;
 * cmd/, agent/, server/ and tui/ do. Only this file has file-scope variables outside cmd/. Each
 * message is one line, truncated at 4 KiB. Control characters and bidi overrides are replaced, so
 * untrusted names may be printed. */
#ifndef CRESSET_BASE_LOG_H
#define CRESSET_BASE_LOG_H

struct err;

enum log_level { LOG_QUIET = 0, LOG_NORMAL = 1, LOG_VERBOSE = 2, LOG_DEBUG = 3 };

void log_set_level(enum log_level level);
enum log_level log_level(void);

/* For a process that must not stand still: a message waits this long for space in a pipe or socket,
 * then it is dropped. The next one reports how many were. Processes forked later inherit
 * it. */
void log_set_wait_ms(int ms);

/* Always printed; the lines of the hint are indented below. */
void log_error(const struct err *err);

void log_warning(const struct err *err); /* as a warning: not with -q */

void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));    /* not with -q */
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));    /* not with -q */
void log_verbose(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* with -v */
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));   /* with -vv */

/* Prints a text of any length, each line indented, with one write. */
void log_lines(enum log_level needed, const char *text);

#endif
