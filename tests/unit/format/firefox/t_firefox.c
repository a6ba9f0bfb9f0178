// tier: test
#include "format/formats.h"
#include "random_profile.h"
#include "read_text.h"

#include "profile/state.h"
#include "spelled_profile.h"
#include "waits_profile.h"

#include "base/err.h"
#include "format/firefox/firefox.h"

static const struct format *const f = &format_firefox;

static void check_golden(const char *path, const char *type, const char *unit, const char *want)
{
	struct profile *p = read_golden(path);
	char *got = folded_type(p, type, unit);
	ck_assert_str_eq(got, want);
	free(got);
	profile_free(p);
}

/* --- round trips ---------------------------------------------------------------------------------- */

/* One frame of every kind, with file, line and binary each or not. */
static uint32_t made_frame(struct sink *s, uint32_t i)
{
	static const char *const binaries[] = { "", "libc.so.6", "app.jar" };
	char name[32], file[32] = "";
	snprintf(name, sizeof name, "fn %u \"\xc3\xbc\"", i);
	if (i % 3)
		snprintf(file, sizeof file, "src/%u.c", i % 5);
	struct frame frame = { .kind = i % FRAME_KINDS,
			       .mapping = MAPPING_NONE,
			       .line = i % 4 * 10 };
	frame.function = sink_string(s, name);
	frame.file = sink_string(s, file);
	frame.binary = sink_string(s, binaries[i % 3]);
	return s->ops->frame(s, &frame);
}

/* For a type that the caller fills in. */
static struct profile *made_profile(int64_t period)
{
	enum { FRAMES = 60, SAMPLES = 500, THREADS = 7 };
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	struct rng rng = { 5 };
	uint32_t frames[FRAMES], series[THREADS];
	for (uint32_t i = 0; i < FRAMES; i++)
		frames[i] = made_frame(s, i);
	struct type type = { .name = sink_string(s, "off-cpu") };
	for (uint32_t i = 0; i < THREADS; i++) {
		struct label labels[2] = {
			{ .key = sink_string(s, "comm"),
			  .str = sink_string(s, i % 2 ? "io" : "main") },
			{ .key = sink_string(s, "process"), .str = sink_string(s, "server") },
		};
		struct series one = { .type = s->ops->type(s, &type),
				      .period = period,
				      .labels = s->ops->labels(s, labels, i % 3) };
		series[i] = s->ops->series(s, &one);
	}
	for (int i = 0; i < SAMPLES; i++) {
		uint32_t stack[20], n = rng_below(&rng, 20), who = rng_below(&rng, THREADS);
		for (uint32_t k = 0; k < n; k++)
			stack[k] = frames[(k * 7 + rng_below(&rng, 3)) % FRAMES];
		struct sample sample = { .time_ns = 1 + rng_below(&rng, 1u << 30),
					 .value = (int64_t)rng_below(&rng, 1 << 20) - 1000,
					 .series = series[who],
					 .stack = s->ops->stack(s, stack, n),
					 .pid = who == 3 ? SAMPLE_NO_ID : who / 2,
					 .tid = who == 3 ? SAMPLE_NO_ID : 100 + who,
					 .cpu = SAMPLE_NO_ID };
		s->ops->sample(s, &sample);
	}
	s->ops->meta(s)->start_wall_ns = 1700000000123000000;
	return p;
}

static struct profile *rewritten(struct profile *p, const struct format_write_opts *opts)
{
	char *text = written(f, p, opts);
	ck_assert(firefox_detect(text, strlen(text) < INPUT_PEEK ? strlen(text) : INPUT_PEEK));
	struct profile *again = read_text(f, text);
	ck_assert_uint_eq(again->meta.loss[LOSS_INPUT_SKIPPED], 0);
	free(text);
	return again;
}

/* Each stack with kinds, binaries and files, which spelled_profile leaves out. */
static void check_binaries(struct profile *p)
{
	for (size_t i = 0; i < p->frames.frames.n; i++) {
		const struct frame *a = &p->frames.frames.v[i];
		const char *name = profile_str(p, a->function);
		uint32_t number = strtoul(name + 3, NULL, 10);
		static const char *const binaries[] = { "", "libc.so.6", "app.jar" };
		ck_assert_str_eq(profile_str(p, a->binary), binaries[number % 3]);
		ck_assert_int_eq(a->kind, number % FRAME_KINDS);
	}
}

