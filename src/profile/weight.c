/* The weight of a sample in the unit of sums. */
#include "profile/weight.h"

#include "profile/frame.h"
#include "profile/profile.h"
#include "profile/stack.h"
#include "profile/state.h"
#include "profile/strtab.h"

#include <math.h>
#include <string.h>

static bool text_is(const struct profile *p, uint32_t id, const char *text)
{
	return strcmp(profile_str(p, id), text) == 0;
}

/* Each counted sample stands for a period; other counts (allocations, contentions) do not. */
static bool is_periodic(const struct profile *p, const struct type *type)
{
	return type->period_unit && text_is(p, type->sample_type, "samples") &&
	       text_is(p, type->unit, "count");
}

/* Returns the period of all wanted series, 0 if one has none, -1 if they differ. */
static int64_t common_period(const struct profile *p, uint32_t type, const bool *wanted)
{
	int64_t common = 0;
	bool differ = false;
	for (size_t i = 0; i < p->series.series.n; i++) {
		const struct series *s = &p->series.series.v[i];
		if (s->type != type || (wanted && !wanted[i]))
			continue;
		if (s->period <= 0)
			return 0;
		differ |= common && common != s->period;
		common = s->period;
	}
	return differ ? -1 : common;
}

struct value_scale value_scale_of(const struct profile *p, uint32_t type, const bool *wanted)
{
	const struct type *t = &p->series.types.v[type];
	bool is_count = text_is(p, t->unit, "count");
	int64_t period = is_periodic(p, t) ? common_period(p, type, wanted) : 0;
	struct value_scale s = { .unit = profile_str(p, is_count ? t->sample_type : t->unit) };
	if (period > 0) {
		s.scale = period;
		s.scaled_unit = profile_str(p, t->period_unit);
	} else if (period < 0) {
		s.unit = profile_str(p, t->period_unit);
		s.by_period = true;
	}
	return s;
}

static double each_weight(const struct profile *p, const struct series *s, bool has_times)
{
	const struct type *type = &p->series.types.v[s->type];
	bool is_count = text_is(p, type->unit, "count");
	if (is_count && text_is(p, type->sample_type, "samples"))
		return 1;
	int64_t least = is_count ? 1 : 2;
	if (type->unit == type->period_unit && s->period >= least)
		return s->period;
	return has_times ? 0 : NAN; /* with times, rows are single samples */
}

struct sample_weight series_weight(const struct profile *p, uint32_t series, bool has_times)
{
	const struct series *s = &p->series.series.v[series];
	return (struct sample_weight){
		.each = each_weight(p, s, has_times),
		.is_time = text_is(p, p->series.types.v[s->type].unit, "nanoseconds"),
	};
}

double row_weight(const struct profile *p, struct sample_weight w, uint32_t stack, double value)
{
	uint32_t leaf = w.each == 0 ? stack_leaf(&p->stacks, stack) : UINT32_MAX;
	const struct frame *f = leaf == UINT32_MAX ? NULL : &p->frames.frames.v[leaf];
	if (w.each != 0)
		return w.each;
	if (!w.is_time || !f || f->kind != FRAME_MARKER || f->mapping != MAPPING_NONE)
		return value;
	uint64_t below_ns =
		state_below_ns(profile_str(p, f->function), strtab_len(&p->strings, f->function));
	return below_ns && below_ns < value ? below_ns : value;
}
