// tier: test
/* Intervals and exact tests: published examples, and how often they are right, summed over all outcomes if possible, else sampled. */
#include "rand.h"
#include "unit.h"

#include "profile/change/interval.h"

#include <math.h>

#define Z95 1.959963984540054

START_TEST(normal_quantiles)
{
	/* Python's statistics.NormalDist().inv_cdf(1 - tail), Wichura's AS 241. */
	const double known[][2] = { { 0.25, 0.6744897501960817 },   { 0.1, 1.2815515655446004 },
				    { 0.025, 1.959963984540054 },   { 0.005, 2.5758293035489004 },
				    { 0.0005, 3.2905267314919255 }, { 1e-6, 4.753424308822899 } };
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		ck_assert_double_eq_tol(interval_z(known[i][0]), known[i][1], 1e-12);
	for (double tail = 0.49; tail > 1e-300; tail *= 0.1)
		ck_assert_double_eq_tol(erfc(interval_z(tail) / sqrt(2)) / 2 / tail, 1, 1e-10);
}
END_TEST

static struct sampled count(double n)
{
	return (struct sampled){ n, n };
}

static struct interval shares(double b, double n_b, double a, double n_a, double z)
{
	return interval_shares(count(b), count(n_b), n_b, count(a), count(n_a), n_a, z);
}

START_TEST(published_examples)
{
	/* Newcombe 1998, table II, method 10. */
	struct interval i = shares(56, 70, 48, 80, Z95);
	ck_assert_double_eq_tol(i.low, 0.0524, 5e-5);
	ck_assert_double_eq_tol(i.high, 0.3339, 5e-5);
	i = shares(9, 10, 3, 10, Z95);
	ck_assert_double_eq_tol(i.low, 0.1705, 5e-5);
	ck_assert_double_eq_tol(i.high, 0.8090, 5e-5);
	i = shares(10, 10, 0, 20, Z95);
	ck_assert_double_eq_tol(i.low, 0.6791, 5e-5);
	ck_assert_double_eq_tol(i.high, 1, 1e-9);
	/* Fisher's lady and her tea; eight heads of ten. */
	ck_assert_double_eq_tol(chance_of_share(4, 4, 0, 4), 1.0 / 70, 1e-12);
	ck_assert_double_eq_tol(chance_of_share(3, 4, 1, 4), 17.0 / 70, 1e-12);
	ck_assert_double_eq_tol(chance_of_count(8, 2, 0.5), 56.0 / 1024, 1e-12);
	ck_assert_double_eq(chance_of_count(0, 5, 0.5), 1);
	ck_assert_double_eq(chance_of_share(0, 9, 5, 9), 1);
}
END_TEST

/* The two directions of a test cover everything, and both count the outcome itself. */
START_TEST(tails_add_up)
{
	for (double b = 0; b <= 40; b++) {
		double n = 40, share = 0.3, up = chance_of_count(b, n - b, share);
		double down = chance_of_count(n - b, b, 1 - share);
		double here = exp(lgamma(n + 1) - lgamma(b + 1) - lgamma(n - b + 1)) *
			      pow(share, b) * pow(1 - share, n - b);
		if (up < 1 && down < 1) /* 1 stands for every probability that is not small */
			ck_assert_double_eq_tol(up + down, 1 + here, 1e-9);
	}
	/* Computed by Python's math.lgamma and a sum over 4000 terms; beyond the limit by the normal distribution. */
	ck_assert_double_eq_tol(chance_of_count(1005000, 995000, 0.5), 7.726e-13, 1e-15);
	ck_assert_double_eq_tol(chance_of_count(1e18 + 4e9, 1e18, 0.5), 0.0023, 1e-4);
	for (double n = 3.9e6; n < 4.2e6; n += 0.2e6) { /* on both sides of it */
		double z4 = 2 * sqrt(n);
		ck_assert_double_eq_tol(chance_of_count(n / 2 + z4, n / 2 - z4, 0.5), 3.17e-5,
					1e-7);
		ck_assert_double_eq_tol(chance_of_share(n / 2 + z4, 2 * n, n / 2 - z4, 2 * n),
					1.9e-6, 1e-7);
	}
}
END_TEST