START_TEST(representable_data_comes_back)
{
	static const struct {
		const char *sample_type, *unit, *period_unit;
		int64_t period;
	} types[] = { { "samples", "count", "nanoseconds", 10101010 },
		      { "delay", "nanoseconds", NULL, 0 },
		      { "delay", "microseconds", NULL, 0 },
		      { "inuse_space", "bytes", "bytes", 524288 },
		      { "faults", "pages", NULL, 0 } };
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		struct profile *p = made_profile(types[i].period);
		struct sink *s = profile_sink(p);
		struct type *t = &p->series.types.v[0];
		t->sample_type = sink_string(s, types[i].sample_type);
		t->unit = sink_string(s, types[i].unit);
		t->period_type = sink_string(s, types[i].period_unit ? "cpu" : "");
		t->period_unit = sink_string(s, types[i].period_unit ? types[i].period_unit : "");
		struct format_write_opts opts = { 0 };
		struct profile *again = rewritten(p, &opts);
		p->meta.duration_ns = again->meta.duration_ns;
		assert_same_profile(p, again, SPELL_TIMES);
		check_binaries(again);
		struct profile *twice = rewritten(again, &opts);
		assert_same_profile(again, twice, SPELL_TIMES);
		profile_free(p);
		profile_free(again);
		profile_free(twice);
	}
}
END_TEST

/* Addresses and inlined lines become frames by name: the visible names are preserved, for each thread. */
START_TEST(visible_data_comes_back)
{
	static const char *const types[] = { "samples", "alloc_space" };
	for (uint64_t seed = 1; seed < 30; seed++) {
		struct random_profile r = random_profile(
			seed, (struct random_shape){ .n_stacks = 200, .n_samples = 400 });
		for (int i = 0; i < 2; i++) {
			struct format_write_opts opts = { .type = types[i],
							  .annotate = ANNOTATE_KINDS,
							  .tree = { .by = { BY_PROCESS, BY_TID },
								    .n_by = 2 } };
			struct profile *again = rewritten(r.p, &opts);
			char *want = written(&format_folded, r.p, &opts);
			char *got = written(&format_folded, again, &opts);
			ck_assert_str_eq(got, want);
			free(want);
			free(got);
			profile_free(again);
		}
		profile_free(r.p);
	}
}
END_TEST

/* The requirements of the Profiler's src/types/profile.ts, checked by another program. */
static const char checker[] =
	"import json,sys\n"
	"p=json.load(open(sys.argv[1])); m=p[\"meta\"]; S=p[\"shared\"][\"stringArray\"]; "
	"C=m[\"categories\"]\n"
	"assert m[\"preprocessedProfileVersion\"]==56 and m[\"interval\"]>0 and "
	"[x[\"name\"] for x in m[\"markerSchema\"]]==[\"Wait\"]\n"
	"assert any(c[\"color\"]==\"grey\" for c in C) and all(c[\"subcategories\"][0]==\"Other\" "
	"for c in C)\n"
	"assert len(set(S))==len(S)\n"
	"def rng(col,n,null=False):\n"
	"  for x in col: assert (x is None and null) or (type(x) is int and 0<=x<n), (x,n)\n"
	"total=0\n"
	"for t in p[\"threads\"]:\n"
	"  assert type(t[\"pid\"]) is str and type(t[\"isMainThread\"]) is bool and "
	"t[\"pausedRanges\"]==[]\n"
	"  for k in \"samples stackTable frameTable funcTable resourceTable nativeSymbols "
	"markers\".split():\n"
	"    for c,v in t[k].items():\n"
	"      if type(v) is list: assert len(v)==t[k][\"length\"], (k,c)\n"
	"  "
	"s,st,fr,fu,r=t[\"samples\"],t[\"stackTable\"],t[\"frameTable\"],t[\"funcTable\"],t["
	"\"resourceTable\"]\n"
	"  rng(s[\"stack\"],st[\"length\"],True); assert s[\"time\"]==sorted(s[\"time\"]) and "
	"s[\"length\"]>0\n"
	"  assert s[\"weightType\"] in (\"samples\",\"tracing-ms\",\"bytes\"); "
	"total+=sum(s[\"weight\"])\n"
	"  for i,x in enumerate(st[\"prefix\"]): assert x is None or 0<=x<i\n"
	"  k=t[\"markers\"]; rng(k[\"name\"],len(S)); rng(k[\"category\"],len(C))\n"
	"  for x,a,b,d in zip(k[\"phase\"],k[\"startTime\"],k[\"endTime\"],k[\"data\"]): assert "
	"x==1 and a<b and d[\"type\"]==\"Wait\" and d[\"state\"]\n"
	"  rng(st[\"frame\"],fr[\"length\"]); rng(fr[\"func\"],fu[\"length\"]); "
	"rng(fr[\"category\"],len(C))\n"
	"  assert len(set(zip(st[\"prefix\"],st[\"frame\"])))==st[\"length\"]\n"
	"  for c in \"address inlineDepth subcategory nativeSymbol innerWindowID line "
	"column\".split(): fr[c]\n"
	"  rng(fu[\"name\"],len(S)); rng(fu[\"fileName\"],len(S),True)\n"
	"  rng([x for x in fu[\"resource\"] if x!=-1],r[\"length\"])\n"
	"  rng(r[\"lib\"],len(p[\"libs\"])); rng(r[\"name\"],len(S)); assert all(x==1 for x in "
	"r[\"type\"])\n"
	"print(len(p[\"threads\"]),total)\n";

