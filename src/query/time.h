/* query/time.h: parses times as users write them.
 *
 *     2026-11-21T09:30:00Z   2026-11-21T10:30:00.250+01:00   RFC 3339; UTC without a zone
 *     2026-11-21 09:30   2026-11-21                          seconds or time of day left out
 *     1763717400   1763717400.5   1763717400000              Unix time in seconds; by its size
 *                                                            in ms, us or ns
 *     now   start   end                                      now; first and last time with data
 *     now-15m   start+10s   end-1h30m                        plus or minus a duration
 *                                                            (500ms 10s 15m 2h 7d) */
#ifndef CRESSET_QUERY_TIME_H
#define CRESSET_QUERY_TIME_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;

/* Unix time in ns. Finding the first and the last time is slow, so range is called for both when
 * one is needed; NULL: they are set. */
struct time_words {
	int64_t now_ns, start_ns, end_ns;
	void (*range)(void *ctx, int64_t *start_ns, int64_t *end_ns);
	void *ctx;
};

/* what: its source, for messages ("option --from"). -EINVAL: the message has the column, the hint
 * the text there. */
int time_parse(const char *text, const struct time_words *words, const char *what, int64_t *out_ns,
	       struct err *err);

/* Appends RFC 3339 in UTC, with as many fractional digits as needed: 2026-11-21T09:30:00.25Z. */
void time_text(struct buf *b, int64_t ns);

/* --- steps.c ---
 *
 * Sums of values over consecutive time steps.
 *
 * A value at one time counts in the step that contains it. A value that covers time is split over
 * the steps it covers (profile/tree/time_range.h), so they add up to its part on the axis. */

struct step_axis {
	int64_t from_ns, step_ns; /* step_ns > 0 */
	size_t n;
};

/* Returns the end of the last step, saturated at the maximum of int64_t. */
int64_t step_axis_end_ns(const struct step_axis *a);

/* Adds the value's share to each of sums[n]. */
void step_axis_add(const struct step_axis *a, int64_t time_ns, int64_t length_ns, int64_t value,
		   int64_t *sums);

#endif
