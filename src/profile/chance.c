#include "profile/chance.h"

#include <math.h>
#include <stdbool.h>

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

/* Behind the most probable count each term of a tail is smaller than the one before, so that a tail
 * that begins there is summed until its terms say no more; before it, the tail is no small one. */
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

/* ctx: marked ones, drawn, all. */
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
