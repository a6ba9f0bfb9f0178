/* Looks up an opcode in sass_table.c. */
#include "gpu/code/sass.h"

#include "base/search.h"

#include <stdio.h>

enum {
	OPCODE_BITS = 0xfff,
	UTC_MMA_SHARED = 0x5ea,
	UTC_MMA_TENSOR = 0x9ea,
	UTC_FIRST_SM = 100,
	UTC_LAST_SM = 103
};

/* One opcode (for each place of operand A) stands for five instructions, distinguished by bits 73,
 * 72 and 63: tcgen05.mma of kind f16, mxf4, i8, mxf8f6f4 and f8f6f4. */
static const char *tensor_mma(const uint64_t word[2])
{
	static const char *const names[8] = { "UTCHMMA", "UTCOMMA", "UTCIMMA", "UTCMXQMMA",
					      NULL,      NULL,      "UTCQMMA", NULL };
	return names[(word[1] >> 8 & 3) << 1 | word[0] >> 63];
}

const char *sass_mnemonic(unsigned sm, const uint64_t word[2])
{
	uint16_t opcode = word[0] & OPCODE_BITS;
	if ((opcode == UTC_MMA_SHARED || opcode == UTC_MMA_TENSOR) && sm >= UTC_FIRST_SM &&
	    sm <= UTC_LAST_SM)
		return tensor_mma(word);
	size_t at = search_first(i, 0, sass_row_count,
				 sass_rows[i].opcode > opcode || (sass_rows[i].opcode == opcode &&
								  sass_rows[i].last >= sm));
	if (at == sass_row_count || sass_rows[at].opcode != opcode || sass_rows[at].first > sm)
		return NULL;
	return sass_rows[at].name;
}

const char *sass_name(unsigned sm, const uint64_t word[2], char text[SASS_NAME_MAX])
{
	const char *name = sass_mnemonic(sm, word);
	if (name)
		return name;
	snprintf(text, SASS_NAME_MAX, "op 0x%03x", (unsigned)(word[0] & OPCODE_BITS));
	return text;
}