static const char waits_lister[] =
	"import json,sys\n"
	"p=json.load(open(sys.argv[1])); S=p[\"shared\"][\"stringArray\"]\n"
	"for t in sorted(p[\"threads\"],key=lambda t: t[\"tid\"]):\n"
	"  k=t[\"markers\"]\n"
	"  for i in range(k[\"length\"]): "
	"print(t[\"tid\"],S[k[\"name\"][i]],k[\"data\"][i][\"state\"],"
	"k[\"startTime\"][i],k[\"endTime\"][i])\n";

/* A wait is an interval, from its start to its end in milliseconds. */
START_TEST(waits_are_intervals)
{
	char dir[32], path[64];
	struct err err = { 0 };
	temp_dir(dir);
	snprintf(path, sizeof path, "%s/x.firefox.json", dir);
	struct profile *p = waits_profile(WAITS_WALL);
	struct format_write_opts opts = { .type = "wall" };
	ck_assert_int_eq(format_write_file(f, p, &opts, path, &err), 0);
	free(shell("python3 -c '%s' %s", checker, path));
	char *said = shell("python3 -c '%s' %s", waits_lister, path);
	ck_assert_str_eq(said,
			 "100 poll/epoll off-cpu 1000 3000\n100 poll/epoll off-cpu 3000 5000\n"
			 "100 poll/epoll off-cpu 5000 7000\n100 poll/epoll off-cpu 7000 9000\n"
			 "100 futex/lock off-cpu 9000 9800\n100 sched-wait sched-wait 9800 9900\n"
			 "101 disk I/O off-cpu 6000 6500\n101 disk I/O off-cpu 6600 7100\n"
			 "101 disk I/O off-cpu 7200 7700\n101 disk I/O off-cpu 7800 8300\n"
			 "101 disk I/O off-cpu 8400 8900\n101 sched-wait sched-wait 9000 9700\n"
			 "101 sched-wait sched-wait 9700 10000\n"
			 "102 sleep/timer off-cpu 9000 9800\n103 poll/epoll off-cpu 0 10000\n");
	free(said);
	profile_free(p);
	shell_do("rm -r %s", dir);
}
END_TEST

START_TEST(the_profiler_would_take_it)
{
	char dir[32], path[64];
	struct err err = { 0 };
	temp_dir(dir);
	snprintf(path, sizeof path, "%s/x.firefox.json", dir);
	ck_assert_ptr_eq(format_by_ending(path), f);
	for (uint64_t seed = 1; seed < 4; seed++) {
		struct random_profile r = random_profile(
			seed, (struct random_shape){ .n_stacks = 300, .n_samples = 999 });
		struct format_write_opts opts = { .type = "alloc_space" };
		ck_assert_int_eq(format_write_file(f, r.p, &opts, path, &err), 0);
		char *said = shell("python3 -c '%s' %s", checker, path);
		long long threads, total;
		ck_assert_int_eq(sscanf(said, "%lld %lld", &threads, &total), 2);
		ck_assert_int_eq(total, profile_total(r.p, r.alloc));
		ck_assert_int_gt(threads, 1);
		free(said);
		profile_free(r.p);
	}
	shell_do("rm -r %s", dir);
}
END_TEST

