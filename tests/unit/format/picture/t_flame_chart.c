// tier: test
/* What a chart draws, compared with its samples. */
#include "random_profile.h"
#include "unit.h"

#include "base/buf.h"
#include "base/err.h"
#include "format/picture/flame_chart.h"
#include "profile/state.h"
#include "profile/tree/time_range.h"
#include "profile/tree/tree.h"

#include <errno.h>

#define MS 1000000ll

/* --- spans of one thread, scripted --- */

struct script {
	struct profile *p;
	uint32_t type, series;
	uint32_t tid;
};

/* A type in nanoseconds, sampled every 10 ms; period_ms 0: unknown. */
static struct script script_begin(const char *unit, int64_t period_ms)
{
	struct script s = { .p = profile_new(), .tid = 7 };
	struct sink *sink = profile_sink(s.p);
	struct type type = { .name = sink_string(sink, "wall"),
			     .sample_type = sink_string(sink, "wall"),
			     .unit = sink_string(sink, unit),
			     .period_unit = sink_string(sink, "nanoseconds") };
	s.type = sink->ops->type(sink, &type);
	s.series = sink->ops->series(sink, &(struct series){ s.type, period_ms * MS, 0 });
	sink->ops->meta(sink)->duration_ns = 1000 * MS;
	return s;
}

static void say(struct script *s, const char *stack, int64_t at_ms, int64_t length_ms)
{
	struct sink *sink = profile_sink(s->p);
	uint32_t frames[300], n = 0;
	for (const char *c = stack; *c && n < 300; c++) {
		struct frame f = { .kind = *c == '[' ? FRAME_MARKER : FRAME_NATIVE,
				   .mapping = MAPPING_NONE };
		size_t len =
			*c == '[' ? strlen(c) : 1; /* letters are frames, a marker is the last */
		f.function = sink->ops->string(sink, c, len);
		frames[n++] = sink->ops->frame(sink, &f);
		c += len - 1;
	}
	struct sample sample = { .time_ns = at_ms * MS,
				 .length_ns = length_ms * MS,
				 .value = length_ms ? length_ms * MS : 10 * MS,
				 .series = s->series,
				 .stack = sink->ops->stack(sink, frames, n),
				 .pid = 1,
				 .tid = s->tid };
	sink->ops->sample(sink, &sample);
}

static struct flame_chart built(struct profile *p, const struct tree_opts *o, bool by_state)
{
	struct flame_chart c;
	struct err err = { 0 };
	struct chart_opts opts = { .tree = o, .by_state = by_state };
	ck_assert_msg(flame_chart_build(p, &opts, &c, &err) == 0, "%s", err.text);
	return c;
}

static const char *name_of(const struct flame_chart *c, uint32_t node)
{
	return strtab_get(&c->tree->strings, c->tree->funcs.v[c->tree->nodes.v[node].func].name);
}

/* "a 5-15, b 15-20": leaves and milliseconds. */
static char *spelled_spans(const struct flame_chart *c)
{
	struct buf b = { 0 };
	for (size_t i = 0; i < c->spans.n; i++) {
		const struct chart_span *s = &c->spans.v[i];
		buf_addf(&b, "%s%s %g-%g", i ? ", " : "", name_of(c, s->node), s->from_ns / 1e6,
			 s->to_ns / 1e6);
	}
	return buf_steal(&b);
}

static void assert_spans(struct script *s, const char *want)
{
	struct tree_opts o = { .type = s->type };
	struct flame_chart c = built(s->p, &o, false);
	char *got = spelled_spans(&c);
	ck_assert_str_eq(got, want);
	free(got);
	flame_chart_done(&c);
	profile_free(s->p);
}

START_TEST(a_sample_is_its_period)
{
	struct script s = script_begin("nanoseconds", 10);
	say(&s, "a", 100, 0);
	assert_spans(&s, "a 95-105");
	s = script_begin("nanoseconds", 10);
	say(&s, "a", 2, 0); /* not before the start */
	say(&s, "b", 998, 0);
	assert_spans(&s, "a 0-7, b 993-1000");
}
END_TEST

