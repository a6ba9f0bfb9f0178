// tier: test
#include "rand.h"
#include "read_text.h"

#include "base/buf.h"
#include "base/err.h"
#include "format/trace/chrome_trace.h"

static const struct format *const f = &format_chrome_trace;

static void check_golden(const char *path, const char *type, const char *unit, const char *want)
{
	struct profile *p = read_golden(path);
	char *got = folded_type(p, type, unit);
	ck_assert_str_eq(got, want);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
	free(got);
	profile_free(p);
}

/* Computed by hand from the starts and durations in the files. */
START_TEST(known_files_have_known_times)
{
	check_golden("tests/golden/chrome/simple.json", NULL, "us",
		     "alpha 2\nalpha;beta 3\nalpha;beta;epsilon 4\nalpha;beta;gamma 5\n");
	check_golden("tests/golden/chrome/matching-x.json", NULL, "us",
		     "alpha 8\nalpha;beta;gamma 1\nalpha;gamma;beta 1\n");
	static const char hermes[] = "[root] 3\n[root];[GC Young Gen] 2\n[root];function1 1\n"
				     "[root];function2;function3 1\n";
	check_golden("tests/golden/chrome/simple-with-samples.json", "samples", NULL, hermes);
}
END_TEST

START_TEST(threads_and_processes_retain_their_names)
{
	struct profile *p = read_golden("tests/golden/chrome/multiprocess.json");
	struct format_write_opts opts = { .unit = "us",
					  .tree = { .by = { BY_PROCESS, BY_TID }, .n_by = 2 } };
	char *got = written(&format_folded, p, &opts);
	ck_assert_str_eq(got, "?;p2t0-2/0;epsilon 1\n?;p2t1-2/1;phi 1\n"
			      "p0;p0t0-0/0;alpha 1\np0;p0t1-0/1;beta 1\n"
			      "p1;p1t0-1/0;gamma 1\np1;p1t1-1/1;delta 1\n"
			      "p3;?-3/0;zeta 1\np3;?-3/1;eta 1\n");
	free(got);
	profile_free(p);
}
END_TEST

START_TEST(hermes_frames_have_files_and_lines)
{
	struct profile *p = read_golden("tests/golden/chrome/simple-with-samples.json");
	const struct frame *frame = frame_named(p, "function2");
	ck_assert_uint_eq(frame->line, 418874);
	ck_assert_int_eq(frame->kind, FRAME_JS);
	ck_assert_int_eq(strncmp(profile_str(p, frame->file), "http://localhost:8081/index", 27),
			 0);
	ck_assert_int_eq(frame_named(p, "[root]")->kind, FRAME_NATIVE);
	profile_free(p);
}
END_TEST

#define B(name, ts) "{\"ph\":\"B\",\"pid\":1,\"tid\":1,\"name\":\"" name "\",\"ts\":" #ts "},"
#define E(name, ts) "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"name\":\"" name "\",\"ts\":" #ts "},"
#define X(name, ts, dur) \
	"{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"name\":\"" name "\",\"ts\":" #ts ",\"dur\":" #dur "}" \
	","
#define OTHER(ph) "{\"ph\":\"" ph "\",\"pid\":1,\"tid\":1,\"name\":\"o\",\"ts\":1,\"dur\":9},"
#define NO_NAME_E "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":9}"