START_TEST(samples_without_times_get_some)
{
	struct profile *p = folded_profile("a;b 5\na 2\n");
	struct format_write_opts opts = { 0 };
	struct profile *again = rewritten(p, &opts);
	ck_assert_int_eq(profile_total(again, 0), 7);
	ck_assert_int_eq(again->samples.time_ns[1], 1000000);
	profile_free(p);
	profile_free(again);
}
END_TEST

/* --- other programs' files ------------------------------------------------------------------------ */

/* As written by Firefox and `perf script report gecko`. */
#define GECKO_META \
	"\"meta\":{\"version\":27,\"interval\":2,\"startTime\":1700000001000.5,\"stackwalk\":1," \
	"\"categories\":[" \
	"{\"name\":\"Other\"},{\"name\":\"Kernel\"},{\"name\":\"JavaScript\"}]}"
#define GECKO_THREAD(name, pid) \
	"{\"name\":\"" name "\",\"tid\":5,\"pid\":" pid ",\"processName\":\"proc\"," \
	"\"samples\":{\"schema\":{\"stack\":0,\"time\":1,\"eventDelay\":2},\"data\":[[2,1.5,0],[" \
	"3,3.5],[4,5,0],[null,6]]}," \
	"\"frameTable\":{\"schema\":{\"location\":0,\"relevantForJS\":1,\"line\":4,\"column\":5," \
	"\"category\":6}," \
	"\"data\":[[0,false,0,null,null,null,0],[1,false,0,null,null,null,1],[2,true,0,null,null," \
	"null,2],[3,false,0,null,null,null,0],[4,false]]}," \
	"\"stackTable\":{\"schema\":{\"prefix\":0,\"frame\":1},\"data\":[[null,0],[0,2],[1,1],[1," \
	"3],[0,4]]}," \
	"\"stringTable\":[\"(root)\",\"do_read (in [kernel.kallsyms])\",\"go " \
	"(http://x/a.js:12:34)\",\"0x1010\",\"0x9999\"]," \
	"\"markers\":{\"schema\":{},\"data\":[[1,{\"stack\":{\"samples\":{}}}]]}}"
#define GECKO_LIBS \
	"\"libs\":[{\"name\":\"b.so\",\"start\":8192,\"end\":9000},{\"name\":\"a.so\",\"start\":" \
	"4096,\"end\":5000}]"

START_TEST(gecko_profiles_are_read)
{
	static const char text[] =
		"{" GECKO_META "," GECKO_LIBS
		",\"threads\":[" GECKO_THREAD("T", "4") "],"
							"\"processes\":[{\"meta\":{\"startTime\":"
							"1700000001002.5},\"libs\":[],\"threads\":"
							"[" GECKO_THREAD("U", "\"6\"") "]}]}";
	struct profile *p = read_text(f, text);
	struct format_write_opts opts = { .annotate = ANNOTATE_KINDS,
					  .tree = { .by = { BY_TID }, .n_by = 1 } };
	char *got = written(&format_folded, p, &opts);
	ck_assert_str_eq(
		got, "T-4/5 1\nT-4/5;[unknown] 1\nT-4/5;go;a.so+0x10 1\nT-4/5;go;do_read_[k] 1\n"
		     "U-6/5 1\nU-6/5;[unknown] 1\nU-6/5;go;[unknown] 1\nU-6/5;go;do_read 1\n");
	free(got);
	profile_free(p);
}
END_TEST

