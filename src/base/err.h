/* base/err.h: why something failed, in words.
 *
 * Functions return 0 or -errno; the words go into an optional struct err, filled in the one place where the cause is
 * known. Callers further up may put context in front (err_prefix), never replace it. A zeroed struct err is empty. */
#ifndef CRESSET_BASE_ERR_H
#define CRESSET_BASE_ERR_H

#include <stdarg.h>

struct err {
	int code;       /* positive errno, 0 = no error */
	char text[512]; /* one line (\n becomes a blank), cut with "…" when longer */
	char hint[512]; /* what the user can do: up to three lines separated by \n, may be empty */
};

/* Sets code (0 counts as EIO: an error is an error) and text and clears the hint; err may be NULL. Returns -code, so that
 * `return err_set(…)` reads well. */
int err_set(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Puts "context: " in front of the text. Returns -err->code; where err may be NULL, which gives -EIO, return your own code. */
int err_prefix(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Sets the lines printed below the error. Returns like err_prefix. */
int err_hint(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
