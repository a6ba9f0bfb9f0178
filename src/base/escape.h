/* base/escape.h: text from elsewhere, written so that it is harmless in the place it goes to.
 *
 * Each appends s (len bytes, any bytes) to b. What is not UTF-8 becomes U+FFFD, one for each byte; control characters (incl.
 * DEL and C1) become the place's escape or U+FFFD. At most max bytes of s are used, whole characters only: a "…" marks the
 * cut. The result is valid UTF-8 and at most 6 times as long as what was used. */
#ifndef CRESSET_BASE_ESCAPE_H
#define CRESSET_BASE_ESCAPE_H

#include "base/buf.h"

#include <stddef.h>

/* Valid UTF-8; control characters are kept. */
void esc_utf8(struct buf *b, const char *s, size_t len, size_t max);

/* XML 1.0 and HTML text and quoted attribute values. */
void esc_xml(struct buf *b, const char *s, size_t len, size_t max);

/* Inside JSON quotes; safe inside a <script> element, too (RFC 8259; HTML "script data" states). */
void esc_json(struct buf *b, const char *s, size_t len, size_t max);

/* One text field (RFC 4180), quoted when needed, always on one line. A = + - @ in front gets a ' before it, so that no
 * spreadsheet takes it for a formula: numbers must not come through here. */
void esc_csv(struct buf *b, const char *s, size_t len, size_t max);

/* One line of a terminal or a log: no control sequences, no line breaks, no bidi overrides. */
void esc_term(struct buf *b, const char *s, size_t len, size_t max);

#endif
