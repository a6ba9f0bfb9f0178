/* tui/function_sums.h: self and total of every function that is looked at: what profile/top.h says of the tree of the same, without making the tree.
 * A picture each second has to be cheap: samples are added up by stack, and each stack's functions get its sum. */
#ifndef CRESSET_TUI_FUNCTION_SUMS_H
#define CRESSET_TUI_FUNCTION_SUMS_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "tui/look.h"

struct function_sum {
	const char *name, *binary, *file; /* the source's */
	uint8_t kind;                     /* enum frame_kind */
	int64_t self, total;              /* in the type's unit, as in trees */
	uint64_t place;                   /* its dictionary and number there */
	uint32_t seen;                    /* in the stack at hand: its number + 1 */
};
struct function_sums {                /* zeroed = empty */
	VEC(struct function_sum) all; /* in no order */
	/* Those with any value: greatest self first, then total, then as dictionaries have them. */
	VEC(uint32_t) order; /* in all */
	int64_t total;
	char unit[32];
	struct arena arena;
	struct function_room *room; /* memory that the next one uses again */
};

/* Anew; what it was before is gone. out is to be done in any case. */
int function_sums_make(struct function_sums *out, const struct look *l, struct err *err);
/* Nothing is in it, but its memory is kept. */
void function_sums_clear(struct function_sums *f);
void function_sums_done(struct function_sums *f);

#endif
