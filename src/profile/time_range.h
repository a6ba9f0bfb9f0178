/* profile/time_range.h: the part of a sample that lies in a range of time.
 *
 * A sample without a length is a moment: it is in the range that holds it, whole. One that covers time is cut to the range and is
 * worth the share of it: with c(x) = value · x ÷ length, rounded towards 0, as what it is worth up to x, the part from a to b is worth
 * c(b) − c(a). So the parts of ranges that follow each other add up to the whole, to the last nanosecond, for each sample and for
 * every sum of samples. A part may be worth 0. */
#ifndef CRESSET_PROFILE_TIME_RANGE_H
#define CRESSET_PROFILE_TIME_RANGE_H

#include "base/buf.h"
#include "profile/profile.h"
#include "profile/tree.h"

struct sample_part {
	int64_t time_ns, length_ns; /* time_ns on the samples' clock */
	int64_t value;              /* in the type's unit */
};

/* Cuts a part to [from_ns, to_ns) of its own clock; INT64_MIN and INT64_MAX are no bounds. False when nothing of it is in the range;
 * *part is then untouched. A negative length counts as none. */
bool sample_part_cut(struct sample_part *part, int64_t from_ns, int64_t to_ns);

/* Cuts a row to tree_opts.time_from_ns and .time_to_ns. False when nothing of it is in the range; *out is then untouched. A
 * negative length counts as none. */
bool sample_part_in(const struct profile *p, size_t row, const struct tree_opts *opts,
		    struct sample_part *out);

/* The axis of a picture of these samples, since the start: the range asked for, but not beyond the recording or, where that is later,
 * the last sample. Never empty. */
void time_range_shown(const struct profile *p, const struct tree_opts *opts,
		      const struct tree_samples *samples, int64_t *from_ns, int64_t *to_ns);

/* Appends a range as --time takes it, exactly: "3.2s-4.25s". */
void time_range_text(struct buf *b, int64_t from_ns, int64_t to_ns);

/* c(x) above; 0 <= x <= length, length > 0. */
static inline int64_t sample_worth_up_to(int64_t value, int64_t length_ns, int64_t x_ns)
{
	return (int64_t)((__int128)value * x_ns / length_ns);
}

/* The earliest time there is of samples and readings, on their clock; INT64_MAX: there are none. */
int64_t profile_first_ns(const struct profile *p);

/* Whether any sample has a time. A profile without samples has nothing that lacks one. */
bool profile_has_times(const struct profile *p);

#endif
