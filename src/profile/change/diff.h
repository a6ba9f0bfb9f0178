/* profile/change/diff.h: compares two profiles function by function, with the certainty of each
 * change.
 *
 * profile/tree/tree_match.h decides which functions are the same. Each function's self and total
 * value is compared under one of three norms:
 *
 *     share  its part of the side's total, in percent; changes are in percentage points
 *     rate   per second of recorded time
 *     abs    the value itself
 *
 * If the sides' samples stand for different periods, values are first converted to the period's
 * unit. Growth is the change in percent of the whole older side, so one threshold fits large and
 * small functions; for shares it equals the percentage points.
 *
 * A change is CHANGE_CHANCE if its interval (profile/change/interval.h) contains 0. With many
 * functions, some intervals exclude 0 by chance. A change is CHANGE_SURE if an exact test
 * (chance_of_count, chance_of_share) finds it at a level divided by the number of all comparisons
 * (Bonferroni): if nothing changed, the probability of any such change is below 1 - confidence.
 * For samples of varying weight there is no exact test, so the interval at that level decides. */
#ifndef CRESSET_PROFILE_CHANGE_DIFF_H
#define CRESSET_PROFILE_CHANGE_DIFF_H

#include "base/vec.h"
#include "profile/change/interval.h"
#include "profile/tree/tree.h"
#include "profile/tree/tree_match.h"

#include <stdbool.h>
#include <stdint.h>

struct err;

enum diff_norm { DIFF_SHARE, DIFF_RATE, DIFF_ABS, DIFF_NORMS };
extern const char *const diff_norm_names[DIFF_NORMS]; /* "share", "rate", "abs" */

enum diff_certainty {
	CHANGE_UNKNOWN, /* the values' number of samples is unknown */
	CHANGE_CHANCE,
	CHANGE_LIKELY, /* its interval excludes 0 */
	CHANGE_SURE,   /* also after correction for many comparisons */
};
struct diff_change {
	double older, newer, change; /* under the norm */
	double growth;               /* in percent of the older whole; infinite if that is 0 */
	struct interval interval;    /* of the change; NaN: unknown */
	enum diff_certainty certainty;
};
struct diff_row {
	uint32_t func;        /* of diff.names */
	uint32_t older_func;  /* what the older side calls it; TREE_NONE: it does not have it */
	enum match_how match; /* how both are known to be the same (profile/tree/tree_match.h) */
	int64_t older_self, newer_self, older_total, newer_total; /* in the sides' own units */
	struct diff_change self, total;
};
struct diff {
	enum diff_norm norm;
	double confidence;
	/* Unit of values under the norm: "samples", "nanoseconds"; of shares: "%". Owned by
	 * names. */
	const char *unit;
	struct tree *names;        /* has the functions of both sides */
	VEC(struct diff_row) rows; /* by |change| of self, then of total, then name */
	struct diff_change whole;  /* under rate if durations are known, except for abs */
	enum diff_norm whole_norm; /* DIFF_RATE or DIFF_ABS */
	const char *whole_unit;
	struct interval whole_ratio; /* of newer / older */
	uint32_t n_compared;         /* self values, total values and the whole */
	uint32_t n_self;             /* functions with self values */
	/* Only one side has a period: rate and abs treat both as equal. */
	bool period_missing;
};

struct diff_opts {
	enum diff_norm norm;
	double confidence; /* 0 … 1, exclusive */
	bool is_strict;    /* functions are the same only if name, kind, file and binary are */
};
/* A side: its tree, built with with_spread, and the recorded time, 0 = unknown. */
struct diff_side {
	const struct tree *tree;
	double seconds;
};

/* Compares two sides; free *out with diff_free. Returns -EINVAL with err set if values of the two
 * sides have different units, or if a rate is requested without a duration. */
int diff_build(struct diff_side newer, struct diff_side older, const struct diff_opts *opts,
	       struct diff **out, struct err *err);
/* Returns -EINVAL with err set if values of the two trees have different units. */
int diff_check_units(const struct tree *newer, const struct tree *older, struct err *err);
void diff_free(struct diff *d);

/* --- parts of samples that a recording did not see ---
 *
 * Callers above a stack that was cut ("[truncated: …]"), and functions without a name or a binary
 * ("[unknown]"). How much it is depends on the machine's load and on how early a process was
 * sampled, not on the program. */

struct unseen_part {
	int64_t value;
	struct tree_spread spread;
};
struct unseen {
	struct unseen_part self;  /* samples of unknown functions */
	struct unseen_part total; /* samples with unknown callers */
};

/* Whether this is not a function, but states that none is known. */
bool unseen_func(const struct tree *t, const struct tree_func *f);

/* t was built with_spread. */
struct unseen unseen_of(const struct tree *t);

#endif