/* Resources number the libraries of their thread, in the file's order. */
START_TEST(libraries_of_threads_stay_apart)
{
#define LIBS_THREAD(tid, libs) \
	"{\"name\":\"T\",\"pid\":1,\"tid\":" tid ",\"libs\":[" libs "]," \
	"\"samples\":{\"length\":1,\"stack\":[0],\"time\":[0]}," \
	"\"stackTable\":{\"length\":1,\"frame\":[0],\"prefix\":[null]}," \
	"\"frameTable\":{\"length\":1,\"func\":[0]}," \
	"\"funcTable\":{\"length\":1,\"name\":[0],\"resource\":[0]}," \
	"\"resourceTable\":{\"length\":1,\"lib\":[1],\"name\":[-1]}," \
	"\"stringArray\":[\"0x10\"]}"
#define LIB_A "{\"name\":\"a.so\",\"start\":4096,\"end\":5000}"
#define LIB_B "{\"name\":\"b.so\",\"start\":8192,\"end\":9000}"
#define LIB_C "{\"name\":\"c.so\",\"start\":9216,\"end\":9500}"
	static const char text[] =
		"{\"meta\":{\"version\":24,\"preprocessedProfileVersion\":30,\"interval\":1,"
		"\"startTime\":0},\"threads\":[" LIBS_THREAD("1", LIB_A "," LIB_B) "," LIBS_THREAD(
			"2", LIB_C "," LIB_B) "," LIBS_THREAD("3", "") "],\"libs\":[" LIB_B
								       "," LIB_A "]}";
	check_folded(f, text, NULL, NULL, "a.so+0x10 1\nb.so+0x10 2\n", 0);
}
END_TEST

/* Recordings of the developer tools of Firefox 59 to 90 contain the profile. */
START_TEST(recordings_of_the_developer_tools_are_read)
{
	static const char text[] =
		"{\"label\":\"x\",\"duration\":274.2,\"markers\":[],\"frames\":[],\"memory\":[],"
		"\"ticks\":[],\"allocations\":{\"sites\":[]},\"profile\":{" GECKO_LIBS
		"," GECKO_META ",\"threads\":[" GECKO_THREAD("T", "4") "]},\"version\":3}";
	ck_assert(firefox_detect(text, strlen(text)));
	check_folded(f, text, NULL, NULL, "[empty] 1\n[unknown] 1\ngo;a.so+0x10 1\ngo;do_read 1\n",
		     0);
}
END_TEST

/* Two threads that only slept; times are since the boot. */
START_TEST(pythons_sampler_takes_wall_time)
{
	struct profile *p = read_golden("tests/golden/firefox/python315-sleeping.json.gz");
	uint32_t type = profile_pick_type(p, NULL);
	ck_assert_str_eq(profile_str(p, p->series.types.v[type].name), "wall");
	ck_assert_uint_eq(p->series.types.n, 1);
	ck_assert_int_eq(profile_total(p, type), 3000);
	ck_assert_int_eq(state_of_type_in(p, type), STATE_UNSAID);
	ck_assert_int_eq(p->meta.start_wall_ns, 0);
	ck_assert_int_eq(frame_named(p, "_run_code")->kind, FRAME_PYTHON);
	profile_free(p);
}
END_TEST

START_TEST(gecko_frames_say_where_they_are)
{
	struct profile *p = read_text(f, "{" GECKO_META "," GECKO_LIBS
					 ",\"threads\":[" GECKO_THREAD("T", "4") "]}");
	const struct frame *go = frame_named(p, "go"), *read = frame_named(p, "do_read");
	ck_assert_int_eq(go->kind, FRAME_JS);
	ck_assert_uint_eq(go->line, 12);
	ck_assert_str_eq(profile_str(p, go->file), "http://x/a.js");
	ck_assert_int_eq(read->kind, FRAME_KERNEL);
	ck_assert_str_eq(profile_str(p, read->binary), "[kernel.kallsyms]");
	ck_assert_int_eq(frame_named(p, "a.so+0x10")->kind, FRAME_NATIVE);
	ck_assert_int_eq(p->samples.time_ns[0], 1500000);
	ck_assert_int_eq(p->meta.start_wall_ns, 1700000001000500000);
	ck_assert_int_eq(p->series.series.v[0].period, 2000000);
	profile_free(p);
}
END_TEST

/* Members of one processed profile in our own order; version 58 has sources, later ones share all tables. */
#define TABLES \
	"\"stackTable\":{\"frame\":[0,1,1],\"prefix\":[null,0,null],\"length\":3}," \
	"\"frameTable\":{\"func\":[0,1],\"line\":[null,7],\"category\":[null,1],\"address\":[-1,-" \
	"1]}," \
	"\"funcTable\":{\"name\":[0,1],\"isJS\":[true,false],\"resource\":[-1,0],\"source\":[0," \
	"null],\"lineNumber\":[3,null]}," \
	"\"resourceTable\":{\"name\":[2],\"lib\":[0]}"
