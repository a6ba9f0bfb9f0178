// tier: test
/* Written traces, compared with their recordings and with what is read back. */
#include "read_text.h"
#include "waits_profile.h"

#include "base/err.h"
#include "base/json/json_read.h"
#include "format/trace/chrome_trace.h"

static const struct format *const f = &format_chrome_trace;

static char *written_wall(struct profile *p, struct tree_opts tree)
{
	return written(f, p, &(struct format_write_opts){ .type = "wall", .tree = tree });
}

static void check_has(const char *text, const char *part)
{
	ck_assert_msg(strstr(text, part) != NULL, "no %s in %.2000s", part, text);
}

START_TEST(a_thread_is_a_track_of_boxes)
{
	struct profile *p = waits_profile(WAITS_WALL | WAITS_EXACT);
	char *text = written_wall(p, (struct tree_opts){ 0 });
	check_has(text, "{\"ph\":\"M\",\"pid\":100,\"tid\":101,\"name\":\"thread_name\",\"args\":{"
			"\"name\":\"worker/1 \xe2\x98\x83\"}}");
	/* Two consecutive waits of the same kind are one box, unless something is between them. */
	check_has(text, "{\"ph\":\"X\",\"pid\":100,\"tid\":102,\"name\":\"nap\",\"cat\":\"native\","
			"\"ts\":9000000,\"dur\":800000}");
	check_has(text, "{\"ph\":\"X\",\"pid\":100,\"tid\":101,\"name\":\"pread64\",\"cat\":"
			"\"kernel\",\"ts\":6000000,\"dur\":500000}");
	check_has(text, "{\"ph\":\"X\",\"pid\":100,\"tid\":103,\"name\":\"epoll_wait\",\"cat\":"
			"\"kernel\",\"ts\":0,\"dur\":10000000}");
	check_has(text,
		  "\"otherData\":{\"exporter\":\"cresset " CRESSET_VERSION "\",\"type\":\"wall\"");
	free(text);
	profile_free(p);
}
END_TEST

/* The boxes have the times of each stack's samples, to the nanosecond: here no sample is cut by another. */
START_TEST(times_survive_a_round_trip)
{
	struct profile *p = waits_profile(WAITS_OFF_CPU);
	char *want = folded_type(p, "off-cpu", "ns");
	char *text = written(f, p, &(struct format_write_opts){ .type = "off-cpu" });
	check_folded(f, text, NULL, "ns", want, 0);
	free(text);
	free(want);
	profile_free(p);
}
END_TEST

/* Slices have the same start and length. Before, each was drawn around its start. */
START_TEST(a_trace_that_was_read_is_written_unchanged)
{
	static const char trace[] =
		"[{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"name\":\"a\",\"ts\":0,\"dur\":1000},"
		"{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"name\":\"b\",\"ts\":100,\"dur\":200},"
		"{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"name\":\"c\",\"ts\":1500,\"dur\":500},"
		"{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"name\":\"d\",\"ts\":1500,\"dur\":0.7}]";
	struct profile *p = read_text(f, trace);
	char *text = written(f, p, &(struct format_write_opts){ 0 });
	check_has(text, "\"name\":\"a\",\"cat\":\"native\",\"ts\":0,\"dur\":1000}");
	check_has(text, "\"name\":\"b\",\"cat\":\"native\",\"ts\":100,\"dur\":200}");
	check_has(text, "\"name\":\"c\",\"cat\":\"native\",\"ts\":1500,\"dur\":500}");
	check_has(text, "\"name\":\"d\",\"cat\":\"native\",\"ts\":1500,\"dur\":0.7}");
	check_folded(f, text, NULL, "ns", "a 800000\na;b 200000\nc 500000\nd 700\n", 0);
	free(text);
	profile_free(p);
}
END_TEST