START_TEST(neighbours_share_the_gap)
{
	struct script s = script_begin("nanoseconds", 10);
	say(&s, "a", 100, 0);
	say(&s, "b", 104, 0); /* nearer than a period */
	say(&s, "c", 118, 0); /* a timer that was late: they touch */
	say(&s, "d", 134, 0); /* a gap */
	say(&s, "e", 134, 0); /* at once */
	assert_spans(&s, "a 95-102, b 102-111, c 111-123, d 129-134, e 134-139");
}
END_TEST

START_TEST(waits_are_exact)
{
	struct script s = script_begin("nanoseconds", 10);
	say(&s, "w", -50, 130); /* began before the start */
	say(&s, "a", 82, 0);
	say(&s, "b", 90, 0);
	say(&s, "x", 93, 7);
	say(&s, "y", 100, 100);
	say(&s, "c", 220, 0);
	say(&s, "z", 990, 60); /* open at the end */
	assert_spans(&s, "w 0-80, a 80-86, b 86-93, x 93-100, y 100-200, c 215-225, z 990-1050");
}
END_TEST

START_TEST(overlaps_are_cut_or_counted)
{
	struct script s = script_begin("nanoseconds", 10);
	say(&s, "w", 100, 100);
	say(&s, "a", 150, 0);  /* inside: hidden */
	say(&s, "x", 120, 20); /* inside: hidden */
	say(&s, "y", 180, 40); /* its rest */
	struct tree_opts o = { .type = s.type };
	struct flame_chart c = built(s.p, &o, false);
	ck_assert_uint_eq(c.hidden, 2);
	flame_chart_done(&c);
	assert_spans(&s, "w 100-200, y 200-220");
}
END_TEST

START_TEST(sums_have_no_place)
{
	struct script s = script_begin("nanoseconds", 10);
	say(&s, "w", 100, 100);
	say(&s, "[off-CPU below 1ms]", 450, 400);
	s.p->samples.value[1] = 70 * MS; /* of 400 */
	say(&s, "a", 500, 0);
	say(&s, STATE_SCHED_WAIT_MARKER, 600, 50); /* all of it */
	struct tree_opts o = { .type = s.type };
	struct flame_chart c = built(s.p, &o, false);
	ck_assert_int_eq(c.placeless, 70 * MS);
	ck_assert_uint_eq(c.hidden, 0);
	flame_chart_done(&c);
	assert_spans(&s, "w 100-200, a 495-505, " STATE_SCHED_WAIT_MARKER " 600-650");
}
END_TEST

START_TEST(without_a_period_the_value_or_the_usual_distance_counts)
{
	struct script s = script_begin("nanoseconds", 0);
	say(&s, "a", 100, 0); /* worth 10 ms */
	assert_spans(&s, "a 95-105");
	s = script_begin("count", 0);
	for (int i = 0; i < 5; i++)
		say(&s, "a", 100 + 20 * i, 0);
	say(&s, "b", 500, 0);
	assert_spans(&s, "a 90-110, a 110-130, a 130-150, a 150-170, a 170-190, b 490-510");
}
END_TEST

START_TEST(a_range_cuts_waits)
{
	struct script s = script_begin("nanoseconds", 10);
	say(&s, "w", 100, 300);
	say(&s, "a", 405, 0);
	struct tree_opts o = { .type = s.type, .time_from_ns = 250 * MS, .time_to_ns = 403 * MS };
	struct flame_chart c = built(s.p, &o, false);
	char *got = spelled_spans(&c);
	ck_assert_str_eq(got, "w 250-400");
	ck_assert_int_eq(c.from_ns, 250 * MS);
	ck_assert_int_eq(c.to_ns, 403 * MS);
	free(got);
	flame_chart_done(&c);
	profile_free(s.p);
}
END_TEST

/* --- boxes --- */

