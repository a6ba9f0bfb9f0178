#include "profile/interval.h"

#include <math.h>

#define UNKNOWN ((struct interval){ NAN, NAN })

/* What 26.2.23 of Abramowitz and Stegun gives is less than 4.5e-4 off. */
static double z_start(double tail)
{
	double t = sqrt(-2 * log(tail));
	return t - (2.515517 + t * (0.802853 + t * 0.010328)) /
			   (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}

/* The logarithm of the tail is nearly a parabola: each step more than doubles the digits. */
double interval_z(double tail)
{
	double z = z_start(tail);
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

/* Of how many equal samples the scatter of both shares tells; where they are all or nothing, none do
 * and the whole sides tell. */
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