START_TEST(nanoseconds_are_preserved)
{
	struct profile *p = waits_profile(WAITS_OFF_CPU);
	for (size_t i = 0; i < p->samples.n; i++) {
		p->samples.time_ns[i] += 17 + i;
		p->samples.length_ns[i] -= 3;
		p->samples.value[i] -= 3;
	}
	char *want = folded_type(p, "off-cpu", "ns");
	char *text = written(f, p, &(struct format_write_opts){ .type = "off-cpu" });
	check_folded(f, text, NULL, "ns", want, 0);
	free(text);
	free(want);
	profile_free(p);
}
END_TEST

START_TEST(a_part_of_the_time_is_that_part)
{
	struct profile *p = waits_profile(WAITS_OFF_CPU);
	struct tree_opts part = { .time_from_ns = 9100 * WAITS_MS, .time_to_ns = 9200 * WAITS_MS };
	char *text = written(f, p, &(struct format_write_opts){ .type = "off-cpu", .tree = part });
	check_folded(f, text, NULL, "ms",
		     "main;loop;lock;futex;[blocked: futex/lock];[woken by: worker/1 (101)] 100\n"
		     "start;nap;nanosleep;[blocked: sleep/timer] 100\n"
		     "start;wait;epoll_wait;[blocked: poll/epoll] 100\n",
		     0);
	free(text);
	profile_free(p);
}
END_TEST

START_TEST(names_follow_annotate)
{
	struct profile *p = waits_profile(WAITS_OFF_CPU);
	char *text = written(
		f, p, &(struct format_write_opts){ .type = "off-cpu", .annotate = ANNOTATE_ALL });
	check_has(text, "\"name\":\"pread64_[k]\"");
	free(text);
	profile_free(p);
}
END_TEST

START_TEST(a_trace_needs_times)
{
	struct profile *p = folded_profile("main;work 3\n");
	struct err err = { 0 };
	struct out out = { .fd = -1 };
	ck_assert_int_eq(f->write(p, &(struct format_write_opts){ 0 }, &out, &err), -EINVAL);
	check_has(err.text, "no times");
	ck_assert_uint_eq(out.pending.len, 0);
	profile_free(p);
}
END_TEST

/* Boxes of 100 ns each, more than a track may have. */
START_TEST(a_track_has_no_more_boxes_than_fit)
{
	struct waits_maker m = {
		.p = profile_new(), .with = WAITS_OFF_CPU, .tid = 100, .comm = "app"
	};
	struct sink *s = profile_sink(m.p);
	waits_types(&m);
	waits_sample(&m, m.off_cpu, 0, 1, WAITS_MS, "a;b");
	uint32_t stacks[2] = { waits_stack(m.p, "a;b"), waits_stack(m.p, "c;d") };
	struct sample sample = { .length_ns = 100,
				 .value = 100,
				 .series = m.p->samples.series[0],
				 .pid = 100,
				 .tid = 100 };
	for (int i = 0; i < TRACE_LANE_BOXES / 2 + 1000; i++) {
		sample.time_ns = WAITS_START_NS + WAITS_MS + 100 * i;
		sample.stack = stacks[(i + 1) % 2];
		s->ops->sample(s, &sample);
	}
	m.p->meta.start_mono_ns = WAITS_START_NS;
	m.p->meta.duration_ns = 1000 * WAITS_MS;
	char *text = written(f, m.p, &(struct format_write_opts){ 0 });
	check_has(text, " frames below 1 us\"");
	check_has(text, "\"name\":\"b\",\"cat\":\"native\",\"ts\":0,\"dur\":1000}");
	check_has(text, "\"frames_merged\":");
	free(text);
	profile_free(m.p);
}
END_TEST

UNIT_MAIN("chrome_trace_write", a_thread_is_a_track_of_boxes, times_survive_a_round_trip,
	  a_trace_that_was_read_is_written_unchanged, nanoseconds_are_preserved,
	  a_part_of_the_time_is_that_part, names_follow_annotate, a_trace_needs_times,
	  a_track_has_no_more_boxes_than_fit)