/* "0 a 5-15, 1 b 5-10 (3 in 2)": depth, name, milliseconds, and merged boxes. */
static char *spelled_boxes(const struct flame_chart *c, int64_t min_ms)
{
	struct buf b = { 0 };
	struct chart_boxes boxes = { 0 };
	for (size_t i = 0; i < c->lanes.n; i++)
		ck_assert(chart_lane_boxes(c, &c->lanes.v[i], min_ms * MS, SIZE_MAX, &boxes));
	for (size_t i = 0; i < boxes.all.n; i++) {
		const struct chart_box *x = &boxes.all.v[i];
		buf_addf(&b, "%s%u %s %g-%g", i ? ", " : "", x->depth, name_of(c, x->node),
			 x->from_ns / 1e6, x->to_ns / 1e6);
		if (x->merged)
			buf_addf(&b, " (%u in %u)", x->merged, x->rows);
	}
	vec_done(&boxes.all);
	return buf_steal(&b);
}

START_TEST(equal_frames_that_touch_are_one)
{
	struct script s = script_begin("nanoseconds", 10);
	struct tree_opts o = { .type = s.type };
	say(&s, "mab", 100, 50);
	say(&s, "mac", 150, 50);
	say(&s, "mac", 200, 10);
	say(&s, "m", 210, 10);
	say(&s, "ma", 240, 2); /* behind a gap */
	say(&s, "mb", 243, 3);
	struct flame_chart c = built(s.p, &o, false);
	char *all = spelled_boxes(&c, 0), *wide = spelled_boxes(&c, 8);
	ck_assert_str_eq(all, "0 m 100-220, 1 a 100-210, 2 b 100-150, 2 c 150-210, "
			      "0 m 240-242, 1 a 240-242, 0 m 243-246, 1 b 243-246");
	ck_assert_str_eq(wide, "0 m 100-220, 1 a 100-210, 2 b 100-150, 2 c 150-210, "
			       "0 m 240-246 (4 in 2)");
	free(all);
	free(wide);
	flame_chart_done(&c);
	profile_free(s.p);
}
END_TEST

START_TEST(states_stay_separate)
{
	struct script s = script_begin("nanoseconds", 10);
	struct tree_opts o = { .type = s.type };
	say(&s, "ma", 95, 0);
	say(&s, "ma[blocked: disk I/O]", 100, 50);
	say(&s, "ma" STATE_SCHED_WAIT_MARKER, 150, 50);
	say(&s, "mb", 200, 50); /* waits that no marker explains */
	struct flame_chart together = built(s.p, &o, false), apart = built(s.p, &o, true);
	char *one = spelled_boxes(&together, 0), *many = spelled_boxes(&apart, 0);
	ck_assert_str_eq(one, "0 m 90-250, 1 a 90-200, 2 [blocked: disk I/O] 100-150, "
			      "2 [sched-wait] 150-200, 1 b 200-250");
	ck_assert_str_eq(many, "0 m 90-100, 1 a 90-100, 0 m 100-150, 1 a 100-150, "
			       "2 [blocked: disk I/O] 100-150, 0 m 150-200, 1 a 150-200, "
			       "2 [sched-wait] 150-200, 0 m 200-250, 1 b 200-250");
	ck_assert_int_eq(apart.tree->nodes.v[TREE_ROOT].total,
			 together.tree->nodes.v[TREE_ROOT].total);
	free(one);
	free(many);
	flame_chart_done(&together);
	flame_chart_done(&apart);
	profile_free(s.p);
}
END_TEST

/* Each box is inside the one around it, and neither overlaps nor touches an equal one. */
static uint64_t check_boxes(const struct flame_chart *c, const struct chart_boxes *boxes,
			    int64_t min_ns)
{
	struct chart_box path[CHART_MAX_DEPTH + 1], last[CHART_MAX_DEPTH + 1];
	uint32_t open = 0;
	uint64_t frames = 0;
	memset(last, 0, sizeof last);
	for (size_t i = 0; i < boxes->all.n; i++) {
		const struct chart_box *x = &boxes->all.v[i];
		ck_assert_uint_le(x->depth, open);
		ck_assert_int_gt(x->to_ns, x->from_ns);
		ck_assert(x->merged || x->to_ns - x->from_ns >= min_ns);
		if (x->depth)
			ck_assert(x->from_ns >= path[x->depth - 1].from_ns &&
				  x->to_ns <= path[x->depth - 1].to_ns &&
				  !path[x->depth - 1].merged);
		const struct chart_box *before = &last[x->depth];
		ck_assert(x->from_ns >= before->to_ns);
		ck_assert(x->from_ns > before->to_ns || x->node != before->node || x->merged ||
			  before->merged);
		path[x->depth] = last[x->depth] = *x;
		open = x->depth + 1;
		frames += x->merged ? x->merged : 1;
	}
	(void)c;
	return frames;
}

