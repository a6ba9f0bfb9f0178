/* profile/interval.h: how far the difference of two sampled values can be off by chance.
 *
 * Samples are taken to fall independently of each other, so that their number is Poisson
 * distributed, and a share of them binomially. Ticks at a fixed period scatter less than that, so
 * the intervals are rather too wide than too narrow. What varies for other reasons from one
 * recording to the next (another load, another clock rate) is in none of them.
 *
 * Of one value: score intervals, which stay right for small counts and never go below 0.
 *
 *   count n        n + z²/2 ± z·√(n + z²/4)            Rao's score for a Poisson mean
 *   share p of n   (p + z²/2n ± z·√(p(1-p)/n + z²/4n²)) / (1 + z²/n)
 *                                                      E. B. Wilson, JASA 22 (1927) 209-212
 *
 * Of a difference b - a, from the interval of each:
 *
 *   b - a - √((b - lowᵇ)² + (highᵃ - a)²)  to  b - a + √((highᵇ - b)² + (a - lowᵃ)²)
 *
 * R. G. Newcombe, Statistics in Medicine 17 (1998) 873-890, method 10; for any two intervals G. Y.
 * Zou and A. Donner, ibid. 27 (2008) 1693-1702.
 *
 * Samples of varying weight w count as so many equal ones as scatter alike. A sum Σw is a count of
 * (Σw)²/Σw² samples that weigh Σw²/Σw each (A. J. Dobson et al., Statistics in Medicine 10 (1991)
 * 457-462). A share p = Σ_part w / Σw has by the delta method the variance ((1-p)²·Σ_part w² +
 * p²·Σ_rest w²) / (Σw)², and is a share of p(1-p)/variance samples (the effective sample size of L.
 * Kish, Survey Sampling, 1965). Few samples tell little of their weights, so both sides are taken
 * together here: one weight, or one effective size, that gives the sum of both variances. For large
 * sums all that is ±z·√(variance + variance).
 *
 * NaN is what is not known, and what comes of it. */
#ifndef CRESSET_PROFILE_INTERVAL_H
#define CRESSET_PROFILE_INTERVAL_H

struct interval {
	double low, high;
};

/* A sum of sampled values and of their squares. */
struct sampled {
	double sum, squares;
};

/* The z that a standard normal number exceeds with this probability, 0 < tail < 0.5: M. Abramowitz
 * and I. A. Stegun, Handbook of Mathematical Functions, 26.2.23, refined by Newton's method with
 * erfc(). */
double interval_z(double tail);

/* Of b.sum - a.sum. weight_*: what every sample of that side weighs; 0 where they vary. */
struct interval interval_sums(struct sampled b, struct sampled a, double weight_b, double weight_a,
			      double z);

/* Of the share that part_b is of whole_b minus the same of a. n_*: the samples of a whole when all
 * weigh the same, 0 where they vary. */
struct interval interval_shares(struct sampled part_b, struct sampled whole_b, double n_b,
				struct sampled part_a, struct sampled whole_a, double n_a,
				double z);

/* Of b/a, both positive: b/a · exp(±z·√(Σ_b w²/b² + Σ_a w²/a²)), the delta method on logarithms. */
struct interval interval_ratio(struct sampled b, struct sampled a, double z);

#endif
