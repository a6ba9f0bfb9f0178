/* cmd/doctor/show_checks.h: results of checks as text and as JSON. */
#ifndef CRESSET_CMD_DOCTOR_SHOW_CHECKS_H
#define CRESSET_CMD_DOCTOR_SHOW_CHECKS_H

#include "collect/kernel/check.h"

#include <stddef.h>

struct buf;
struct json;
struct term;

/* "ok", "limited", "missing"; and as a mark before a line, two columns wide. */
const char *check_word(enum check_state state);
void term_check(struct buf *b, const struct term *term, enum check_state state);

/* Appends one line: mark, name, detail. */
void check_row(struct buf *b, const struct term *term, enum check_state state, const char *name,
	       const char *detail);
/* Appends a hint, line by line, except a line that names this command. */
void hint_text(struct buf *b, const char *indent, const char *hint);
/* Appends checks with their remedies. */
void checks_text(struct buf *b, const struct term *term, const struct check *checks, size_t n);
/* Appends checks [{name, state, detail, remedy}] to the current object. */
void checks_json(struct json *j, const struct check *checks, size_t n);

#endif
