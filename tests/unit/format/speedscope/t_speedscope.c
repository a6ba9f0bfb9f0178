// tier: test
#include "format/formats.h"
#include "random_profile.h"
#include "written.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/json/json_read.h"
#include "format/speedscope/speedscope.h"
#include "format/trace/chrome_trace.h"

#include <errno.h>

static int read_text(const char *text, size_t len, struct profile *p, struct err *err)
{
	struct input *in;
	ck_assert_int_eq(input_open_memory(text, len, &in, err), 0);
	int rc = format_speedscope.read(in, profile_sink(p), err);
	input_close(in);
	return rc;
}

static struct profile *read_text_as(const struct format *f, const char *text)
{
	struct profile *p = profile_new();
	struct err err = { 0 };
	struct input *in;
	ck_assert_int_eq(input_open_memory(text, strlen(text), &in, &err), 0);
	ck_assert_msg(f->read(in, profile_sink(p), &err) == 0, "%s", err.text);
	input_close(in);
	return p;
}

static struct profile *profile_of(const char *text)
{
	struct profile *p = profile_new();
	struct err err = { 0 };
	ck_assert_msg(read_text(text, strlen(text), p, &err) == 0, "%s\n%s", err.text, text);
	return p;
}

static char *folded_in(struct profile *p, const char *unit)
{
	return written(&format_folded, p, &(struct format_write_opts){ .unit = unit });
}

static uint64_t skipped(const struct profile *p)
{
	return p->meta.loss[LOSS_INPUT_SKIPPED];
}

/* Checks the profile read from a text, and the number of skipped parts. */
static void check_read(const char *text, const char *unit, const char *want, uint64_t want_skipped)
{
	struct profile *p = profile_of(text);
	char *got = folded_in(p, unit);
	ck_assert_msg(strcmp(got, want) == 0, "%.999s\nis\n%.999s, not\n%.999s", text, got, want);
	ck_assert_msg(skipped(p) == want_skipped, "%.999s\nskips %llu", text,
		      (unsigned long long)skipped(p));
	free(got);
	profile_free(p);
}

#define FRAMES            "\"shared\":{\"frames\":[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"c\"}]}"
#define FILE_OF(profiles) "{" FRAMES ",\"profiles\":[" profiles "]}"
#define SAMPLED(unit, samples, weights) \
	"{\"type\":\"sampled\",\"name\":\"t\",\"unit\":\"" unit "\",\"samples\":" samples \
	",\"weights\":" weights "}"
#define THREAD(name, unit, start, end, events) \
	"{\"type\":\"evented\",\"name\":\"" name "\",\"unit\":\"" unit "\",\"startValue\":" start \
	",\"endValue\":" end ",\"events\":[" events "]}"
#define EVENTED(unit, start, end, events) THREAD("t", unit, start, end, events)
#define EVENT(type, frame, at)            "{\"type\":\"" type "\",\"frame\":" frame ",\"at\":" at "}"
#define O(frame, at)                      EVENT("O", frame, at)
#define C(frame, at)                      EVENT("C", frame, at)

/* --- reading ---------------------------------------------------------------------------------- */

/* Summed up with jq: .shared.frames as
 * $f|.profiles[0]|[.samples,.weights]|transpose|.[]|([.[0][]|$f[.].name]|join(";")),.[1] */
START_TEST(known_files_have_known_stacks)
{
	static const struct {
		const char *path, *unit, *want;
	} files[] = {
		{ "simple", NULL, "a;b 5\na;b;c 5\na;b;d 4\n" },
		{ "simple-no-pretty-print", NULL, "a;b 5\na;b;c 5\na;b;d 4\n" },
		{ "simple-sampled", "s", "a;b 5\na;b;c 5\na;b;d 4\n" },
		{ "simple-sampled", "ns", "a;b 5000000000\na;b;c 5000000000\na;b;d 4000000000\n" },
	};
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		char path[128];
		struct err err = { 0 };
		struct profile *p = profile_new();
		snprintf(path, sizeof path, "tests/golden/speedscope/%s.speedscope.json",
			 files[i].path);
		ck_assert_int_eq(format_read_file(path, NULL, profile_sink(p), &err), 0);
		char *got = folded_in(p, files[i].unit);
		ck_assert_str_eq(got, files[i].want);
		ck_assert_uint_eq(skipped(p), 0);
		free(got);
		profile_free(p);
	}
}
END_TEST