START_TEST(slices_nest_as_viewers_nest_them)
{
	static const struct {
		const char *trace, *want;
		uint64_t skipped;
	} cases[] = {
		{ "[" X("c", 2, 3) X("a", 0, 9) "]", "a 6\na;c 3\n", 0 }, /* written at their end */
		{ "[" E("a", 9) B("b", 2) E("b", 4) B("a", 0) "]", "a 7\na;b 2\n", 0 },
		{ "[" X("in", 0, 5) X("out", 0, 9) "]", "out 4\nout;in 5\n", 0 },
		{ "[" B("a", 0) B("b", 4) NO_NAME_E "]", "a 4\na;b 5\n",
		  0 }, /* a ends with the trace */
		{ "[" E("x", 1) X("a", 2, 3) "]", "a 3\n", 1 },
		{ "[" B("a", 0) B("b", 2) E("a", 5) "]", "a 2\na;b 3\n", 1 }, /* no end of b */
		{ "[" B("a", 0) E("a", 5) B("b", 5) E("b", 8) "]", "a 5\nb 3\n", 0 },
		{ "[" B("a", 0) B("b", 3) E("b", 3) E("a", 5) "]", "a 5\n", 0 },
		{ "[" B("a", 0) B("a", 1) E("a", 3) E("a", 9) "]", "a 7\na;a 2\n", 0 },
		{ "[" X("a", 0.5, 1.25) "]", "a 1\n", 0 },
		{ "[" X("a", "0", "7") "]", "a 7\n", 0 },
		{ "[" OTHER("b") OTHER("e") OTHER("n") OTHER("i") OTHER("C") OTHER("s")
			  X("a", 1, 2),
		  "a 2\n", 1 }, /* the text ends early */
		{ "{\"traceEvents\":[" X("a", 0, 2) X("", 3, 1) "],\"x\":[{}]}",
		  "(anonymous) 1\na 2\n", 0 },
		{ "[1,null,{},{\"ph\":\"X\"},{\"ph\":\"X\",\"ts\":1,\"dur\":-5},{\"ph\":7}," X(
			  "a", 0, 1) "]",
		  "a 1\n", 6 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		check_folded(f, cases[i].trace, NULL, "us", cases[i].want, cases[i].skipped);
}
END_TEST

/* The one that loses less is cut. */
START_TEST(slices_that_overlap_are_cut)
{
	static const struct {
		const char *trace, *want;
		uint64_t skipped, cut;
		int64_t cut_ns;
	} cases[] = {
		{ "[" B("a", 0) B("b", 2) E("a", 5) E("b", 6) "]", "a 2\na;b 3\n", 0, 1, 1000 },
		/* Cut at a's end. */
		{ "[" X("a", 0, 10) X("b", 5, 10) "]", "a 5\na;b 5\n", 0, 1, 5000 },
		/* Neighbours: a is cut. */
		{ "[" X("a", 0, 10) X("b", 9, 10) "]", "a 9\nb 10\n", 0, 1, 1000 },
		{ "[" B("a", 0) X("x", 2, 8) E("a", 5) "]", "a 2\nx 8\n", 0, 1, 3000 },
		{ "[" B("a", 0) B("b", 9) E("a", 10) E("b", 19) "]", "a 9\nb 10\n", 0, 1, 1000 },
		{ "[" X("a", 0, 10) B("b", 9) E("b", 19) "]", "a 9\nb 10\n", 0, 1, 1000 },
		/* Both inside a third; the first with a child up to its end. */
		{ "[" X("o", 0, 30) X("a", 0, 10) X("c", 5, 5) X("b", 9, 10) "]",
		  "o 11\no;a 5\no;a;c 4\no;b 10\n", 0, 2, 1000 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		check_folded(f, cases[i].trace, NULL, "us", cases[i].want, cases[i].skipped);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct profile *p = read_text(f, cases[i].trace);
		ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_CUT], cases[i].cut);
		ck_assert_int_eq(p->meta.loss_ns[LOSS_INPUT_CUT], cases[i].cut_ns);
		profile_free(p);
	}
}
END_TEST

/* A slice that begins 1 ns before its neighbour ends, as Kineto writes them. */
START_TEST(slices_that_touch_are_neighbours)
{
	struct profile *p = read_golden("tests/golden/reported/chrome-x-overlap-by-1ns.json");
	char *got = folded_type(p, NULL, "ns");
	ck_assert_str_eq(got, "copy 500000\ngemm 999999\nrelu 2000000\n");
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_CUT], 1);
	ck_assert_int_eq(p->meta.loss_ns[LOSS_INPUT_CUT], 1);
	free(got);
	profile_free(p);
}
END_TEST

