/* The overlap of a sample with a range, and its share of the value. */
#include "profile/tree/time_range.h"

#include "base/buf.h"
#include "profile/profile.h"
#include "profile/sum.h"
#include "profile/tree/tree.h"

/* Clamps x, relative to the start of the sample, to the sample. Hostile files may have any times,
 * so differences are wide. */
static int64_t within(__int128 x, int64_t length_ns)
{
	return x < 0 ? 0 : x > length_ns ? length_ns : (int64_t)x;
}

/* Whether the whole part is in the range, as nearly all are; it needs no division then. */
static bool is_inside(const struct sample_part *part, int64_t from_ns, int64_t to_ns)
{
	int64_t end;
	return part->length_ns > 0 && part->time_ns >= from_ns &&
	       !__builtin_add_overflow(part->time_ns, part->length_ns, &end) && end <= to_ns;
}

bool sample_part_cut(struct sample_part *part, int64_t from_ns, int64_t to_ns)
{
	int64_t start = part->time_ns, length = part->length_ns > 0 ? part->length_ns : 0;
	bool endless = to_ns == INT64_MAX;
	if (is_inside(part, from_ns, to_ns))
		return true;
	if (!length) {
		if (start < from_ns || (start >= to_ns && !endless))
			return false;
		part->length_ns = 0;
		return true;
	}
	int64_t a = within((__int128)from_ns - start, length);
	int64_t b = endless ? length : within((__int128)to_ns - start, length);
	if (a >= b)
		return false;
	part->time_ns = sum_add(start, a);
	part->length_ns = b - a;
	part->value = sample_worth_up_to(part->value, length, b) -
		      sample_worth_up_to(part->value, length, a);
	return true;
}

bool sample_part_in(const struct profile *p, size_t row, const struct tree_opts *opts,
		    struct sample_part *out)
{
	const struct sample_columns *c = &p->samples;
	int64_t start = p->meta.start_mono_ns;
	int64_t from = opts->time_from_ns ? sum_add(start, opts->time_from_ns) : INT64_MIN;
	int64_t to = opts->time_to_ns ? sum_add(start, opts->time_to_ns) : INT64_MAX;
	struct sample_part part = { c->time_ns[row], sample_length_ns(c, row), c->value[row] };
	bool is_in = sample_part_cut(&part, from, to);
	if (is_in)
		*out = part;
	return is_in;
}

void time_range_shown(const struct profile *p, const struct tree_opts *opts,
		      const struct tree_samples *samples, int64_t *from_ns, int64_t *to_ns)
{
	int64_t end = p->meta.duration_ns;
	struct sample_part part;
	for (size_t i = 0; i < samples->rows.n; i++) {
		if (!sample_part_in(p, samples->rows.v[i].row, opts, &part))
			continue;
		int64_t last = sum_add(part.time_ns, part.length_ns ? part.length_ns : 1);
		last = sum_sub(last, p->meta.start_mono_ns);
		end = last > end ? last : end;
	}
	*from_ns = opts->time_from_ns;
	*to_ns = opts->time_to_ns && opts->time_to_ns < end ? opts->time_to_ns : end;
	if (*to_ns <= *from_ns)
		*to_ns = sum_add(*from_ns, 1);
}

/* Appends a time in seconds, without trailing zeros. */
static void put_seconds(struct buf *b, int64_t ns)
{
	enum { SECOND_NS = 1000000000 };
	uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
	buf_addf(b, "%s%llu", ns < 0 ? "-" : "", (unsigned long long)(size / SECOND_NS));
	if (size % SECOND_NS) {
		buf_addf(b, ".%09u", (unsigned)(size % SECOND_NS));
		while (b->data[b->len - 1] == '0')
			b->len--;
	}
	buf_addc(b, 's');
}

void time_range_text(struct buf *b, int64_t from_ns, int64_t to_ns)
{
	put_seconds(b, from_ns);
	buf_addc(b, '-');
	put_seconds(b, to_ns);
}

int64_t profile_first_ns(const struct profile *p)
{
	int64_t first_ns = INT64_MAX;
	for (size_t i = 0; i < p->samples.n; i++)
		first_ns = p->samples.time_ns[i] < first_ns ? p->samples.time_ns[i] : first_ns;
	for (size_t i = 0; i < p->readings.all.n; i++) {
		const struct reading_series *r = &p->readings.all.v[i];
		for (size_t k = 0; k < r->points.n; k++)
			if (r->points.v[k].time_ns < first_ns)
				first_ns = r->points.v[k].time_ns;
	}
	return first_ns;
}

bool profile_has_times(const struct profile *p)
{
	for (size_t i = 0; i < p->samples.n; i++)
		if (p->samples.time_ns[i])
			return true;
	return p->samples.n == 0;
}
