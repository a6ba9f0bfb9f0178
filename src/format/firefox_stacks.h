/* format/firefox_stacks.h: from the tables of a thread to the sink's frames and stacks. Only the reader uses it. */
#ifndef CRESSET_FORMAT_FIREFOX_STACKS_H
#define CRESSET_FORMAT_FIREFOX_STACKS_H

#include "format/firefox_tables.h"
#include "format/stack_tree.h"
#include "profile/sink.h"
#include "profile/strtab.h"

/* A loaded library. Addresses are those of the process, in Gecko's format only. */
struct fx_lib {
	uint64_t start, end;
	uint32_t name;  /* in the reader's strtab */
	uint32_t order; /* in the file */
};

/* What frames are made of. Strings and sources that a thread has not are the shared ones. */
struct fx_stacks {
	const struct fx_tables *own, *shared;
	const struct fx_lib *libs; /* by start, then in the file's order */
	size_t n_libs;
	const uint8_t *kinds; /* by category: enum frame_kind, FRAME_KINDS where it tells nothing */
	size_t n_kinds;
	const struct strtab *texts;
	struct sink *sink;
	struct map frames; /* row of the frame table → the sink's frame */
	struct stack_tree tree;
	bool planted;
};

/* The sink's stack of a row of the stack table, as stack_tree_stack gives it. */
uint32_t fx_stack(struct fx_stacks *s, int32_t row);
void fx_stacks_done(struct fx_stacks *s);

#endif
