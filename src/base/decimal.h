/* base/decimal.h: decimal numbers in text, exactly. A double has 53 bits: of a time since 1970 in
 * microseconds it retains a quarter of one. */
#ifndef CRESSET_BASE_DECIMAL_H
#define CRESSET_BASE_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DECIMAL_ONE 1000000000000000000ll /* 10^18 */

/* The number times 10^18, |atto| <= DECIMAL_MOST: larger numbers are clamped, further decimals cut
 * off. */
struct decimal {
	__int128 atto;
};
#define DECIMAL_MOST ((__int128)INT64_MAX * DECIMAL_ONE)

/* Reads a number with optional sign, point and exponent: 12, -1.5, .5, 12., 6e-3. Returns false if
 * text is anything else; *out is then untouched. */
bool decimal_parse(const char *text, size_t len, struct decimal *out);

/* Sets *out to the number times ten to the power of `shift`, as a whole number: halves are rounded
 * away from zero, larger numbers clamped to int64_t. Faster than decimal_parse. *is_whole: nothing
 * was rounded or clamped; may be NULL. Returns false as decimal_parse. */
bool decimal_parse_shifted(const char *text, size_t len, unsigned shift, int64_t *out,
			   bool *is_whole);

/* Sum, clamped. */
struct decimal decimal_add(struct decimal a, struct decimal b);
struct decimal decimal_sub(struct decimal a, struct decimal b);

/* Returns d * factor as a whole number, halves rounded away from zero, clamped to int64_t;
 * factor > 0. */
int64_t decimal_times(struct decimal d, int64_t factor);

static inline struct decimal decimal_of(int64_t whole)
{
	return (struct decimal){ (__int128)whole * DECIMAL_ONE };
}

/* The part of d behind the point, in units of 10^-18, with the sign of d. */
static inline int64_t decimal_part(struct decimal d)
{
	return (int64_t)(d.atto % DECIMAL_ONE);
}

#endif
