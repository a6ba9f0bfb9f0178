/* format/value.h: values of a profile's unit, as people read them. */
#ifndef CRESSET_FORMAT_VALUE_H
#define CRESSET_FORMAT_VALUE_H

#include "base/buf.h"

#include <stdint.h>

/* What kind of quantity a unit measures. base is what the value times scale counts: "ns", "B" or, for things that are
 * counted, the unit itself. */
struct value_unit {
	const char *base;
	int64_t scale;
};
struct value_unit value_unit(const char *unit); /* base points into unit or at static text */

/* Appends "1,234 samples", "12.3 MB", "1.50 s"; a difference has its sign. The word is the unit as it is: escape the result. */
void value_fmt(struct buf *b, int64_t value, const char *unit);

/* The same without the word behind a count: "1,234", "12.3 MB". For columns. */
void value_fmt_bare(struct buf *b, int64_t value, const char *unit);

/* 100 * part / whole; 0 when whole is 0. */
double value_percent(double part, double whole);

/* v as a value, at the ends of int64_t where it is beyond them. */
int64_t value_clamp(double v);

#endif
