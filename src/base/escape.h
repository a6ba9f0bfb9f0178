/* base/escape.h: escapes untrusted text for each output format.
 *
 * Each function appends s (len bytes, any bytes) to b. Invalid UTF-8 becomes U+FFFD, one per byte;
 * control characters (incl. DEL and C1) become the format's escape or U+FFFD. At most max bytes of
 * s are used, whole characters only; a "…" marks the truncation. The result is valid UTF-8 and
 * at most 6 times as long as the bytes used. */
#ifndef CRESSET_BASE_ESCAPE_H
#define CRESSET_BASE_ESCAPE_H

#include <stddef.h>

struct buf;

/* Valid UTF-8; control characters are retained. */
void esc_utf8(struct buf *b, const char *s, size_t len, size_t max);

/* XML 1.0 and HTML text and quoted attribute values. */
void esc_xml(struct buf *b, const char *s, size_t len, size_t max);

/* Inside JSON quotes; safe inside a <script> element, too (RFC 8259; HTML "script data" states). */
void esc_json(struct buf *b, const char *s, size_t len, size_t max);

/* One text field (RFC 4180), quoted when needed, always on one line. A leading = + - @ gets a '
 * before it, so that no spreadsheet takes it for a formula: do not use this for numbers. */
void esc_csv(struct buf *b, const char *s, size_t len, size_t max);

/* One line of a terminal or a log: no control sequences, no line breaks, no bidi overrides. */
void esc_term(struct buf *b, const char *s, size_t len, size_t max);

/* Any bytes as text (RFC 4648, section 4, with padding, without line breaks): appends 4 characters
 * for each 3 bytes. A text may be written in pieces whose lengths are multiples of 3. */
void base64_put(struct buf *b, const void *data, size_t len);

#endif