#define STRINGS       "\"stringArray\":[\"main\",\"read\",\"libc\",\"a.js\"]"
#define SOURCES       "\"sources\":{\"filename\":[3]}"
#define SAMPLES(rest) "\"samples\":{\"stack\":[1,2,null],\"time\":[1,2,3]" rest "}"
#define META \
	"\"meta\":{\"categories\":[{\"name\":\"Other\"},{\"name\":\"Kernel\"}],\"interval\":1," \
	"\"preprocessedProfileVersion\":60}"

START_TEST(tables_may_be_shared_and_in_any_order)
{
	static const char *const texts[] = {
		"{" META ",\"threads\":[{" TABLES "," STRINGS "," SAMPLES("") "," SOURCES "}]}",
		"{\"threads\":[{" SAMPLES("") "," TABLES "}],\"shared\":{" SOURCES "," STRINGS
					      "}," META "}",
		"{\"threads\":[{" SAMPLES("") "}],\"shared\":{" STRINGS "," TABLES "," SOURCES
					      "}," META "}",
	};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct profile *p = read_text(f, texts[i]);
		struct format_write_opts opts = { .annotate = ANNOTATE_KINDS };
		char *got = written(&format_folded, p, &opts);
		ck_assert_str_eq(got, "[empty] 1\nmain;read_[k] 1\nread_[k] 1\n");
		ck_assert_str_eq(profile_str(p, frame_named(p, "main")->file), "a.js");
		ck_assert_uint_eq(frame_named(p, "main")->line, 3);
		ck_assert_uint_eq(frame_named(p, "read")->line, 7);
		ck_assert_str_eq(profile_str(p, frame_named(p, "read")->binary), "libc");
		ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
		free(got);
		profile_free(p);
	}
}
END_TEST

#define ONE_THREAD(rest) "{" META ",\"threads\":[{" TABLES "," STRINGS ",\"samples\":{" rest "}}]}"

START_TEST(weights_are_counts_times_or_bytes)
{
	check_folded(f, ONE_THREAD("\"stack\":[1,2],\"weight\":[3,4],\"weightType\":\"samples\""),
		     "cpu", NULL, "main;read 3\nread 4\n", 0);
	check_folded(f,
		     ONE_THREAD("\"weight\":[0.5,4],\"weightType\":\"tracing-ms\",\"stack\":[1,2]"),
		     "trace", "us", "main;read 500\nread 4000\n", 0);
	check_folded(f, ONE_THREAD("\"stack\":[1,2],\"weight\":[3,-4],\"weightType\":\"bytes\""),
		     "memory", NULL, "main;read 3\nread -4\n", 0);
	struct profile *p = read_text(f, ONE_THREAD("\"stack\":[1,2,1],\"timeDeltas\":[5,0.25,1]"));
	ck_assert_int_eq(p->samples.time_ns[2], 6250000);
	profile_free(p);
}
END_TEST

#define IN_UNITS(unit, rest) \
	"{\"meta\":{\"interval\":2,\"preprocessedProfileVersion\":50,\"sampleUnits\":{\"time\":" \
	"\"ms\"," \
	"\"threadCPUDelta\":\"" unit "\"}},\"threads\":[{" TABLES "," STRINGS \
	",\"samples\":{" rest "}}]}"

