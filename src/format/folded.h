/* format/folded.h: folded ("collapsed") stacks: one line per stack, "root;…;leaf 12".
 *
 * Read: lines with an integer or decimal (rounded) behind the last blank; CRLF is fine; empty lines
 * and lines that begin with '#' are comments; every other line is skipped and counted. Frames are
 * known by name; a suffix _[k] _[j] _[i] _[0] _[1] _[G] _[g] is taken off and gives the kind. Where
 * the first 64 KiB have frames as async-profiler spells them, _[i] is an inlined frame of compiled
 * code; elsewhere it is an interpreted one. Leaves may be marked _[c] (on the CPU) and _[o] (waiting):
 * the marks are taken off, and a stack that waits without saying so (profile/state.h) ends in
 * [off-CPU] then. Where at least half of the stacks say what they were doing, these tell the type:
 * see folded_type(). Equal stacks fall together: memory goes with the distinct stacks, not with the lines.
 *
 * Written: the tree of one type, depth first and sorted by name. In names ';' becomes ':', line
 * breaks and tabs ' ', other control characters and bytes that are no UTF-8 '?', as does a '#' at
 * the start of a line. The stack without frames is "[empty]". A difference has two values, the older
 * one first, as difffolded.pl of FlameGraph writes and its flamegraph.pl reads them. */
#ifndef CRESSET_FORMAT_FOLDED_H
#define CRESSET_FORMAT_FOLDED_H

#include "format/format.h"

extern const struct format format_folded;

bool folded_detect(const char *head, size_t len);
int folded_read(struct input *in, struct sink *sink, struct err *err);
int folded_write(struct profile *p, const struct format_write_opts *opts, struct out *out,
		 struct err *err);

/* The tree that is there already. Its siblings are sorted by name. */
int folded_write_tree(struct tree *t, const struct format_write_opts *opts, struct out *out,
		      struct err *err);

#endif
