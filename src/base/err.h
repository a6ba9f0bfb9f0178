/* base/err.h: error messages.
 *
 * Functions return 0 or -errno; the message goes into an optional struct err, filled in where the
 * cause is known. Callers may prepend context (err_prefix) but never replace the message. A zeroed
 * struct err is empty. */
#ifndef CRESSET_BASE_ERR_H
#define CRESSET_BASE_ERR_H

#include <stdarg.h>

struct err {
	int code;       /* positive errno, 0 = no error */
	char text[512]; /* one line (newlines become blanks), truncated with "…" */
	char hint[512]; /* what the user can do: up to three lines separated by \n, may be empty */
};

/* Sets code (0 is replaced by EIO) and text and clears the hint; err may be NULL. Returns -code,
 * for `return err_set(…)`. */
int err_set(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Prepends "context: " to the text. Returns -err->code, or -EIO if err is NULL: return your own
 * code where that may happen. */
int err_prefix(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Sets the lines printed below the error. Returns like err_prefix. */
int err_hint(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