#define TOTAL(name, tid, args) \
	"{\"ph\":\"X\",\"pid\":1,\"tid\":" #tid ",\"name\":\"Total " name "\",\"ts\":0,\"dur\":7," \
	"\"args\":{" args "}},"

#define ON(pid, cat, name) \
	"{\"ph\":\"X\",\"pid\":" pid ",\"tid\":9,\"cat\":\"" cat "\",\"name\":\"" name \
	"\",\"ts\":0,\"dur\":7},"

/* A step of PyTorch and the only kernel in it have the same time. */
START_TEST(annotations_are_outside_of_slices)
{
	check_folded(f, "[" ON("1", "kernel", "gemm") ON("1", "gpu_user_annotation", "step") "]",
		     NULL, "us", "step;gemm 7\n", 0);
	check_folded(f, "[" ON("1", "user_annotation", "step") ON("1", "cpu_op", "mm") "]", NULL,
		     "us", "step;mm 7\n", 0);
}
END_TEST

START_TEST(summaries_are_left_out)
{
	check_golden("tests/golden/reported/ftime-trace-total-events.json", NULL, "us",
		     "ExecuteCompiler 100\nExecuteCompiler;Backend 300\n"
		     "ExecuteCompiler;Frontend 600\n");
	struct profile *p =
		read_text(f, "[" TOTAL("f", 2, "\"count\":3,\"avg ms\":1")
				     TOTAL("g", 3, "\"avg ms\":{},\"count\":1") X("f", 0, 9) "]");
	ck_assert_int_eq(profile_total(p, 0), 9000);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SUMMARY], 2);
	ck_assert_int_eq(p->meta.loss_ns[LOSS_INPUT_SUMMARY], 14000);
	profile_free(p);
	/* The span of a recording by PyTorch, and the critical path of Bazel. */
	p = read_text(f, "[" ON("\"Spans\"", "Trace", "PyTorch Profiler (0)")
				 ON("1", "critical path component", "action 'a'") X("f", 0, 9) "]");
	ck_assert_int_eq(profile_total(p, 0), 9000);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SUMMARY], 2);
	ck_assert_int_eq(p->meta.loss_ns[LOSS_INPUT_SUMMARY], 14000);
	profile_free(p);
	/* Functions of these names. */
	check_folded(f, "[" TOTAL("f", 2, "\"count\":3") X("Total", 0, 9) "]", NULL, "us",
		     "Total 9\nTotal f 7\n", 0);
}
END_TEST

/* Asynchronous events are in no thread's stack: they are left out, with the time from begin to end.
 * Those of one category and id are nested; steps and instants have no time. */
START_TEST(asynchronous_events_are_counted_with_their_time)
{
	static const char text[] =
		"[{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"name\":\"work\",\"ts\":0,\"dur\":3},"
		"{\"ph\":\"b\",\"pid\":1,\"tid\":1,\"cat\":\"net\",\"id\":\"0x1\",\"name\":\"get\","
		"\"ts\":1},"
		"{\"ph\":\"b\",\"pid\":1,\"tid\":1,\"cat\":\"net\",\"id\":\"0x1\",\"name\":\"dns\","
		"\"ts\":2},"
		"{\"ph\":\"b\",\"pid\":1,\"tid\":2,\"cat\":\"disk\",\"id\":\"0x1\",\"name\":"
		"\"read\",\"ts\":2},"
		"{\"ph\":\"n\",\"pid\":1,\"tid\":1,\"cat\":\"net\",\"id\":\"0x1\",\"name\":"
		"\"sent\",\"ts\":3},"
		"{\"ph\":\"e\",\"pid\":1,\"tid\":3,\"cat\":\"net\",\"id\":\"0x1\",\"ts\":4.5},"
		"{\"ph\":\"e\",\"pid\":1,\"tid\":1,\"cat\":\"net\",\"id\":\"0x1\",\"name\":\"get\","
		"\"ts\":11},"
		"{\"ph\":\"e\",\"pid\":1,\"tid\":2,\"cat\":\"disk\",\"id\":\"0x1\",\"ts\":12},"
		"{\"ph\":\"e\",\"pid\":1,\"tid\":2,\"cat\":\"disk\",\"id\":\"0x1\",\"ts\":13},"
		"{\"ph\":\"S\",\"pid\":1,\"tid\":1,\"cat\":\"old\",\"id\":7,\"name\":\"a\",\"ts\":"
		"0},"
		"{\"ph\":\"T\",\"pid\":1,\"tid\":1,\"cat\":\"old\",\"id\":7,\"name\":\"a\",\"ts\":"
		"1},"
		"{\"ph\":\"F\",\"pid\":1,\"tid\":1,\"cat\":\"old\",\"id\":7,\"name\":\"a\",\"ts\":"
		"5},"
		"{\"ph\":\"i\",\"pid\":1,\"tid\":1,\"name\":\"now\",\"ts\":5}]";
	struct profile *p = read_text(f, text);
	char *got = folded_type(p, NULL, "us");
	ck_assert_str_eq(got, "work 3\n");
	/* get 10, dns 2.5, read 10, a 5; an end without a begin */
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_ASYNC], 5);
	ck_assert_int_eq(p->meta.loss_ns[LOSS_INPUT_ASYNC], 27500);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
	free(got);
	profile_free(p);
}
END_TEST