/* Large sums: the ordinary normal interval. */
START_TEST(large_sums_are_normal)
{
	struct sampled b = { 2e9, 3e12 }, a = { 1.9e9, 2e12 };
	struct interval i = interval_sums(b, a, 0, 0, Z95);
	double half = Z95 * sqrt(b.squares + a.squares);
	ck_assert_double_eq_tol(i.low, 1e8 - half, half * 1e-3);
	ck_assert_double_eq_tol(i.high, 1e8 + half, half * 1e-3);
	i = interval_ratio(b, a, Z95);
	ck_assert_double_eq_tol(i.high - i.low, 2 * half / 1.9e9, half / 1.9e9 * 0.1);
}
END_TEST

START_TEST(unknown_values_stay_unknown)
{
	struct sampled whole = { 100, NAN }, part = { 10, NAN };
	ck_assert(isnan(interval_sums(part, part, NAN, NAN, Z95).low));
	ck_assert(isnan(interval_sums(part, part, 0, 0, Z95).low));
	ck_assert(isnan(interval_shares(part, whole, 0, part, whole, 0, Z95).low));
	ck_assert(isnan(interval_ratio(part, whole, Z95).low));
	/* Negative values, such as differences written to files, are no sums of samples. */
	ck_assert(isnan(interval_sums((struct sampled){ -5, 5 }, count(5), 1, 1, Z95).low));
}
END_TEST

/* --- counts: all outcomes --- */

static double poisson(double mean, double n)
{
	return exp(n * log(mean) - mean - lgamma(n + 1));
}

static double binomial(double n, double p, double k)
{
	return exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(p) +
		   (n - k) * log1p(-p));
}

struct span {
	double from, to;
};
static struct span around(double mean, double max)
{
	double half = 6 * sqrt(mean) + 12;
	return (struct span){ fmax(0, floor(mean - half)), fmin(max, ceil(mean + half)) };
}

/* Rates: the newer side is `longer` times as long. */
static double coverage_of_rates(double mean_b, double mean_a, double longer)
{
	double sum = 0;
	struct span sb = around(mean_b * longer, 1e9), sa = around(mean_a, 1e9);
	for (double b = sb.from; b <= sb.to; b++) {
		double p = poisson(mean_b * longer, b);
		for (double a = sa.from; p > 1e-9 && a <= sa.to; a++) {
			struct sampled rate = { b / longer, b / longer / longer };
			struct interval i = interval_sums(rate, count(a), 1 / longer, 1, Z95);
			if (i.low <= mean_b - mean_a && mean_b - mean_a <= i.high)
				sum += p * poisson(mean_a, a);
		}
	}
	return sum;
}

static double coverage_of_shares(double p_b, double n_b, double p_a, double n_a)
{
	double sum = 0;
	struct span sb = around(n_b * p_b, n_b), sa = around(n_a * p_a, n_a);
	for (double b = sb.from; b <= sb.to; b++) {
		double p = binomial(n_b, p_b, b);
		for (double a = sa.from; p > 1e-9 && a <= sa.to; a++) {
			struct interval i = shares(b, n_b, a, n_a, Z95);
			if (i.low <= p_b - p_a && p_b - p_a <= i.high)
				sum += p * binomial(n_a, p_a, a);
		}
	}
	return sum;
}

/* Small counts are discrete. */
static void assert_covers(double coverage, double smallest)
{
	double low = smallest < 30 ? 0.93 : 0.94, high = smallest < 10 ? 0.985 : 0.97;
	if (!(coverage > low && coverage < high))
		ck_abort_msg("coverage %g with counts of %g", coverage, smallest);
}

