/* profile/change/interval.h: confidence intervals for the difference of two sampled values.
 *
 * Samples are assumed to be independent of each other, so their number is Poisson distributed, and
 * a share of them binomially. Ticks at a fixed period vary less, so the intervals are too wide
 * rather than too narrow. They do not include variation between recordings for other reasons
 * (another load, another clock rate).
 *
 * For one value: score intervals, which stay valid for small counts and never go below 0.
 *
 *   count n        n + z²/2 ± z·√(n + z²/4)            Rao's score for a Poisson mean
 *   share p of n   (p + z²/2n ± z·√(p(1-p)/n + z²/4n²)) / (1 + z²/n)
 *                                                      E. B. Wilson, JASA 22 (1927) 209-212
 *
 * For a difference b - a, from the interval of each:
 *
 *   b - a - √((b - lowᵇ)² + (highᵃ - a)²)  to  b - a + √((highᵇ - b)² + (a - lowᵃ)²)
 *
 * R. G. Newcombe, Statistics in Medicine 17 (1998) 873-890, method 10; for any two intervals G. Y.
 * Zou and A. Donner, ibid. 27 (2008) 1693-1702.
 *
 * Samples of varying weight w are replaced by a number of equal ones with the same variance. A sum
 * Σw is a count of (Σw)²/Σw² samples that weigh Σw²/Σw each (A. J. Dobson et al.,
 * Statistics in Medicine 10 (1991) 457-462). A share p = Σ_part w / Σw has by the delta method
 * the variance ((1-p)²·Σ_part w² + p²·Σ_rest w²) / (Σw)², and is a share of
 * p(1-p)/variance samples (the effective sample size of L. Kish, Survey Sampling, 1965). Few
 * samples say little about their weights, so both sides are combined here: one weight, or one
 * effective size, that gives the sum of both variances. For large sums this becomes
 * ±z·√(variance + variance).
 *
 * NaN stands for unknown values, and for results computed from them. */
#ifndef CRESSET_PROFILE_CHANGE_INTERVAL_H
#define CRESSET_PROFILE_CHANGE_INTERVAL_H

struct interval {
	double low, high;
};

/* A sum of sampled values and of their squares. */
struct sampled {
	double sum, squares;
};

/* Returns the z that a standard normal variable exceeds with this probability, 0 < tail < 0.5: M.
 * Abramowitz and I. A. Stegun, Handbook of Mathematical Functions, 26.2.23, refined by Newton's
 * method with erfc(). */
double interval_z(double tail);

/* Returns the interval of b.sum - a.sum. weight_*: weight of every sample of that side; 0 if they
 * vary. */
struct interval interval_sums(struct sampled b, struct sampled a, double weight_b, double weight_a,
			      double z);

/* Returns the interval of part_b/whole_b - part_a/whole_a. n_*: number of samples of a whole if all
 * weigh the same, 0 if they vary. */
struct interval interval_shares(struct sampled part_b, struct sampled whole_b, double n_b,
				struct sampled part_a, struct sampled whole_a, double n_a,
				double z);

/* Returns the interval of b/a, both positive: b/a · exp(±z·√(Σ_b w²/b² + Σ_a w²/a²)), by
 * the delta method on logarithms. */
struct interval interval_ratio(struct sampled b, struct sampled a, double z);

/* The probability that a count grows as much as it did by chance alone. These are exact tests of
 * two counts of independent samples: unlike the intervals above they hold at any level and for any
 * counts, so they decide when many functions are compared at one time.
 *
 * Counts are rounded to whole samples. Both return P(newer count >= b) given the sum of both, if
 * nothing changed. A sum takes a few steps per standard deviation of the count; above
 * CHANCE_EXACT_SD the normal distribution is used: its tails are a few percent off there. */
enum { CHANCE_EXACT_SD = 1000 };

/* Two Poisson counts, of which the newer gets this share of the samples if nothing changed (its
 * part of the time): binomial. J. Przyborowski and H. Wilenski, Biometrika 31 (1940) 313-323. */
double chance_of_count(double b, double a, double share);

/* b of n_b and a of n_a: hypergeometric, R. A. Fisher's exact test (1935). */
double chance_of_share(double b, double n_b, double a, double n_a);

#endif