START_TEST(durations_that_are_no_numbers_are_counted)
{
	check_folded(f,
		     "[{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"name\":\"g\",\"ts\":1,\"dur\":\"1 ms\"},"
		     "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"name\":\"h\",\"ts\":2,\"dur\":null}," X(
			     "f", 0, 9) "]",
		     NULL, "us", "f 9\n", 1);
}
END_TEST

START_TEST(times_are_exact)
{
	struct profile *p =
		read_text(f, "[" X("b", 9007199254.75, 0.25) X("a", 9007199254.5, 2.5) "]");
	ck_assert_uint_eq(p->samples.n, 3); /* a, b, and the rest of a */
	ck_assert_int_eq(profile_total(p, 0), 2500);
	ck_assert_int_eq(p->meta.start_mono_ns, 9007199254500);
	ck_assert_int_eq(p->meta.duration_ns, 2500);
	static const int64_t start_ns[] = { 9007199254500, 9007199254750, 9007199255000 };
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(p->samples.time_ns[i], start_ns[i]);
		ck_assert_int_eq(p->samples.length_ns[i], p->samples.value[i]);
	}
	profile_free(p);
}
END_TEST

/* Microseconds since 1970 with decimals, as PyTorch writes them, as numbers and as text: more digits
 * than a double has. Kernels that follow each other lose nothing. */
START_TEST(times_since_1970_are_exact)
{
	enum { KERNELS = 2000, LENGTH_NS = 1125 };
	for (int quoted = 0; quoted < 2; quoted++) {
		const char *quote = quoted ? "\"" : "";
		int64_t at_ns = 1732000000000000125;
		struct buf b = { 0 };
		for (int i = 0; i < KERNELS; i++, at_ns += LENGTH_NS)
			buf_addf(&b,
				 "%c{\"ph\":\"X\",\"pid\":0,\"tid\":7,\"name\":\"k%d\","
				 "\"ts\":%s%lld.%03lld%s,\"dur\":%s1.125%s}",
				 i ? ',' : '[', i % 3, quote, (long long)at_ns / 1000,
				 (long long)at_ns % 1000, quote, quote, quote);
		buf_adds(&b, "]");
		struct profile *p = read_text(f, buf_cstr(&b));
		ck_assert_uint_eq(p->samples.n, KERNELS);
		ck_assert_int_eq(profile_total(p, 0), KERNELS * LENGTH_NS);
		ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
		ck_assert_int_eq(p->samples.time_ns[1], 1732000000000001250);
		profile_free(p);
		buf_done(&b);
	}
	check_golden("tests/golden/reported/chrome-x-epoch-us-decimals.json", NULL, "ns",
		     "copy 500000\ngemm 1000125\nrelu 2000100\n");
}
END_TEST