/* Samples of blocked threads are no CPU time. */
START_TEST(cpu_time_is_what_the_threads_used)
{
	check_golden("tests/golden/reported/firefox-idle-as-cpu.json", "cpu", "us",
		     "main;work 2000\n");
	check_golden("tests/golden/reported/firefox-idle-as-cpu.json", "wall", "us",
		     "main;epoll_wait_[o] 8000\nmain;work_[c] 2000\n");
	static const char samples[] = IN_UNITS("ns", "\"stack\":[1,2,1,2],\"time\":[0,2,4,6],"
						     "\"threadCPUDelta\":[null,1500000,500000,0]");
	check_folded(f, samples, "cpu", "us", "main;read 500\nread 1500\n", 0);
	check_folded(f, samples, "wall", "us",
		     "main;read_[c] 2000\nmain;read_[o] 2000\nread_[c] 2000\nread_[o] 2000\n", 0);
	/* The most cycles per ms are a whole CPU. */
	static const char cycles[] = IN_UNITS("variable CPU cycles",
					      "\"threadCPUDelta\":[0,6000,1500],\"stack\":[1,2,1],"
					      "\"time\":[0,2,4]");
	check_folded(f, cycles, "cpu", "us", "main;read 500\nread 2000\n", 0);
	/* Without deltas samples are counted; without a known unit deltas are relative. */
	check_folded(f, IN_UNITS("ns", "\"stack\":[1,2],\"threadCPUDelta\":[null,null]"), "cpu",
		     NULL, "main;read 1\nread 1\n", 0);
	check_folded(f, IN_UNITS("furlongs", "\"stack\":[1,2],\"threadCPUDelta\":[1,2]"), "cpu",
		     "us", "main;read 1000\nread 2000\n", 0);
}
END_TEST

/* A thread cannot use more than the time that has passed; reading the two clocks takes some. */
START_TEST(cpu_time_is_at_most_the_time_that_has_passed)
{
	static const char much[] = IN_UNITS("ns", "\"stack\":[1,2,1,2],\"time\":[0,2,4,6],"
						  "\"threadCPUDelta\":[9000000,1500000,2300000,"
						  "50000000]");
	check_folded(f, much, "cpu", "us", "main;read 4300\nread 3700\n", 0);
	struct profile *p = read_text(f, much);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_TOO_LARGE], 2);
	ck_assert_int_eq(p->meta.loss_ns[LOSS_INPUT_TOO_LARGE], 7000000 + 47800000);
	profile_free(p);
	static const char late[] =
		IN_UNITS("ns", "\"stack\":[1,2,1],\"time\":[0,2,4],\"threadCPUDelta\":[0,"
			       "1990000,2010000]");
	p = read_text(f, late);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_TOO_LARGE], 0);
	profile_free(p);
	/* No times: an interval has passed. */
	p = read_text(f, IN_UNITS("ns", "\"stack\":[1],\"threadCPUDelta\":[3000000]"));
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_TOO_LARGE], 1);
	profile_free(p);
}
END_TEST

#define THREAD_OF(name, rest) \
	"{\"name\":\"" name "\"," TABLES "," STRINGS \
	",\"samples\":{\"stack\":[1,2,1],\"time\":[0,1,2]" rest "}}"

/* Threads of one file: a CPU has the same speed for all of them. */
START_TEST(cpu_time_of_several_threads)
{
	static const char meta[] = "{\"meta\":{\"interval\":1,\"preprocessedProfileVersion\":50%s},"
				   "\"threads\":[%s,%s]}";
	static const char half[] = THREAD_OF("half", ",\"threadCPUDelta\":[0,1000,1000]");
	static const char busy[] = THREAD_OF("busy", ",\"threadCPUDelta\":[0,2000,2000]");
	static const char idle[] = THREAD_OF("idle", ",\"threadCPUDelta\":[0,0,0]");
	static const char none[] = THREAD_OF("none", "");
	static const char cycles[] =
		",\"sampleUnits\":{\"threadCPUDelta\":\"variable CPU cycles\"}";
	static const char us[] = ",\"sampleUnits\":{\"threadCPUDelta\":\"us\"}";
	char text[8192];
	snprintf(text, sizeof text, meta, cycles, half, busy);
	check_folded(f, text, "cpu", "us", "main;read 1500\nread 1500\n", 0);
	snprintf(text, sizeof text, meta, "", busy, half); /* the unit is not named */
	check_folded(f, text, "cpu", "us", "main;read 1500\nread 1500\n", 0);
	snprintf(text, sizeof text, meta, us, half, idle);
	check_folded(f, text, "cpu", "us", "main;read 1000\nread 1000\n", 0);
	check_folded(f, text, "wall", "us",
		     "main;read_[c] 1000\nmain;read_[o] 3000\nread_[c] 1000\nread_[o] 1000\n", 0);
	/* One of them without deltas: its CPU time is not known. */
	snprintf(text, sizeof text, meta, us, half, none);
	check_folded(f, text, "cpu", "us", "main;read 1000\nread 1000\n", 0);
	struct profile *p = read_text(f, text);
	ck_assert_uint_eq(p->series.types.n, 2);
	profile_free(p);
}
END_TEST

