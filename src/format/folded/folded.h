/* format/folded/folded.h: folded ("collapsed") stacks: one line per stack, "root;…;leaf 12".
 *
 * Reading: a line is a stack, a blank and an integer or a decimal. Decimals are added up exactly;
 * sums with a fraction are rounded or scaled: see folded_scaled_form(). If all lines have two
 * values, the file is a difference (profile/change/signed.h). CRLF is accepted. An empty name is
 * "[unknown]"; a ';' before the value adds no frame (heaptrack_print -F, where "function (file)" is
 * a function and its source).
 * Empty lines and lines that begin with '#' are comments; any other line is skipped and counted.
 * Frames are known by name. A suffix _[k] _[j] _[i] _[0] _[1] _[G] _[g] is removed and gives the
 * kind. If the first 64 KiB contain frames in async-profiler's spelling, _[i] is an inlined frame
 * of compiled code; elsewhere it is an interpreted one. Leaves may be marked _[c] (on the CPU) and
 * _[o] (waiting). The marks are removed, and a waiting stack without a marker (profile/state.h)
 * gets the leaf [off-CPU]. If at least half of the stacks have a state, the states determine the
 * type: see folded_type(). Equal stacks are merged: memory grows with the number of distinct
 * stacks, not of lines.
 *
 * Writing: the tree of one type, depth first and sorted by name. In names ';' becomes ':', line
 * breaks and tabs become ' ', other control characters and invalid UTF-8 become '?', as does '#' at
 * the start of a line. If all leaves end in a blank and a number, as if each line had two values,
 * that blank becomes '_'. The empty stack is "[empty]". A difference has two values, the older one
 * first, as written by difffolded.pl of FlameGraph and read by its flamegraph.pl. */
#ifndef CRESSET_FORMAT_FOLDED_FOLDED_H
#define CRESSET_FORMAT_FOLDED_FOLDED_H

#include "base/decimal.h"
#include "format/common/format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct input;
struct out;
struct profile;
struct sink;

extern const struct format format_folded, format_uftrace;

bool folded_detect(const char *head, size_t len);
bool folded_detect_maybe(const char *head, size_t len);
int folded_read(struct input *in, struct sink *sink, struct err *err);
/* Same for a file known to have microseconds of wall time. */
int folded_read_wall_us(struct input *in, struct sink *sink, struct err *err);
int folded_write(struct profile *p, const struct format_write_opts *opts, struct out *out,
		 struct err *err);

/* Writes an existing tree and sorts its siblings by name. */
int folded_write_tree(struct tree *t, const struct format_write_opts *opts, struct out *out,
		      struct err *err);

/* --- folded_value.c: the values at the end of a line, for the other files of the format --- */

/* whole + part * 10^-18, 0 <= part < 10^18 */
struct folded_value {
	int64_t whole;
	int64_t part;
};

/* Splits "stack value": an integer or a decimal, with a sign, an exponent, or commas between
 * groups of three digits. Returns false if the line does not have that form. */
bool folded_split(const char *line, size_t len, size_t *stack_len, struct folded_value *value);

/* Splits "stack older newer". */
bool folded_split_diff(const char *line, size_t len, size_t *stack_len, struct folded_value *older,
		       struct folded_value *newer);

/* The unit of counts with fractions. */
struct folded_scale {
	int64_t factor;
	const char *unit;
};
/* Counts are rounded; but if the smallest one would vanish, all are in millionths, or in smaller
 * fractions as long as the sum of all fits. */
const struct folded_scale *folded_scale_of(struct decimal smallest, struct decimal all);

#endif