static uint64_t boxed_ns(const struct chart_boxes *boxes)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < boxes->all.n; i++)
		sum += boxes->all.v[i].depth == 0 ? boxes->all.v[i].to_ns - boxes->all.v[i].from_ns
						  : 0;
	return sum;
}

static uint32_t node_depth(const struct tree *t, uint32_t node)
{
	uint32_t depth = 0;
	for (; node != TREE_ROOT; node = t->nodes.v[node].parent)
		depth++;
	return depth;
}

/* The spans of a lane do not overlap, and the outermost boxes cover those with frames. */
static void check_lane(const struct flame_chart *c, const struct chart_lane *lane)
{
	int64_t end = INT64_MIN;
	uint64_t covered = 0;
	for (size_t i = lane->first; i < lane->first + lane->n; i++) {
		const struct chart_span *s = &c->spans.v[i];
		ck_assert(s->from_ns >= end && s->to_ns > s->from_ns);
		ck_assert(s->from_ns >= c->from_ns && s->to_ns <= c->to_ns);
		covered += node_depth(c->tree, s->node) > c->has_states ? s->to_ns - s->from_ns : 0;
		end = s->to_ns;
	}
	struct chart_boxes all = { 0 }, wide = { 0 };
	ck_assert(chart_lane_boxes(c, lane, 0, SIZE_MAX, &all));
	ck_assert_uint_eq(boxed_ns(&all), covered);
	uint64_t frames = check_boxes(c, &all, 0);
	ck_assert(chart_lane_boxes(c, lane, 40, SIZE_MAX, &wide));
	ck_assert_uint_eq(check_boxes(c, &wide, 40), frames);
	ck_assert(all.all.n < 3 || !chart_lane_boxes(c, lane, 0, all.all.n - 2, &wide));
	vec_done(&all.all);
	vec_done(&wide.all);
}

START_TEST(random_profiles_are_drawn_whole)
{
	struct random_shape shape = { .n_stacks = 120, .n_samples = 600, .waits = true };
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct random_profile r = random_profile(seed, shape);
		struct tree_opts o = { .type = seed % 2 ? r.cpu : r.alloc };
		if (seed % 3 == 0)
			o.time_from_ns = 200;
		if (seed % 5 == 0)
			o.hide = "fn_0";
		struct flame_chart c = built(r.p, &o, seed % 4 == 0);
		uint64_t samples = 0, spans = 0;
		for (size_t i = 0; i < c.lanes.n; i++) {
			check_lane(&c, &c.lanes.v[i]);
			samples += c.lanes.v[i].samples;
			spans += c.lanes.v[i].n;
			if (i)
				ck_assert(c.lanes.v[i - 1].pid < c.lanes.v[i].pid ||
					  (c.lanes.v[i - 1].pid == c.lanes.v[i].pid &&
					   (c.lanes.v[i - 1].tid < c.lanes.v[i].tid ||
					    c.lanes.v[i].tid == SAMPLE_NO_ID)));
		}
		ck_assert_uint_eq(samples, c.tree->n_samples); /* none of them is a sum */
		ck_assert_uint_eq(spans + c.hidden, samples);
		flame_chart_done(&c);
		profile_free(r.p);
	}
}
END_TEST

/* --- limits --- */

