/* format/callgrind_numbers.h: the numbers of a callgrind file's lines.
 *
 *     +3 * 20 0x7              positions, then costs; missing costs are 0, and so is "."
 *
 * Positions are passed over. Some writers have costs relative to the line before, as positions may
 * be: "*" and "+5" cannot mean anything else; "-5" does only once these were seen, since others
 * write what is below zero (memory that was given back). */
#ifndef CRESSET_FORMAT_CALLGRIND_NUMBERS_H
#define CRESSET_FORMAT_CALLGRIND_NUMBERS_H

#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct callgrind_numbers {
	uint32_t n_positions;
	VEC(int64_t) costs; /* as many as there are types; of the last line */
	bool is_relative;   /* such costs were seen */
};

static inline bool callgrind_is_blank(char c)
{
	return c == ' ' || c == '\t';
}
const char *callgrind_skip_blanks(const char *s, const char *end);

/* Decimal or 0x…; what is beyond 2^63 - 1 counts as that. Returns what is behind it, NULL when there
 * is no number. */
const char *callgrind_number(const char *s, const char *end, int64_t *out);

/* Reads a line into c->costs; false when it is none. */
bool callgrind_numbers_read(struct callgrind_numbers *c, const char *s, const char *end);

#endif