START_TEST(ids_may_be_names)
{
	struct profile *p = read_text(
		f,
		"[{\"ph\":\"X\",\"pid\":\"GPU\",\"tid\":\"stream "
		"7\",\"name\":\"k\",\"ts\":0,\"dur\":1},"
		"{\"ph\":\"X\",\"pid\":\"12\",\"tid\":\"-1\",\"name\":\"l\",\"ts\":0,\"dur\":1}]");
	struct format_write_opts opts = { .unit = "us",
					  .tree = { .by = { BY_PROCESS, BY_COMM }, .n_by = 2 } };
	char *got = written(&format_folded, p, &opts);
	ck_assert_str_eq(got, "?;?;l 1\nGPU;stream_7;k 1\n");
	ck_assert_uint_eq(p->samples.pid[0], SAMPLE_NO_ID);
	ck_assert_uint_eq(p->samples.pid[1], 12);
	ck_assert_uint_eq(p->samples.tid[1], SAMPLE_NO_ID);
	free(got);
	profile_free(p);
}
END_TEST

/* A V8 profile in two pieces, the second with a child of a node of the first, on the thread of its Profile event. */
START_TEST(sampled_profiles_travel_in_pieces)
{
	static const char trace[] =
		"{\"traceEvents\":["
		"{\"args\":{\"data\":{\"startTime\":1000}},\"name\":\"Profile\",\"ph\":\"P\","
		"\"pid\":1,\"tid\":7,\"id\":\"0x1\"},"
		"{\"args\":{\"data\":{\"cpuProfile\":{\"nodes\":[{\"id\":1,\"callFrame\":{"
		"\"functionName\":\"(root)\"}},"
		"{\"id\":2,\"parent\":1,\"callFrame\":{\"functionName\":\"a\",\"url\":\"x.js\","
		"\"lineNumber\":4}}],"
		"\"samples\":[2,2]},\"timeDeltas\":[10,5]}},\"name\":\"ProfileChunk\",\"ph\":\"P\","
		"\"pid\":1,\"tid\":9,\"id\":\"0x1\"},"
		"{\"args\":{\"data\":{\"cpuProfile\":{\"nodes\":[{\"id\":3,\"parent\":2,"
		"\"callFrame\":{\"functionName\":\"b\"}}],"
		"\"samples\":[3]},\"timeDeltas\":[20],\"endTime\":1050}},\"name\":\"ProfileChunk\","
		"\"ph\":\"P\",\"pid\":1,\"tid\":9,\"id\":\"0x1\"},"
		"{\"args\":{\"name\":\"Main\"},\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,"
		"\"tid\":7}]}";
	check_folded(f, trace, "samples", NULL, "a 2\na;b 1\n", 0);
	check_folded(f, trace, "cpu", "us", "a 25\na;b 15\n", 0);
	struct profile *p = read_text(f, trace);
	struct format_write_opts opts = { .tree = { .by = { BY_COMM, BY_TID }, .n_by = 2 } };
	char *got = written(&format_folded, p, &opts);
	ck_assert_str_eq(got, "Main;Main-1/7;a 2\nMain;Main-1/7;a;b 1\n");
	ck_assert_int_eq(p->samples.time_ns[0], 1010000);
	ck_assert_uint_eq(frame_named(p, "a")->line, 5);
	free(got);
	profile_free(p);
	check_cut_anywhere(f, trace, strlen(trace));
}
END_TEST

/* --- any nesting, in any order -------------------------------------------------------------------- */

enum { MOMENTS = 400 };
struct made_trace {
	struct rng rng;
	char **events;
	size_t n;
	char owner[MOMENTS][64]; /* the innermost stack of each microsecond */
};