START_TEST(the_heaviest_threads_have_lanes)
{
	struct script s = script_begin("nanoseconds", 10);
	struct tree_opts o = { .type = s.type };
	for (s.tid = 1; s.tid <= 200; s.tid++)
		say(&s, "a", 10, s.tid * 37 % 200 + 1);
	struct flame_chart c = built(s.p, &o, false);
	ck_assert_uint_eq(c.lanes.n, CHART_MAX_LANES);
	ck_assert_uint_eq(c.n_threads, 200);
	for (size_t i = 0; i < c.lanes.n; i++) {
		ck_assert_uint_gt(c.lanes.v[i].tid * 37 % 200 + 1, 200 - CHART_MAX_LANES);
		ck_assert(!i || c.lanes.v[i].tid > c.lanes.v[i - 1].tid);
	}
	flame_chart_done(&c);
	profile_free(s.p);
}
END_TEST

/* All frames but the last are the same in both stacks. */
START_TEST(deep_stacks_are_cut)
{
	enum { DEEP = 60000 };
	struct script s = script_begin("nanoseconds", 10);
	struct sink *sink = profile_sink(s.p);
	struct tree_opts o = { .type = s.type };
	uint32_t *frames = malloc(DEEP * sizeof *frames);
	for (uint32_t i = 0; i < DEEP; i++) {
		struct frame f = { .mapping = MAPPING_NONE };
		f.function = sink_string(sink, i % 2 ? "ping" : "pong");
		frames[i] = sink->ops->frame(sink, &f);
	}
	for (uint32_t i = 0; i < 2000; i++) {
		struct sample sample = {
			.time_ns = i * MS, .value = 1, .series = s.series, .tid = 1
		};
		sample.stack = sink->ops->stack(sink, frames, DEEP - i % 2);
		sink->ops->sample(sink, &sample);
	}
	for (int by_state = 0; by_state < 2; by_state++) {
		struct flame_chart c = built(s.p, &o, by_state);
		struct chart_boxes boxes = { 0 };
		ck_assert_uint_eq(c.cut, 2000);
		ck_assert(chart_lane_boxes(&c, &c.lanes.v[0], 0, SIZE_MAX, &boxes));
		ck_assert_uint_eq(boxes.all.n, CHART_MAX_DEPTH);
		ck_assert_uint_eq(boxes.depth, CHART_MAX_DEPTH);
		vec_done(&boxes.all);
		flame_chart_done(&c);
	}
	free(frames);
	profile_free(s.p);
}
END_TEST

START_TEST(hostile_times_are_harmless)
{
	static const int64_t odd[] = { 0,    1,        -1, INT64_MIN, INT64_MAX, INT64_MIN + 1,
				       5000, 1ll << 62 };
	enum { N = sizeof odd / sizeof *odd };
	struct random_profile r = random_profile(1, (struct random_shape){ .n_stacks = 30 });
	for (int i = 0; i < N * N * N; i++) {
		struct sample s = { .time_ns = odd[i % N],
				    .length_ns = odd[i / N % N],
				    .value = odd[i / N / N],
				    .series = r.series[3],
				    .stack = i % 30,
				    .tid = i % 3 };
		r.p->sink.ops->sample(&r.p->sink, &s);
	}
	for (int i = 0; i < N; i++) {
		struct tree_opts o = { .type = r.alloc, .time_from_ns = odd[i] < 0 ? 0 : odd[i] };
		r.p->meta.start_mono_ns = odd[i];
		struct flame_chart c = built(r.p, &o, i % 2);
		for (size_t k = 0; k < c.lanes.n; k++)
			check_lane(&c, &c.lanes.v[k]);
		flame_chart_done(&c);
	}
	profile_free(r.p);
}
END_TEST

UNIT_MAIN("flame_chart", a_sample_is_its_period, neighbours_share_the_gap, waits_are_exact,
	  overlaps_are_cut_or_counted, sums_have_no_place,
	  without_a_period_the_value_or_the_usual_distance_counts, a_range_cuts_waits,
	  equal_frames_that_touch_are_one, states_stay_separate, random_profiles_are_drawn_whole,
	  the_heaviest_threads_have_lanes, deep_stacks_are_cut, hostile_times_are_harmless)
