#include "profile/time_range.h"

/* Of x since the start of the sample, what is inside of it. Times of hostile files may be anything, so differences are wide. */
static int64_t within(__int128 x, int64_t length_ns)
{
	return x < 0 ? 0 : x > length_ns ? length_ns : (int64_t)x;
}

bool sample_part_in(const struct profile *p, size_t row, const struct tree_opts *opts,
		    struct sample_part *out)
{
	const struct sample_columns *c = &p->samples;
	int64_t length = sample_length_ns(c, row) > 0 ? sample_length_ns(c, row) : 0;
	__int128 start = (__int128)c->time_ns[row] - p->meta.start_mono_ns;
	__int128 from = opts->time_from_ns ? opts->time_from_ns - start : 0;
	__int128 to = opts->time_to_ns ? opts->time_to_ns - start : (__int128)length + 1;
	int64_t a = within(from, length), b = within(to, length);
	if (length ? a >= b : from > 0 || to <= 0)
		return false;
	if (!length) {
		*out = (struct sample_part){ c->time_ns[row], 0, c->value[row] };
		return true;
	}
	*out = (struct sample_part){ c->time_ns[row] + a, b - a,
				     sample_worth_up_to(c->value[row], length, b) -
					     sample_worth_up_to(c->value[row], length, a) };
	return true;
}

bool profile_has_times(const struct profile *p)
{
	for (size_t i = 0; i < p->samples.n; i++)
		if (p->samples.time_ns[i])
			return true;
	return p->samples.n == 0;
}
