/* format/common/value.h: formats values of a profile's unit for people. */
#ifndef CRESSET_FORMAT_COMMON_VALUE_H
#define CRESSET_FORMAT_COMMON_VALUE_H

#include <stdint.h>

struct buf;

/* The quantity that a unit measures. A value times scale is in base: "ns", "B" or, for counted
 * things, the unit itself. */
struct value_unit {
	const char *base;
	int64_t scale;
};
struct value_unit value_unit(const char *unit); /* base points into unit or at static text */

/* Appends "1,234 samples", "12.3 MB", "1.50 s"; a difference retains its sign. The word is the unit
 * unchanged, so escape the result. */
void value_fmt(struct buf *b, int64_t value, const char *unit);

/* Same, without the word after a count: "1,234", "12.3 MB". For columns. */
void value_fmt_bare(struct buf *b, int64_t value, const char *unit);

/* Returns 100 * part / whole, or 0 if whole is 0. */
double value_percent(double part, double whole);

/* Converts v, clamped to the range of int64_t. */
int64_t value_clamp(double v);

#endif
