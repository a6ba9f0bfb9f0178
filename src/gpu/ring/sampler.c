/* Counts launches in intervals, and draws the interval of the next sample. */
#include "gpu/ring/sampler.h"

enum { PERIOD_NS = 100000000, MEAN_MAX = 1 << 20 };

/* xorshift64* (S. Vigna, ACM Trans. Math. Softw. 42 (2016) 30). */
static uint32_t draw(struct launch_sampler *s)
{
	s->random ^= s->random >> 12;
	s->random ^= s->random << 25;
	s->random ^= s->random >> 27;
	return s->random * 0x2545f4914f6cdd1dull >> 32;
}

/* Draws the gap to the next stack so that each launch has the chance 1/mean: a geometric number,
 * from one draw. -log2(u) of a uniform u is the number of leading zeros plus a fraction,
 * approximated by a straight line. The error does not matter: weights are counted, so they keep the
 * mean exact. */
static uint32_t gap(struct launch_sampler *s)
{
	uint32_t u = draw(s) | 1, zeros = __builtin_clz(u);
	uint32_t part = u << zeros << 1; /* the bits after the leading one */
	uint64_t log2_q16 = ((uint64_t)(zeros + 1) << 16) - (part >> 16);
	uint64_t scaled = log2_q16 * (s->mean - 1) * 45426ull; /* ln 2 · 2^16 */

	return scaled >> 32;
}

/* Sets the mean that the last period requires. */
static void next_period(struct launch_sampler *s, uint32_t per_s, uint64_t now_ns)
{
	uint64_t took = now_ns - s->period_ns;
	double wanted = (double)per_s * took * 1e-9, mean = wanted > 0 ? s->launches / wanted : 1;

	s->mean = mean <= 1 ? 1 : mean < MEAN_MAX ? (uint32_t)(mean + 0.5) : MEAN_MAX;
	s->period_ns = now_ns;
	s->launches = 0;
	if (s->skip > 8 * s->mean) /* drawn in a burst that is over */
		s->skip = s->mean > 1 ? gap(s) : 0;
}

uint32_t launch_sample(struct launch_sampler *s, uint32_t per_s, uint32_t seed, uint64_t now_ns)
{
	uint32_t weight = s->skipped + 1;

	if (!s->random) {
		s->random = (seed + 1ull) * 0x9e3779b97f4a7c15ull | 1;
		s->period_ns = now_ns;
	}
	s->launches++;
	if (!per_s) {
		s->skip = 0;
	} else if (now_ns - s->period_ns >= PERIOD_NS) {
		next_period(s, per_s, now_ns);
	} else if (s->mean <= 1 && s->launches > per_s / 10 + 1) {
		s->mean = 2; /* a burst: more in this period than the rate allows */
	} else if (s->launches > (uint64_t)s->mean * (per_s / 10 + 1) * 2 && s->mean < MEAN_MAX) {
		s->mean *= 2;
	}
	if (s->skip) {
		s->skip--;
		s->skipped = weight;
		return 0;
	}
	s->skipped = 0;
	s->skip = per_s && s->mean > 1 ? gap(s) : 0;
	return weight;
}
