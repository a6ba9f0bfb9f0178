/* profile/tree/time_range.h: the part of a sample that lies in a time range.
 *
 * A sample without a length is a moment: it counts entirely in the range that contains it. One
 * that covers time is cut to the range and counts in proportion: let c(x) = value · x ÷ length,
 * rounded towards 0, be its value up to x; then the part from a to b has the value c(b) − c(a).
 * So the parts in adjacent ranges add up to the whole exactly, for each sample and every sum of
 * samples. A part may have the value 0. */
#ifndef CRESSET_PROFILE_TREE_TIME_RANGE_H
#define CRESSET_PROFILE_TREE_TIME_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct profile;
struct tree_opts;
struct tree_samples;

struct sample_part {
	int64_t time_ns, length_ns; /* time_ns on the samples' clock */
	int64_t value;              /* in the type's unit */
};

/* Cuts a part to [from_ns, to_ns) on its own clock; INT64_MIN and INT64_MAX mean no bound. Returns
 * false, with *part untouched, if nothing of it is in the range. A negative length counts as
 * none. */
bool sample_part_cut(struct sample_part *part, int64_t from_ns, int64_t to_ns);

/* Cuts a row to tree_opts.time_from_ns and .time_to_ns. Returns false, with *out untouched, if
 * nothing of it is in the range. A negative length counts as none. */
bool sample_part_in(const struct profile *p, size_t row, const struct tree_opts *opts,
		    struct sample_part *out);

/* Sets the time axis for displaying these samples, since the start: the requested range, limited to
 * the end of the recording or the last sample, whichever is later. Never empty. */
void time_range_shown(const struct profile *p, const struct tree_opts *opts,
		      const struct tree_samples *samples, int64_t *from_ns, int64_t *to_ns);

/* Appends a range in the format of --time, exactly: "3.2s-4.25s". */
void time_range_text(struct buf *b, int64_t from_ns, int64_t to_ns);

/* c(x) above; 0 <= x <= length, length > 0. */
static inline int64_t sample_worth_up_to(int64_t value, int64_t length_ns, int64_t x_ns)
{
	return (int64_t)((__int128)value * x_ns / length_ns);
}

/* Returns the earliest time of samples and readings, on their clock; INT64_MAX if there are
 * none. */
int64_t profile_first_ns(const struct profile *p);

/* Whether any sample has a time. True for a profile without samples. */
bool profile_has_times(const struct profile *p);

#endif
