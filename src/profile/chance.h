/* profile/chance.h: how probable it is that chance alone makes a count grow as much as it did. Exact
 * tests of two counts of independent samples: unlike the intervals of interval.h they hold at any
 * level and for any counts, so they are what decides when many functions are compared at once.
 *
 * Counts are rounded to whole samples. Both return P(newer count >= b) given the sum of both, when
 * nothing changed. A sum takes a few steps per standard deviation of the count; where that is above
 * CHANCE_EXACT_SD, the normal distribution is as good: its tails are a few percent off there. */
#ifndef CRESSET_PROFILE_CHANCE_H
#define CRESSET_PROFILE_CHANCE_H

enum { CHANCE_EXACT_SD = 1000 };

/* Two Poisson counts, of which the newer gets this share of the samples when nothing changed (its
 * part of the time): binomial. J. Przyborowski and H. Wilenski, Biometrika 31 (1940) 313-323. */
double chance_of_count(double b, double a, double share);

/* b of n_b and a of n_a: hypergeometric, R. A. Fisher's exact test (1935). */
double chance_of_share(double b, double n_b, double a, double n_a);

#endif
