/* Intervals of counts: exact, or by the normal distribution for large variances. */
#include "profile/change/interval.h"

#include <math.h>
#include <stdbool.h>

#define UNKNOWN ((struct interval){ NAN, NAN })

/* 26.2.23 of Abramowitz and Stegun has an error below 4.5e-4. The logarithm of the tail is nearly a
 * parabola, so each step more than doubles the digits. */
double interval_z(double tail)
{
	double t = sqrt(-2 * log(tail));
	double z = t - (2.515517 + t * (0.802853 + t * 0.010328)) /
			       (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
	for (int i = 0; i < 3; i++) {
		double beyond = 0.5 * erfc(z * M_SQRT1_2);
		double density = exp(-0.5 * z * z) * M_SQRT1_2 * 0.5 * M_2_SQRTPI;
		z += log(beyond / tail) * beyond / density;
	}
	return z;
}

static struct interval difference(double b, struct interval of_b, double a, struct interval of_a)
{
	return (struct interval){ b - a - hypot(b - of_b.low, of_a.high - a),
				  b - a + hypot(of_b.high - b, a - of_a.low) };
}

static struct interval score_of_sum(double sum, double weight, double z)
{
	double n = sum / weight;
	double middle = n + z * z / 2, half = z * sqrt(n + z * z / 4);
	if (!(sum >= 0 && weight > 0))
		return UNKNOWN;
	return (struct interval){ (middle - half) * weight, (middle + half) * weight };
}

struct interval interval_sums(struct sampled b, struct sampled a, double weight_b, double weight_a,
			      double z)
{
	if (weight_b == 0 || weight_a == 0)
		weight_b = weight_a = (b.squares + a.squares) / (b.sum + a.sum);
	return difference(b.sum, score_of_sum(b.sum, weight_b, z), a.sum,
			  score_of_sum(a.sum, weight_a, z));
}

static double share_variance(struct sampled part, struct sampled whole)
{
	double p = part.sum / whole.sum, rest = whole.squares - part.squares;
	return ((1 - p) * (1 - p) * part.squares + p * p * rest) / whole.sum / whole.sum;
}

/* Computes the effective sample sizes from the variance of both shares. If the shares are 0 or 1,
 * this is impossible, and the whole sides are used. */
static void effective_sizes(struct sampled part_b, struct sampled whole_b, struct sampled part_a,
			    struct sampled whole_a, double *n_b, double *n_a)
{
	double b = part_b.sum / whole_b.sum, a = part_a.sum / whole_a.sum;
	double variance = share_variance(part_b, whole_b) + share_variance(part_a, whole_a);
	double scatter = b * (1 - b) + a * (1 - a);
	*n_b = whole_b.sum * whole_b.sum / whole_b.squares;
	*n_a = whole_a.sum * whole_a.sum / whole_a.squares;
	if (scatter != 0)
		*n_b = *n_a = scatter / variance;
}

static struct interval score_of_share(double p, double n, double z)
{
	double middle = p + z * z / (2 * n), scale = 1 + z * z / n;
	double half = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n));
	if (!(p >= 0 && p <= 1 && n > 0))
		return UNKNOWN;
	return (struct interval){ (middle - half) / scale, (middle + half) / scale };
}

struct interval interval_shares(struct sampled part_b, struct sampled whole_b, double n_b,
				struct sampled part_a, struct sampled whole_a, double n_a, double z)
{
	double b = part_b.sum / whole_b.sum, a = part_a.sum / whole_a.sum;
	if (n_b == 0 || n_a == 0)
		effective_sizes(part_b, whole_b, part_a, whole_a, &n_b, &n_a);
	return difference(b, score_of_share(b, n_b, z), a, score_of_share(a, n_a, z));
}

struct interval interval_ratio(struct sampled b, struct sampled a, double z)
{
	double ratio = b.sum / a.sum;
	if (!(a.sum > 0 && b.sum > 0))
		return UNKNOWN;
	double spread = z * sqrt(b.squares / b.sum / b.sum + a.squares / a.sum / a.sum);
	return (struct interval){ ratio * exp(-spread), ratio * exp(spread) };
}

/* --- chance ----------------------------------------------------------------------------------- */

/* lgamma() writes to a global variable. */
static double log_factorial(double n)
{
	int sign;
	return lgamma_r(n + 1, &sign);
}

static double log_choose(double n, double k)
{
	return log_factorial(n) - log_factorial(k) - log_factorial(n - k);
}

/* Past the most probable count each term of a tail is smaller than the previous one, so the tail is
 * summed until its terms are negligible. A tail that starts before it is not small. */
static double tail_sum(double log_first, double (*ratio)(const double *ctx, double k), double k,
		       const double *ctx)
{
	double term = 1, sum = 1;
	if (ratio(ctx, k - 1) > 1)
		return 1;
	while (term > 1e-12 * sum && sum < 1e300) {
		term *= ratio(ctx, k++);
		sum += term;
	}
	return fmin(1, exp(log_first) * sum);
}

static bool is_normal(double variance)
{
	return variance > (double)CHANCE_EXACT_SD * CHANCE_EXACT_SD;
}

static double normal_tail(double k, double mean, double variance)
{
	return 0.5 * erfc((k - mean) / sqrt(2 * variance));
}

/* P(k + 1) / P(k); ctx: n, share. */
static double binomial_ratio(const double *ctx, double k)
{
	return (ctx[0] - k) / (k + 1) * ctx[1] / (1 - ctx[1]);
}

double chance_of_count(double b, double a, double share)
{
	b = round(b);
	a = round(a);
	double n = a + b;
	if (b <= 0 || !(share > 0 && share < 1))
		return 1;
	double variance = n * share * (1 - share);
	if (is_normal(variance))
		return normal_tail(b, n * share, variance);
	double log_first = log_choose(n, b) + b * log(share) + a * log1p(-share);
	return tail_sum(log_first, binomial_ratio, b, (const double[]){ n, share });
}

/* ctx: number marked, number drawn, number of all. */
static double hypergeometric_ratio(const double *ctx, double k)
{
	return (ctx[0] - k) / (k + 1) * (ctx[1] - k) / (ctx[2] - ctx[0] - ctx[1] + k + 1);
}

double chance_of_share(double b, double n_b, double a, double n_a)
{
	b = round(b);
	a = round(a);
	n_b = fmax(b, round(n_b));
	n_a = fmax(a, round(n_a));
	double marked = a + b, all = n_a + n_b;
	if (b <= 0 || b <= marked - n_a)
		return 1;
	double mean = n_b / all * marked;
	double variance = mean * (1 - marked / all) * (n_a / (all - 1));
	if (is_normal(variance))
		return normal_tail(b, mean, variance);
	double log_first = log_choose(n_b, b) + log_choose(n_a, a) - log_choose(all, marked);
	return tail_sum(log_first, hypergeometric_ratio, b, (const double[]){ marked, n_b, all });
}
