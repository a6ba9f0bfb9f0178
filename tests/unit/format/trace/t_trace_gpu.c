// tier: test
/* GPU tracks with too many operations: tests/cli/trace_gpu.sh has the rest. */
#include "read_text.h"

#include "format/trace/chrome_trace.h"
#include "format/trace/trace_gpu.h"

struct world {
	struct profile *p;
	uint32_t series, stack;
};

static struct world world_new(void)
{
	struct world w = { .p = profile_new() };
	struct sink *s = profile_sink(w.p);
	struct type type = { .name = sink_string(s, "gpu-time"),
			     .sample_type = sink_string(s, "gpu-time"),
			     .unit = sink_string(s, "nanoseconds") };
	struct label gpu = { .key = sink_string(s, "gpu"), .str = sink_string(s, "0") };
	struct series series = { .type = s->ops->type(s, &type),
				 .labels = s->ops->labels(s, &gpu, 1) };
	struct frame kernel = { .mapping = MAPPING_NONE, .function = sink_string(s, "gemm") };
	uint32_t frame = s->ops->frame(s, &kernel);
	w.series = s->ops->series(s, &series);
	w.stack = s->ops->stack(s, &frame, 1);
	return w;
}

static void work(struct world *w, int64_t from_ns, int64_t to_ns)
{
	struct sample sample = { .time_ns = from_ns,
				 .length_ns = to_ns - from_ns,
				 .value = to_ns - from_ns,
				 .series = w->series,
				 .stack = w->stack,
				 .pid = 7,
				 .tid = 7,
				 .cpu = SAMPLE_NO_ID };
	profile_sink(w->p)->ops->sample(profile_sink(w->p), &sample);
	if (to_ns > w->p->meta.duration_ns)
		w->p->meta.duration_ns = to_ns;
}

static size_t count(const char *text, const char *part)
{
	size_t n = 0, len = strlen(part);
	for (; *text; text++) /* under a sanitizer, strstr would scan all of the rest each time */
		n += *text == *part && strncmp(text, part, len) == 0;
	return n;
}

/* Ten at once: eight get a track, and two none, which is reported. */
START_TEST(more_overlap_than_tracks)
{
	struct world w = world_new();
	for (int i = 0; i < TRACE_GPU_OVERLAPS + 2; i++)
		work(&w, 100 + i, 1000);
	work(&w, 1000, 1100);
	char *text = written(&format_chrome_trace, w.p, &(struct format_write_opts){ 0 });
	ck_assert_uint_eq(count(text, "\"ph\":\"X\""), TRACE_GPU_OVERLAPS + 1);
	ck_assert_uint_eq(count(text, "\"thread_name\""), TRACE_GPU_OVERLAPS);
	ck_assert_ptr_nonnull(strstr(text, "\"gpu_slices_without_track\":2"));
	free(text);
	profile_free(w.p);
}
END_TEST

/* More than a track may have: pairs of 100 ns that are 50 ns apart, between ones of 10 us. Each short pair is merged; long ones stay separate. */
START_TEST(the_shortest_are_merged)
{
	struct world w = world_new();
	int64_t at_ns = 1;
	uint64_t threes = TRACE_LANE_BOXES / 3 + 1000;
	for (uint64_t i = 0; i < threes; i++, at_ns += 20000) {
		work(&w, at_ns, at_ns + 10000);
		work(&w, at_ns + 12000, at_ns + 12100);
		work(&w, at_ns + 12150, at_ns + 12250);
	}
	char *text = written(&format_chrome_trace, w.p, &(struct format_write_opts){ 0 });
	ck_assert_uint_eq(count(text, "\"ph\":\"X\""), 2 * threes);
	ck_assert_uint_eq(count(text, "\"name\":\"2 below 1 us\""), threes);
	ck_assert_uint_eq(count(text, "\"dur\":10,"), threes);
	ck_assert_uint_eq(count(text, "\"dur\":0.25"), threes);
	free(text);
	profile_free(w.p);
}
END_TEST

/* Operations without a length or a device are on no track. */
START_TEST(sums_have_no_place)
{
	struct world w = world_new();
	struct trace_gpu g;
	work(&w, 100, 100);
	w.p->samples.value[0] = 42;
	ck_assert_int_eq(trace_gpu_build(w.p, &(struct tree_opts){ 0 }, &g, NULL), 0);
	ck_assert_uint_eq(g.slices.n + g.lanes.n + g.launches.n, 0);
	ck_assert_int_eq(g.summed_ns, 42);
	trace_gpu_done(&g);
	profile_free(w.p);
}
END_TEST

START_TEST(without_devices)
{
	struct world w = world_new();
	struct trace_gpu g;
	w.p->series.series.v[0].labels = 0;
	work(&w, 100, 200);
	ck_assert_int_eq(trace_gpu_build(w.p, &(struct tree_opts){ 0 }, &g, NULL), 0);
	ck_assert_uint_eq(g.slices.n + g.lanes.n + g.launches.n, 0);
	trace_gpu_done(&g);
	profile_free(w.p);
}
END_TEST

UNIT_MAIN("trace-gpu", more_overlap_than_tracks, the_shortest_are_merged, sums_have_no_place,
	  without_devices)