/* The parts of an object in a random order. */
static void add_shuffled(struct buf *b, struct rng *r, const char **parts, size_t n)
{
	buf_addc(b, '{');
	for (size_t i = n; i > 0; i--) {
		size_t k = rng_below(r, i);
		const char *part = parts[k];
		parts[k] = parts[i - 1];
		parts[i - 1] = part;
		buf_addf(b, "%s%s", i < n ? "," : "", part);
	}
	buf_addc(b, '}');
}

START_TEST(keys_have_any_order)
{
	struct rng r = { 5 };
	for (int round = 0; round < 300; round++) {
		const char *sampled[] = {
			"\"type\":\"sampled\"",    "\"name\":\"s\"", "\"unit\":\"milliseconds\"",
			"\"startValue\":0",        "\"endValue\":3", "\"samples\":[[0],[0,1],[0]]",
			"\"weights\":[1,1.5,0.25]"
		};
		const char *evented[] = { "\"type\":\"evented\"",
					  "\"name\":\"e\"",
					  "\"unit\":\"microseconds\"",
					  "\"startValue\":10",
					  "\"endValue\":20",
					  "\"other\":[{\"events\":[1]}]",
					  "\"events\":[" O("0", "10") "," O("2", "12") "," C(
						  "2", "15") "," C("0", "20") "]" };
		struct buf one = { 0 }, two = { 0 }, profiles = { 0 }, text = { 0 };
		add_shuffled(&one, &r, sampled, 7);
		add_shuffled(&two, &r, evented, 7);
		buf_addf(&profiles, "\"profiles\":[%s,%s]", buf_cstr(&one), buf_cstr(&two));
		const char *file[] = { FRAMES, buf_cstr(&profiles), "\"version\":\"0.0.1\"",
				       "\"activeProfileIndex\":1" };
		add_shuffled(&text, &r, file, 4);
		check_read(buf_cstr(&text), "ns", "a 1257000\na;b 1500000\na;c 3000\n", 0);
		buf_done(&one);
		buf_done(&two);
		buf_done(&profiles);
		buf_done(&text);
	}
}
END_TEST

START_TEST(times_are_nanoseconds)
{
	check_read(FILE_OF(SAMPLED("seconds", "[[0]]", "[0.0012]")), "ns", "a 1200000\n", 0);
	check_read(FILE_OF(SAMPLED("milliseconds", "[[0]]", "[1e-3]")), "ns", "a 1000\n", 0);
	check_read(FILE_OF(SAMPLED("microseconds", "[[0]]", "[2.0005]")), "ns", "a 2001\n", 0);
	check_read(FILE_OF(SAMPLED("nanoseconds", "[[0]]", "[9007199254740993]")), "ns",
		   "a 9007199254740993\n", 0);
	check_read(FILE_OF(SAMPLED("seconds", "[[0]]", "[1e30]")), "ns", "a 9223372036854775807\n",
		   0);
	check_read(FILE_OF(SAMPLED("bytes", "[[0]]", "[4096]")), "bytes", "a 4096\n", 0);
	check_read(FILE_OF(SAMPLED("parsecs", "[[0]]", "[3]")), NULL, "a 3\n", 0);
}
END_TEST

START_TEST(fractions_add_up)
{
	struct buf text = { 0 };
	buf_adds(&text, "{" FRAMES ",\"profiles\":[{\"unit\":\"seconds\",\"samples\":[[0]");
	for (int i = 1; i < 100000; i++)
		buf_adds(&text, ",[0]");
	buf_adds(&text, "],\"weights\":[0.1");
	for (int i = 1; i < 100000; i++)
		buf_adds(&text, ",0.1");
	buf_adds(&text, "]}]}");
	check_read(buf_cstr(&text), "ns", "a 10000000000000\n", 0);
	buf_done(&text);
	/* Counts are integers unless one is not. */
	check_read(FILE_OF(SAMPLED("none", "[[0],[1]]", "[2,3.0]")), NULL, "a 2\nb 3\n", 0);
	check_read(FILE_OF(SAMPLED("none", "[[0],[1],[0]]", "[0.5,2,0.125]")), NULL,
		   "a 625000\nb 2000000\n", 0);
	check_read(FILE_OF(EVENTED("none", "0", "1", O("0", "0.25") "," C("0", "0.75"))), NULL,
		   "a 500000\n", 0);
}
END_TEST

START_TEST(a_fraction_shows_in_the_unit)
{
	struct profile *p = profile_of(FILE_OF(SAMPLED("none", "[[0]]", "[0.5]")));
	ck_assert_str_eq(profile_str(p, p->series.types.v[0].unit), "millionths");
	profile_free(p);
	p = profile_of(FILE_OF(SAMPLED("none", "[[0]]", "[5]")));
	ck_assert_str_eq(profile_str(p, p->series.types.v[0].unit), "count");
	profile_free(p);
}
END_TEST