START_TEST(dangling_references_are_skipped_and_counted)
{
	check_folded(f, ONE_THREAD("\"stack\":[1,99,2]"), NULL, NULL, "main;read 1\nread 1\n", 1);
	static const char tables[] =
		"{" META ",\"threads\":[{" STRINGS
		",\"funcTable\":{\"name\":[0,9]},\"frameTable\":{\"func\":[0,1,7]},"
		"\"stackTable\":{\"frame\":[0,0,0,1,2,9,0],\"prefix\":[null,2,1,0,0,0,50]},"
		"\"samples\":{\"stack\":[0,1,2,3,4,5,6]}}]}";
	check_folded(f, tables, NULL, NULL, "main 1\nmain;[unknown] 2\n", 4);
	/* Rows of different length: missing values are null. */
	check_folded(f,
		     "{" META ",\"threads\":[5,null,{" STRINGS
		     ",\"stackTable\":{\"frame\":[0]},\"frameTable\":{\"func\":[0]},"
		     "\"samples\":{\"stack\":[0,0],\"weight\":[2]}}]}",
		     NULL, NULL, "[unknown] 3\n", 0);
}
END_TEST

START_TEST(nothing_to_read_is_an_error)
{
	check_refused(f, "", "");
	check_refused(f, "{}", "no thread");
	check_refused(f, "[]", "no thread");
	check_refused(f, ONE_THREAD("\"stack\":[]"), "no thread");
	check_refused(f, ONE_THREAD("\"stack\":[77]"), "no thread");
	check_refused(f, "{\"threads\":{]}", "");
}
END_TEST

START_TEST(a_file_may_be_cut_anywhere)
{
	static const char gecko[] = "{" GECKO_META "," GECKO_LIBS
				    ",\"processes\":[{\"threads\":[" GECKO_THREAD("U", "6") "]}]}";
	static const char processed[] =
		"{" META ",\"threads\":[{" TABLES "," STRINGS "," SAMPLES("") "," SOURCES "}]}";
	check_cut_anywhere(f, gecko, strlen(gecko));
	check_cut_anywhere(f, processed, strlen(processed));
	struct profile *p = folded_profile("a;b 5\na 2\n");
	struct format_write_opts opts = { 0 };
	char *own = written(f, p, &opts);
	check_cut_anywhere(f, own, strlen(own));
	free(own);
	profile_free(p);
}
END_TEST

START_TEST(detected_by_content)
{
	static const struct {
		const char *text;
		bool is;
	} cases[] = {
		{ "{" META, true },
		{ "{" GECKO_META, true },
		{ "{\"threads\":[{\"processType\":\"default\",", true },
		{ "{\"meta\":{\"name\":\"x\"},\"a\":1}", false },
		{ "{\"meta\":{\"interval\":1},\"traceEvents\":[", false },
		{ "{\"$schema\":\"https://www.speedscope.app/"
		  "file-format-schema.json\",\"threads\":[{\"frameTable\":1",
		  false },
		{ "", false },
		{ "main 1\n", false },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ck_assert_msg(firefox_detect(cases[i].text, strlen(cases[i].text)) == cases[i].is,
			      "%s", cases[i].text);
}
END_TEST

UNIT_MAIN("firefox", representable_data_comes_back, visible_data_comes_back, waits_are_intervals,
	  the_profiler_would_take_it, samples_without_times_get_some, gecko_profiles_are_read,
	  libraries_of_threads_stay_apart, recordings_of_the_developer_tools_are_read,
	  pythons_sampler_takes_wall_time, gecko_frames_say_where_they_are,
	  tables_may_be_shared_and_in_any_order, weights_are_counts_times_or_bytes,
	  cpu_time_is_what_the_threads_used, cpu_time_of_several_threads,
	  cpu_time_is_at_most_the_time_that_has_passed, dangling_references_are_skipped_and_counted,
	  nothing_to_read_is_an_error, a_file_may_be_cut_anywhere, detected_by_content)
