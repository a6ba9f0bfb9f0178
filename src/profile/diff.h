/* profile/diff.h: what changed between two profiles, function by function, and how sure that is.
 *
 * Each function's self and total value is compared under one of three norms:
 *
 *     share  its part of the side's total, in percent; changes are in percentage points
 *     rate   per second of recorded time
 *     abs    as it is
 *
 * Where the sides' samples stand for different periods, values are first brought to the period's
 * unit. Growth is the change in percent of the whole older side, so that one threshold fits large
 * and small functions: for shares these are the points.
 *
 * A change is CHANGE_CHANCE when its interval (profile/interval.h) contains 0. With many functions
 * some are outside by chance; CHANGE_SURE are those that an exact test (profile/chance.h) finds at
 * a level divided by the number of all comparisons (Bonferroni): when nothing changed, the
 * probability that there is any such change is below 1 - confidence. Samples of varying weight have
 * no exact test: there it is the interval at that level. */
#ifndef CRESSET_PROFILE_DIFF_H
#define CRESSET_PROFILE_DIFF_H

#include "profile/interval.h"
#include "profile/tree.h"

enum diff_norm { DIFF_SHARE, DIFF_RATE, DIFF_ABS, DIFF_NORMS };
extern const char *const diff_norm_names[DIFF_NORMS]; /* "share", "rate", "abs" */

enum diff_certainty {
	CHANGE_UNKNOWN, /* nobody knows of how many samples the values are */
	CHANGE_CHANCE,
	CHANGE_LIKELY, /* its own interval is on one side of 0 */
	CHANGE_SURE,   /* also as one of many */
};
struct diff_change {
	double older, newer, change; /* under the norm */
	double growth;               /* in percent of the older whole; infinite when that is 0 */
	struct interval interval;    /* of the change; NaN: not known */
	enum diff_certainty certainty;
};
struct diff_row {
	uint32_t func;                                            /* of diff.names */
	int64_t older_self, newer_self, older_total, newer_total; /* in the sides' own units */
	struct diff_change self, total;
};
struct diff {
	enum diff_norm norm;
	double confidence;
	/* Of values under the norm: "samples", "nanoseconds"; of shares: "%". Owned by names. */
	const char *unit;
	struct tree *names;        /* has the functions of both sides */
	VEC(struct diff_row) rows; /* by |change| of self, then of total, then name */
	struct diff_change whole;  /* under rate where durations are known, but for abs */
	enum diff_norm whole_norm; /* DIFF_RATE or DIFF_ABS */
	const char *whole_unit;
	struct interval whole_ratio; /* of newer / older */
	uint32_t n_compared;         /* self values, total values and the whole */
	uint32_t n_self;             /* functions with self values */
	/* One side says how much a sample stands for, the other does not: rate and abs take both for
	 * alike. */
	bool period_missing;
};

struct diff_opts {
	enum diff_norm norm;
	double confidence; /* 0 … 1, both excluded */
};
/* A side: its tree, built with with_spread, and how much time was recorded, 0 = unknown. */
struct diff_side {
	const struct tree *tree;
	double seconds;
};

/* -EINVAL with words when values of the two sides have different units, or when a rate is asked for
 * without a duration. To be freed with diff_free. */
int diff_build(struct diff_side newer, struct diff_side older, const struct diff_opts *opts,
	       struct diff **out, struct err *err);
/* -EINVAL with words when values of the two trees have different units. */
int diff_check_units(const struct tree *newer, const struct tree *older, struct err *err);
void diff_free(struct diff *d);

#endif
