/* format/otlp_frames.h: locations of an OTLP message become frames, and its stacks those of the sink. */
#ifndef CRESSET_FORMAT_OTLP_FRAMES_H
#define CRESSET_FORMAT_OTLP_FRAMES_H

#include "format/otlp_tables.h"

enum { OTLP_STACK_USED = UINT32_MAX - 1 };

/* A sample has this stack. The tables are loaded. */
static inline void otlp_use_stack(struct otlp_tables *t, uint64_t index)
{
	struct otlp_entries *e = &t->of[TABLE_STACK];
	if (index < e->ids.n && !otlp_stack_is_known(t, index))
		e->ids.v[index] = OTLP_STACK_USED;
}

/* There is no sample: what the dictionary says is news of its own, names that came late. */
static inline void otlp_use_all_stacks(struct otlp_tables *t)
{
	for (size_t i = 0; i < t->of[TABLE_STACK].ids.n; i++)
		otlp_use_stack(t, i);
}

/* Gives the stacks that are used to the sink: of[TABLE_STACK].ids. */
void otlp_load_stacks(struct otlp_tables *t);

#endif