START_TEST(events_that_do_not_fit_are_skipped)
{
	static const struct {
		const char *events, *want;
		uint64_t skipped;
	} rows[] = {
		{ "", "", 0 },
		{ O("0", "1") "," C("0", "4"), "a 3\n", 0 },
		{ O("0", "1") "," C("0", "2") "," O("0", "5") "," C("0", "9"), "a 5\n", 0 },
		{ O("0", "0") "," O("0", "1") "," C("0", "2") "," C("0", "3"), "a 2\na;a 1\n", 0 },
		{ O("0", "1"), "a 9\n", 1 }, /* open until the end */
		{ C("0", "1") "," O("1", "2") "," C("1", "3"), "b 1\n", 1 },
		{ O("0", "1") "," C("1", "2") "," C("0", "3"), "a 2\n", 1 },
		/* a is closed while b is open: b ends, too, and b's own end is one too many. */
		{ O("0", "1") "," O("1", "2") "," C("0", "4") "," C("1", "5"), "a 1\na;b 2\n", 2 },
		{ O("0", "5") "," C("0", "3") "," O("1", "5") "," C("1", "6"), "b 1\n", 1 },
		{ O("7", "1") "," C("7", "2") "," O("0", "3") "," C("0", "4"), "a 1\n", 1 },
		{ O("-1", "1") "," O("0", "3") "," C("0", "4"), "a 1\n", 1 },
		{ O("0.5", "1") "," O("\"0\"", "1") "," O("0", "3") "," C("0", "4"), "a 1\n", 2 },
		{ EVENT("X", "0", "0") "," O("0", "3") "," C("0", "4"), "a 1\n", 1 },
		{ "{\"type\":\"O\",\"frame\":0},7,[],{}," O("0", "3") "," C("0", "4"), "a 1\n", 4 },
		{ O("0", "1e999") "," O("0", "null") "," O("0", "3") "," C("0", "4"), "a 1\n", 2 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct buf text = { 0 };
		buf_addf(&text, "{" FRAMES ",\"profiles\":[" EVENTED("none", "0", "10", "%s") "]}",
			 rows[i].events);
		check_read(buf_cstr(&text), NULL, rows[i].want, rows[i].skipped);
		buf_done(&text);
	}
}
END_TEST

START_TEST(events_have_times)
{
	struct profile *p = profile_of(FILE_OF(EVENTED(
		"milliseconds", "100", "110",
		O("0", "101") "," O("1", "103") "," C("1", "103.5") "," O("1", "103.5") "," C(
			"1", "104") "," C("0", "105") "," O("2", "109") "," C("2", "110"))));
	static const struct {
		int64_t time_ns, value;
	} want[] = { { 101000000, 2000000 },
		     { 103000000, 1000000 },
		     { 104000000, 1000000 },
		     { 109000000, 1000000 } };
	ck_assert_uint_eq(p->samples.n, 4);
	for (size_t i = 0; i < 4; i++) {
		ck_assert_int_eq(p->samples.time_ns[i], want[i].time_ns);
		ck_assert_int_eq(p->samples.value[i], want[i].value);
		ck_assert_int_eq(sample_length_ns(&p->samples, i), want[i].value);
	}
	ck_assert_int_eq(p->meta.start_mono_ns, 100000000);
	ck_assert_int_eq(p->meta.duration_ns, 10000000);
	struct tree *t = built_tree(p, &(struct tree_opts){ .time_from_ns = 2500000 });
	ck_assert_int_eq(t->nodes.v[TREE_ROOT].total, 3500000);
	tree_free(t);
	profile_free(p);
}
END_TEST

START_TEST(times_since_1970_are_exact)
{
	check_read(
		FILE_OF(EVENTED(
			"microseconds", "1732000000000000.000", "1732000000003000.225",
			O("0", "1732000000000000.000") "," C("0", "1732000000001000.125") "," O(
				"1", "1732000000001000.125") "," C("1", "1732000000003000.225"))),
		"ns", "a 1000125\nb 2000100\n", 0);
}
END_TEST

START_TEST(profiles_are_threads)
{
	struct profile *p = profile_of(
		"{" FRAMES
		",\"name\":\"run\",\"exporter\":\"x@1\",\"activeProfileIndex\":2,\"profiles\":["
		"{\"name\":\"web (pid 12, tid "
		"4294967294)\",\"unit\":\"seconds\",\"samples\":[[0]],\"weights\":[1]},"
		"{\"name\":\"web (pid 12, tid "
		"14)\",\"unit\":\"milliseconds\",\"samples\":[[0]],\"weights\":[2]},"
		"{\"name\":\"heap (pid "
		"1)\",\"unit\":\"bytes\",\"samples\":[[0],[0]],\"weights\":[3,4]},"
		"{\"name\":\"\",\"unit\":\"none\",\"samples\":[[0]],\"weights\":[5]}]}");
	static const struct {
		const char *comm, *unit;
		uint32_t pid, tid;
		int64_t value;
	} want[] = { { "web", "nanoseconds", 12, 4294967294, 1000000000 },
		     { "web", "nanoseconds", 12, 14, 2000000 },
		     { "heap (pid 1)", "bytes", SAMPLE_NO_ID, SAMPLE_NO_ID, 7 },
		     { NULL, "count", SAMPLE_NO_ID, SAMPLE_NO_ID, 5 } };
	ck_assert_uint_eq(p->samples.n, 4);
	for (size_t i = 0; i < 4; i++) {
		const struct series *s = &p->series.series.v[p->samples.series[i]];
		const struct label *comm =
			label_find(&p->series, s->labels, strtab_find(&p->strings, "comm"));
		ck_assert_pstr_eq(comm ? profile_str(p, comm->str) : NULL, want[i].comm);
		ck_assert_str_eq(profile_str(p, p->series.types.v[s->type].unit), want[i].unit);
		ck_assert_uint_eq(p->samples.pid[i], want[i].pid);
		ck_assert_uint_eq(p->samples.tid[i], want[i].tid);
		ck_assert_int_eq(p->samples.value[i], want[i].value);
	}
	ck_assert_uint_eq(p->series.types.n, 3);
	ck_assert_str_eq(profile_str(p, p->series.types.v[profile_pick_type(p, NULL)].unit),
			 "bytes");
	ck_assert_uint_eq(p->meta.comments.n, 2);
	profile_free(p);
}
END_TEST

START_TEST(invalid_events_are_skipped)
{
	check_read(FILE_OF(SAMPLED("none", "[[0],[1],[2]]", "[1,2]")), NULL, "a 1\nb 2\n", 1);
	check_read(FILE_OF(SAMPLED("none", "[[0]]", "[1,2,3]")), NULL, "a 1\n", 2);
	check_read(FILE_OF("{\"weights\":[1,2,3],\"samples\":[[0]]}"), NULL, "a 1\n", 2);
	check_read(FILE_OF("{\"samples\":[[0]]}," SAMPLED("none", "[[1]]", "[1]")), NULL, "b 1\n",
		   1);
	check_read(FILE_OF(SAMPLED("none", "[[0,3],[0,3],[0]]", "[1,1,1]")), NULL, "a 1\n", 2);
	check_read(FILE_OF(SAMPLED(
			   "none",
			   "[[-1],[0,0.5],[\"0\"],0,{},[4294967295],[18446744073709551616],[0]]",
			   "[1,1,1,1,1,1,1,1]")),
		   NULL, "a 1\n", 7);
	check_read(FILE_OF(SAMPLED("none", "[[0],[1],[2],[0]]", "[1,null,\"2\",1e999]")), NULL,
		   "a 1\n", 3);
	check_read(FILE_OF("7,null,[],{}," SAMPLED("none", "[[0]]", "[1]")), NULL, "a 1\n", 0);
	check_read(FILE_OF(SAMPLED("none", "[[]]", "[1]")), NULL, "[empty] 1\n", 0);
	check_read(FILE_OF("{\"samples\":[[0]],\"samples\":[[1]],\"weights\":[1],\"weights\":[2]}"),
		   NULL, "a 1\n", 0);
}
END_TEST

START_TEST(frames_have_files_lines_and_kinds)
{
	struct profile *p = profile_of("{\"shared\":{\"frames\":[{\"name\":\"f\",\"file\":\"x.py\","
				       "\"line\":7,\"col\":3},{\"name\":\"vfs_read\","
				       "\"file\":\"[kernel]\"},{},7,{\"name\":\"f\",\"file\":\"x."
				       "py\",\"line\":7},{\"name\":\"g\",\"line\":-4}]},"
				       "\"profiles\":[" SAMPLED("none", "[[0],[1],[2],[3],[4],[5]]",
								"[1,2,4,8,16,32]") "]}");
	char *got = folded_in(p, NULL);
	ck_assert_str_eq(got, "[unknown] 12\nf 17\ng 32\nvfs_read 2\n");
	ck_assert_uint_eq(p->samples.n, 4); /* equal frames are one */
	ck_assert_uint_eq(p->frames.frames.n, 4);
	const struct frame *f = &p->frames.frames.v[0], *kernel = &p->frames.frames.v[1];
	ck_assert_int_eq(f->kind, FRAME_PYTHON);
	ck_assert_uint_eq(f->line, 7);
	ck_assert_str_eq(profile_str(p, f->file), "x.py");
	ck_assert_int_eq(kernel->kind, FRAME_KERNEL);
	ck_assert_str_eq(profile_str(p, kernel->binary), "[kernel]");
	free(got);
	profile_free(p);
}
END_TEST

/* --- hostile files ---------------------------------------------------------------------------- */

START_TEST(unreadable_files_are_reported)
{
	static const struct {
		const char *text, *words;
	} rows[] = {
		{ "", "JSON" },
		{ "[]", "JSON object" },
		{ "{}", "shared.frames" },
		{ "{\"shared\":{\"frames\":[]}}", "profiles" },
		{ "{\"profiles\":[" SAMPLED("none", "[[0]]", "[1]") "]}", "shared.frames" },
		{ FILE_OF(SAMPLED("none", "[[9]]", "[1]")), "none of 1" },
		{ "{\"shared\":{\"frames\":[]},\"profiles\":[{\"samples\":[[0}]}", "byte" },
		{ "{\"shared\" 5}", "byte" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct profile *p = profile_new();
		struct err err = { 0 };
		ck_assert_int_eq(read_text(rows[i].text, strlen(rows[i].text), p, &err), -EBADMSG);
		ck_assert_msg(strstr(err.text, rows[i].words) != NULL, "%s: %s", rows[i].text,
			      err.text);
		profile_free(p);
	}
}
END_TEST

/* Truncated anywhere: the result is a part of the whole, and the truncation is reported. */
START_TEST(truncated_files_are_read_up_to_the_end)
{
	static const char text[] =
		"{" FRAMES ",\"profiles\":[" SAMPLED("none", "[[0],[0,1]]", "[10,10]") "," EVENTED(
			"none", "0", "100",
			O("0", "10") "," O("1", "20") "," C("1", "30") "," C("0", "50")) "]}";
	size_t len = sizeof text - 1, read = 0;
	for (size_t cut = 0; cut < len; cut++) {
		struct profile *p = profile_new();
		struct err err = { 0 };
		int rc = read_text(text, cut, p, &err);
		ck_assert(rc == 0 || rc == -EBADMSG);
		ck_assert(rc == 0 || *err.text);
		if (rc == 0) {
			ck_assert_uint_gt(skipped(p), 0);
			ck_assert_int_le(p->samples.n ? profile_total(p, 0) : 0, 110);
			read++;
		}
		profile_free(p);
	}
	ck_assert_uint_gt(read, 200);
	check_read(text, NULL, "a 40\na;b 20\n", 0);
}
END_TEST

static void repeat(struct buf *b, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf_adds(b, text);
}

START_TEST(a_stack_of_a_million_frames_retains_its_leaf)
{
	struct buf text = { 0 };
	buf_adds(&text, "{" FRAMES ",\"profiles\":[{\"weights\":[1],\"samples\":[[");
	repeat(&text, "0,", 1000000);
	buf_adds(&text, "1]]}]}");
	struct profile *p = profile_of(buf_cstr(&text));
	ck_assert_uint_eq(p->samples.n, 1);
	ck_assert_uint_eq(stack_depth(&p->stacks, p->samples.stack[0]), STACK_MAX_DEPTH);
	uint32_t leaf = stack_leaf(&p->stacks, p->samples.stack[0]);
	ck_assert_str_eq(profile_str(p, p->frames.frames.v[leaf].function), "b");
	profile_free(p);
	buf_done(&text);
}
END_TEST

/* Each event has another stack, one deeper than the previous one: the work must not grow with the depth. */
START_TEST(a_million_open_frames_are_cheap)
{
	enum { N = 1000000 };
	struct buf text = { 0 };
	buf_adds(&text, "{" FRAMES ",\"profiles\":[{\"unit\":\"seconds\",\"events\":[");
	for (int i = 0; i < N; i++)
		buf_addf(&text, EVENT("O", "0", "%d") ",", i);
	for (int i = 0; i < N; i++)
		buf_addf(&text, EVENT("C", "0", "%d") ",", N + i);
	buf_adds(&text, "{}]}]}");
	struct profile *p = profile_of(buf_cstr(&text));
	ck_assert_uint_eq(skipped(p), 1);
	ck_assert_int_eq(profile_total(p, 0), (2ll * N - 1) * 1000000000);
	struct tree *t = built_tree(p, NULL);
	ck_assert_uint_eq(tree_depth(t), SPEEDSCOPE_MAX_OPEN + 1);
	tree_free(t);
	profile_free(p);
	buf_done(&text);
}
END_TEST

START_TEST(deep_nesting_is_harmless)
{
	struct buf text = { 0 };
	struct profile *p = profile_new();
	struct err err = { 0 };
	buf_adds(&text, "{\"shared\":");
	repeat(&text, "[", 1000000);
	ck_assert_int_eq(read_text(text.data, text.len, p, &err), -EBADMSG);
	profile_free(p);
	buf_done(&text);
}
END_TEST

START_TEST(detected_by_content)
{
	static const struct {
		const char *head;
		bool is;
	} rows[] = {
		{ "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"other\":1",
		  true },
		{ "{\"exporter\":\"x\",\"$schema\":\"https://www.speedscope.app/"
		  "file-format-schema.json\"}",
		  true },
		{ "{\"version\":\"0.0.1\",\"shared\":{\"frames\":[", true },
		{ "{\"profiles\":[{", true },
		{ "\xef\xbb\xbf {\"profiles\":[{", true },
		{ "{\"meta\":{},\"libs\":[],\"shared\":{},\"threads\":[]}", false }, /* Firefox */
		{ "{\"$schema\":\"http://json-schema.org/draft-07/schema#\"}", false },
		{ "{\"traceEvents\":[]}", false },
		{ "[{\"profiles\":[]}]", false },
		{ "{\"nodes\":[],\"samples\":[]}", false },
		{ "{}", false },
		{ "", false },
		{ "profiles", false },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		ck_assert_msg(speedscope_detect(rows[i].head, strlen(rows[i].head)) == rows[i].is,
			      "%s", rows[i].head);
}
END_TEST

/* --- writing ---------------------------------------------------------------------------------- */

static char *speedscope_of(struct profile *p, const struct format_write_opts *opts)
{
	return written(&format_speedscope, p, opts);
}

static void add_thread_sample(struct profile *p, uint32_t series, const char *const *names,
			      uint32_t n, uint32_t tid, int64_t time_ns, int64_t value)
{
	struct sink *s = profile_sink(p);
	uint32_t frames[4];
	for (uint32_t i = 0; i < n; i++) {
		struct frame f = { .mapping = MAPPING_NONE, .function = sink_string(s, names[i]) };
		f.file = sink_string(s, i ? "" : "main.c");
		f.line = i ? 0 : 12;
		frames[i] = s->ops->frame(s, &f);
	}
	struct sample sample = { .time_ns = time_ns,
				 .value = value,
				 .series = series,
				 .stack = s->ops->stack(s, frames, n),
				 .pid = 7,
				 .tid = tid,
				 .cpu = SAMPLE_NO_ID };
	s->ops->sample(s, &sample);
}

static struct profile *threaded_profile(void)
{
	static const char *const a[] = { "main", "read" }, *const b[] = { "main", "<write>" };
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	struct type type = { .name = sink_string(s, "cpu"),
			     .sample_type = sink_string(s, "samples"),
			     .unit = sink_string(s, "count"),
			     .period_type = sink_string(s, "cpu"),
			     .period_unit = sink_string(s, "nanoseconds") };
	struct label comm = { .key = sink_string(s, "comm"), .str = sink_string(s, "web") };
	struct series series = { .type = s->ops->type(s, &type),
				 .period = 10,
				 .labels = s->ops->labels(s, &comm, 1) };
	uint32_t id = s->ops->series(s, &series);
	add_thread_sample(p, id, a, 2, 7, 3000, 1);
	add_thread_sample(p, id, a, 2, 8, 3000, 2);
	add_thread_sample(p, id, b, 2, 8, 2000, 1);
	add_thread_sample(p, id, a, 2, 8, 1500, 1);
	add_thread_sample(p, id, a, 2, 8, 1000, 1);
	return p;
}

START_TEST(threads_are_written_in_the_order_of_time)
{
	struct profile *p = threaded_profile();
	char *got = speedscope_of(p, &(struct format_write_opts){ .title = "t" });
	char want[1024];
	snprintf(want, sizeof want,
		 "{\"$schema\":\"https://www.speedscope.app/"
		 "file-format-schema.json\",\"exporter\":\"cresset@%s\","
		 "\"name\":\"t\",\"activeProfileIndex\":0,\"shared\":{\"frames\":["
		 "{\"name\":\"main\",\"file\":\"main.c\",\"line\":12},{\"name\":\"read\"},"
		 "{\"name\":\"<write>\"}]},\"profiles\":["
		 "{\"type\":\"sampled\",\"name\":\"web (pid 7, tid "
		 "8)\",\"unit\":\"nanoseconds\",\"startValue\":0,"
		 "\"endValue\":50,\"samples\":[[0,1],[0,2],[0,1]],\"weights\":[20,10,20]},"
		 "{\"type\":\"sampled\",\"name\":\"web (pid 7, tid "
		 "7)\",\"unit\":\"nanoseconds\",\"startValue\":0,"
		 "\"endValue\":10,\"samples\":[[0,1]],\"weights\":[10]}]}\n",
		 CRESSET_VERSION);
	ck_assert_str_eq(got, want);
	free(got);
	profile_free(p);
}
END_TEST

/* "thread:leaf@start+length" of all samples. */
static void check_intervals(const struct profile *p)
{
	static const char *const want[] = { "one:a@10000+10000 ", "one:b@20000+15000 ",
					    "one:a@35000+5000 ", "two:c@15000+15000 ",
					    "two:c@50000+15000 " };
	struct buf got = { 0 };
	for (size_t i = 0; i < p->samples.n; i++) {
		uint32_t leaf = stack_leaf(&p->stacks, p->samples.stack[i]);
		const struct series *s = &p->series.series.v[p->samples.series[i]];
		const struct label *comm =
			label_find(&p->series, s->labels, strtab_find(&p->strings, "comm"));
		buf_addf(&got, "%s:%s@%lld+%lld ", profile_str(p, comm->str),
			 profile_str(p, p->frames.frames.v[leaf].function),
			 (long long)p->samples.time_ns[i],
			 (long long)sample_length_ns(&p->samples, i));
	}
	for (size_t i = 0; i < sizeof want / sizeof *want; i++)
		ck_assert_msg(strstr(buf_cstr(&got), want[i]) != NULL, "no %s in %s", want[i],
			      buf_cstr(&got));
	ck_assert_uint_eq(p->samples.n, sizeof want / sizeof *want);
	buf_done(&got);
}

/* Threads without ids: as a trace, back, and as speedscope again. */
START_TEST(intervals_have_their_times_in_traces)
{
	static const char events[] =
		FILE_OF(THREAD("one", "microseconds", "0", "100",
			       O("0", "10") "," O("1", "20") "," C("1", "35") "," C(
				       "0", "40")) "," THREAD("two", "microseconds", "0", "100",
							      O("2", "15") "," C("2", "30") "," O(
								      "2", "50") "," C("2", "65")));
	static const char *const boxes[] = {
		"\"tid\":\"one\",\"name\":\"a\",\"cat\":\"native\",\"ts\":10,\"dur\":30}",
		"\"tid\":\"one\",\"name\":\"b\",\"cat\":\"native\",\"ts\":20,\"dur\":15}",
		"\"tid\":\"two\",\"name\":\"c\",\"cat\":\"native\",\"ts\":15,\"dur\":15}",
		"\"tid\":\"two\",\"name\":\"c\",\"cat\":\"native\",\"ts\":50,\"dur\":15}",
	};
	struct profile *p = profile_of(events);
	char *trace = written(&format_chrome_trace, p, &(struct format_write_opts){ 0 });
	for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++)
		ck_assert_msg(strstr(trace, boxes[i]) != NULL, "no %s in %s", boxes[i], trace);
	struct profile *back = read_text_as(&format_chrome_trace, trace);
	check_intervals(back);
	char *text = speedscope_of(back, &(struct format_write_opts){ 0 });
	struct profile *again = profile_of(text);
	check_intervals(again);
	ck_assert_uint_eq(skipped(again), 0);
	free(trace);
	free(text);
	profile_free(p);
	profile_free(back);
	profile_free(again);
}
END_TEST

START_TEST(filters_and_root_frames_are_written)
{
	struct profile *p = threaded_profile();
	struct format_write_opts focus = { .tree.focus = "write" };
	struct format_write_opts by = { .tree = { .by = { BY_COMM }, .n_by = 1 } };
	struct format_write_opts inverted = { .tree.inverted = true };
	struct format_write_opts late = { .tree.time_from_ns = 2500 };
	static const char *const wants[] = { "main;<write> 10\n",
					     "web;main;<write> 10\nweb;main;read 50\n",
					     "<write>;main 10\nread;main 50\n", "main;read 30\n" };
	const struct format_write_opts *const opts[] = { &focus, &by, &inverted, &late };
	for (size_t i = 0; i < 4; i++) {
		char *text = speedscope_of(p, opts[i]);
		check_read(text, "ns", wants[i], 0);
		free(text);
	}
	profile_free(p);
}
END_TEST

/* All values are above zero: others cannot be written. */
static struct profile *random_of(uint64_t seed, bool periods_differ, bool has_threads)
{
	struct random_profile r =
		random_profile(seed, (struct random_shape){ .n_stacks = 200,
							    .n_samples = 1000,
							    .periods_differ = periods_differ });
	for (size_t i = 0; i < r.p->samples.n; i++) {
		if (r.p->samples.value[i] <= 0)
			r.p->samples.value[i] = 1;
		if (has_threads) {
			r.p->samples.pid[i] = 100;
			r.p->samples.tid[i] = 100 + i % 3;
		}
	}
	return r.p;
}

/* Folded text with each line once: functions of the same name in different files are separate stacks. Frees text. */
static char *each_once(char *text)
{
	struct profile *p = folded_profile(text);
	char *again = folded_in(p, NULL);
	free(text);
	profile_free(p);
	return again;
}

/* Merged or by thread, for any type and period: a reader finds the profile's stacks. */
START_TEST(stacks_survive)
{
	for (uint64_t seed = 0; seed < 40; seed++) {
		struct profile *p = random_of(seed, seed & 1, seed & 2);
		const char *unit = seed & 4 ? "bytes" : "ns";
		struct format_write_opts opts = { .type = seed & 4 ? "alloc" : "cpu",
						  .unit = unit };
		char *want = each_once(written(&format_folded, p, &opts));
		char *text = speedscope_of(p, &opts);
		struct profile *again = profile_of(text);
		char *got = each_once(folded_in(again, unit));
		ck_assert_str_eq(got, want);
		ck_assert_uint_eq(skipped(again), 0);
		free(want);
		free(text);
		free(got);
		profile_free(p);
		profile_free(again);
	}
}
END_TEST

/* The same by another program, directly from the JSON. */
START_TEST(python_finds_the_same_stacks)
{
	static const char python[] =
		"import json, sys, collections\n"
		"d = json.load(open(sys.argv[1]))\n"
		"names = [f['name'] for f in d['shared']['frames']]\n"
		"sums = collections.Counter()\n"
		"for p in d['profiles']:\n"
		"    assert len(p['samples']) == len(p['weights'])\n"
		"    assert sum(p['weights']) == p['endValue']\n"
		"    for s, w in zip(p['samples'], p['weights']):\n"
		"        sums[';'.join(names[i] for i in s) or '[empty]'] += w\n"
		"for s in sums.items(): print(*s)\n";
	char dir[32], path[64];
	temp_dir(dir);
	snprintf(path, sizeof path, "%s/x", dir);
	for (int has_threads = 0; has_threads < 2; has_threads++) {
		struct profile *p = random_of(77, false, has_threads);
		struct format_write_opts opts = { .unit = "ns" };
		struct err err = { 0 };
		char *want = each_once(written(&format_folded, p, &opts));
		ck_assert_int_eq(format_write_file(&format_speedscope, p, &opts, path, &err), 0);
		char *got = each_once(shell("python3 -c \"%s\" %s", python, path));
		ck_assert_str_eq(got, want);
		free(want);
		free(got);
		profile_free(p);
	}
	shell_do("rm -r %s", dir);
}
END_TEST

/* speedscope refuses negative weights, but takes a file without samples. */
START_TEST(values_refused_by_speedscope_are_omitted)
{
	struct profile *p = folded_profile("a;b 5\nc 3\n");
	p->samples.value[0] = -5;
	char *text = speedscope_of(p, &(struct format_write_opts){ 0 });
	check_read(text, NULL, "c 3\n", 0);
	ck_assert_ptr_null(strchr(text, '-') ? strstr(text, ":[-") : NULL);
	free(text);
	text = speedscope_of(p, &(struct format_write_opts){ .tree.focus = "nothing" });
	check_read(text, NULL, "", 0);
	free(text);
	profile_free(p);
}
END_TEST

UNIT_MAIN("speedscope", known_files_have_known_stacks, keys_have_any_order, times_are_nanoseconds,
	  fractions_add_up, a_fraction_shows_in_the_unit, events_that_do_not_fit_are_skipped,
	  events_have_times, times_since_1970_are_exact, profiles_are_threads,
	  invalid_events_are_skipped, frames_have_files_lines_and_kinds,
	  unreadable_files_are_reported, truncated_files_are_read_up_to_the_end,
	  a_stack_of_a_million_frames_retains_its_leaf, a_million_open_frames_are_cheap,
	  deep_nesting_is_harmless, detected_by_content, threads_are_written_in_the_order_of_time,
	  intervals_have_their_times_in_traces, filters_and_root_frames_are_written, stacks_survive,
	  python_finds_the_same_stacks, values_refused_by_speedscope_are_omitted)