/* Slices inside [from, to), each at least 1 µs from its neighbours, so that the order in the file does not matter. */
static void make_slices(struct made_trace *t, int from, int to, const char *above, int depth)
{
	int at = from;
	while (depth < 6 && at + 2 < to) {
		int begin = at + 1 + rng_below(&t->rng, 5),
		    end = begin + 1 + rng_below(&t->rng, to - at);
		if (end >= to)
			break;
		char name = 'a' + rng_below(&t->rng, 5), stack[64], text[2][160];
		snprintf(stack, sizeof stack, "%s%s%c", above, *above ? ";" : "", name);
		for (int i = begin; i < end; i++)
			memcpy(t->owner[i], stack, sizeof stack);
		bool whole = rng_below(&t->rng, 2);
		snprintf(text[0], sizeof text[0],
			 "{\"name\":\"%c\",\"ph\":\"%s\",\"ts\":%d,\"dur\":%d}", name,
			 whole ? "X" : "B", begin, end - begin);
		snprintf(text[1], sizeof text[1], "{\"ts\":%d,\"ph\":\"E\",\"name\":\"%c\"}", end,
			 name);
		t->events[t->n++] = strdup(text[0]);
		if (!whole)
			t->events[t->n++] = strdup(text[1]);
		make_slices(t, begin, end, stack, depth + 1);
		at = end;
	}
}

static char *shuffled_trace(struct made_trace *t)
{
	struct buf b = { 0 };
	for (size_t i = t->n; i > 1; i--) {
		size_t k = rng_below(&t->rng, i);
		char *e = t->events[k];
		t->events[k] = t->events[i - 1];
		t->events[i - 1] = e;
	}
	for (size_t i = 0; i < t->n; i++)
		buf_addf(&b, "%s%s", i ? "," : "[", t->events[i]);
	buf_adds(&b, "]");
	return buf_steal(&b);
}

static struct profile *owners_profile(const struct made_trace *t)
{
	struct buf b = { 0 };
	for (int i = 0; i < MOMENTS; i++)
		if (t->owner[i][0])
			buf_addf(&b, "%s 1\n", t->owner[i]);
	struct profile *p = folded_profile(buf_cstr(&b));
	buf_done(&b);
	return p;
}

START_TEST(order_in_the_file_does_not_matter)
{
	for (int round = 0; round < 200; round++) {
		struct made_trace t = { .rng = { round + 1 } };
		t.events = malloc(2 * MOMENTS * sizeof *t.events);
		while (t.n == 0)
			make_slices(&t, 0, MOMENTS, "", 0);
		char *text = shuffled_trace(&t);
		struct profile *p = read_text(f, text), *want = owners_profile(&t);
		char *a = folded_type(p, NULL, "us"), *b = folded_type(want, NULL, NULL);
		ck_assert_str_eq(a, b);
		ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
		for (size_t i = 0; i < t.n; i++)
			free(t.events[i]);
		free(t.events);
		free(text);
		free(a);
		free(b);
		profile_free(p);
		profile_free(want);
	}
}
END_TEST

/* --- hostile -------------------------------------------------------------------------------------- */

START_TEST(files_may_be_cut_anywhere)
{
	check_cut_file(f, "tests/golden/chrome/simple.json");
	check_cut_file(f, "tests/golden/chrome/simple-with-samples.json");
}
END_TEST

/* 300000 nested slices, then as many ends that match none of them. */
START_TEST(deep_slices_and_strange_ends_cost_little)
{
	enum { DEEP = 300000 };
	struct buf b = { 0 };
	struct err err = { 0 };
	for (int i = 0; i < DEEP; i++)
		buf_addf(&b, "%c{\"ph\":\"B\",\"name\":\"f%d\",\"ts\":%d}", i ? ',' : '[', i % 7,
			 i);
	for (int i = 0; i < DEEP; i++)
		buf_addf(&b, ",{\"ph\":\"E\",\"name\":\"g\",\"ts\":%d}", DEEP + i);
	buf_adds(&b, "]");
	struct profile *p = read_bytes(f, b.data, b.len, &err);
	ck_assert_ptr_nonnull(p);
	ck_assert_int_eq(profile_total(p, 0), (2 * DEEP - 1) * 1000LL);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], DEEP);
	profile_free(p);
	buf_done(&b);
}
END_TEST