START_TEST(coverage_of_counts)
{
	const double means[] = { 3, 5, 10, 30, 100, 1000, 10000 };
	for (size_t i = 0; i < sizeof means / sizeof *means; i++) {
		double mean = means[i];
		assert_covers(coverage_of_rates(mean, mean, 1), mean);
		assert_covers(coverage_of_rates(1.5 * mean, mean, 1), mean);
		if (mean > 1000)
			continue;
		assert_covers(coverage_of_rates(mean, mean, 3), mean);
		assert_covers(coverage_of_rates(4 * mean, mean, 0.5), mean);
	}
}
END_TEST

START_TEST(coverage_of_proportions)
{
	const double counts[] = { 3, 5, 10, 30, 100, 1000 };
	const double ps[] = { 0.01, 0.1, 0.4 };
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		for (size_t k = 0; k < sizeof ps / sizeof *ps; k++) {
			double n = counts[i] / ps[k];
			assert_covers(coverage_of_shares(ps[k], n, ps[k], n), counts[i]);
			assert_covers(coverage_of_shares(1.5 * ps[k], 2 * n, ps[k], n), counts[i]);
		}
}
END_TEST

/* --- weighted sums: drawn --- */

static double uniform(struct rng *r)
{
	return ((rng_next(r) >> 11) + 0.5) / 9007199254740992.0;
}

static uint32_t draw_poisson(struct rng *r, double mean)
{
	uint32_t n = 0;
	for (double left = mean; left > 0; left -= 50) {
		double limit = exp(-fmin(left, 50)), p = uniform(r);
		for (; p > limit; p *= uniform(r))
			n++;
	}
	return n;
}

/* A sum of `mean` samples on average, each with an exponential weight of mean 1. */
static struct sampled draw(struct rng *r, double mean)
{
	struct sampled s = { 0 };
	for (uint32_t n = draw_poisson(r, mean); n > 0; n--) {
		double w = -log(uniform(r));
		s.sum += w;
		s.squares += w * w;
	}
	return s;
}

static struct sampled both(struct sampled x, struct sampled y)
{
	return (struct sampled){ x.sum + y.sum, x.squares + y.squares };
}

/* How often the interval contains the true change: of sums, and of shares of wholes with `rest` more samples. */
static void weighted_coverage(struct rng *r, double mean_b, double mean_a, double rest,
			      double *sums, double *of_shares)
{
	enum { ROUNDS = 4000 };
	double share = mean_b / (mean_b + rest) - mean_a / (mean_a + rest);
	*sums = *of_shares = 0;
	for (int k = 0; k < ROUNDS; k++) {
		struct sampled b = draw(r, mean_b), a = draw(r, mean_a);
		struct interval i = interval_sums(b, a, 0, 0, Z95);
		*sums += (i.low <= mean_b - mean_a && mean_b - mean_a <= i.high) / (double)ROUNDS;
		struct sampled whole_b = both(b, draw(r, rest)), whole_a = both(a, draw(r, rest));
		i = interval_shares(b, whole_b, 0, a, whole_a, 0, Z95);
		*of_shares += (i.low <= share && share <= i.high) / (double)ROUNDS;
	}
}

START_TEST(coverage_of_weighted_sums)
{
	struct rng r = { 20240607 };
	const double means[] = { 5, 30, 100, 1000 };
	for (size_t i = 0; i < sizeof means / sizeof *means; i++) {
		double mean = means[i], least = mean < 30 ? 0.9 : 0.93, most = mean < 30 ? 1 : 0.97;
		for (int k = 0; k < 2; k++) {
			double sums, of_shares;
			weighted_coverage(&r, (k ? 2 : 1) * mean, mean, 3 * mean, &sums,
					  &of_shares);
			ck_assert_msg(sums > least && sums < most, "sums %g at %g", sums, mean);
			ck_assert_msg(of_shares > least && of_shares < most, "shares %g at %g",
				      of_shares, mean);
		}
	}
}
END_TEST

UNIT_MAIN("interval", normal_quantiles, published_examples, tails_add_up, large_sums_are_normal,
	  unknown_values_stay_unknown, coverage_of_counts, coverage_of_proportions,
	  coverage_of_weighted_sums)