START_TEST(nothing_to_read_is_an_error)
{
	check_refused(f, "", "");
	check_refused(f, "[]", "no event");
	check_refused(f, "{\"traceEvents\":[]}", "no event");
	check_refused(f, "[" X("a", 1, 0) "]", "no event");
	check_refused(f, "[{\"ph\":\"M\",\"name\":\"thread_name\",\"args\":{\"name\":\"x\"}}]",
		      "no event");
	check_refused(f, "[{\"ph\":}]", "");
	check_refused(f, "3", "no event");
}
END_TEST

/* The first type is shown first. */
START_TEST(marks_of_no_length_are_ignored)
{
	struct profile *p =
		read_text(f, "{\"traceEvents\":[" X(
				     "mark", 1, 0) "],\"samples\":[{\"ts\":\"5\",\"pid\":1,"
						   "\"tid\":\"1\",\"weight\":\"1\",\"sf\":1}],"
						   "\"stackFrames\":{\"1\":{\"name\":\"main\"}}}");
	char *got = folded_type(p, NULL, NULL);
	ck_assert_str_eq(got, "main 1\n");
	free(got);
	profile_free(p);
}
END_TEST

START_TEST(detected_by_content)
{
	static const struct {
		const char *text;
		bool is;
	} cases[] = {
		{ "[" X("a", 1, 1), true },
		{ " [\n{\"args\":{\"a\":[1,{}]},\"cat\":\"x\",\"pid\":1,", true },
		{ "{\"displayTimeUnit\":\"ms\",", true },
		{ "{\"otherData\":{},\"traceEvents\":[", true },
		{ "{\"nodes\":[{\"id\":1,\"callFrame\":{\"functionName\":\"\"}}]}", false },
		{ "{\"meta\":{\"interval\":1},\"threads\":[{\"pid\":1,\"ph\":1}]}", false },
		{ "[1,2]", false },
		{ "[{\"pid\":1}]", false },
		{ "", false },
		{ "main 1\n", false },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ck_assert_msg(chrome_trace_detect(cases[i].text, strlen(cases[i].text)) ==
				      cases[i].is,
			      "%s", cases[i].text);
}
END_TEST

/* As uftrace writes them: ends of waits for a CPU, without their starts. */
START_TEST(lone_ends_of_uftrace_are_left_out)
{
	static const char schedule[] = "\"pid\":1,\"name\":\"linux:schedule\"}";
	struct buf b = { 0 };
	buf_addf(&b,
		 "{\"traceEvents\":[{\"ts\":1,\"ph\":\"B\",\"pid\":1,\"name\":\"f\"},"
		 "{\"ts\":2,\"ph\":\"E\",%s,{\"ts\":3,\"ph\":\"E\",%s,"
		 "{\"ts\":9,\"ph\":\"E\",\"pid\":1,\"name\":\"f\"}]}",
		 schedule, schedule);
	check_folded(f, buf_cstr(&b), NULL, "us", "f 8\n", 0);
	buf_clear(&b);
	buf_addf(&b,
		 "{\"traceEvents\":[{\"ts\":1,\"ph\":\"B\",%s,{\"ts\":3,\"ph\":\"E\",%s,"
		 "{\"ts\":9,\"ph\":\"E\",%s]}",
		 schedule, schedule, schedule);
	check_folded(f, buf_cstr(&b), NULL, "us", "linux:schedule 2\n", 1);
	buf_done(&b);
}
END_TEST

UNIT_MAIN("chrome_trace", known_files_have_known_times, threads_and_processes_retain_their_names,
	  hermes_frames_have_files_and_lines, slices_nest_as_viewers_nest_them,
	  slices_that_overlap_are_cut, slices_that_touch_are_neighbours,
	  asynchronous_events_are_counted_with_their_time, summaries_are_left_out,
	  annotations_are_outside_of_slices, durations_that_are_no_numbers_are_counted,
	  times_are_exact, times_since_1970_are_exact, ids_may_be_names,
	  sampled_profiles_travel_in_pieces, order_in_the_file_does_not_matter,
	  files_may_be_cut_anywhere, deep_slices_and_strange_ends_cost_little,
	  nothing_to_read_is_an_error, marks_of_no_length_are_ignored, detected_by_content,
	  lone_ends_of_uftrace_are_left_out)
