// tier: test
#include "read_text.h"

#include "base/buf.h"
#include "base/err.h"
#include "format/v8/v8.h"

static const struct format *const f = &format_cpuprofile;

/* The file's content according to another program: each sample's stack, with 1 for it and the time until the next. */
static const char witness[] =
	"import json,sys,collections\n"
	"p=json.load(open(sys.argv[1])); by={n[\"id\"]:n for n in p[\"nodes\"]}; up={}\n"
	"for n in p[\"nodes\"]:\n"
	"  for c in n.get(\"children\",[]): up[c]=n[\"id\"]\n"
	"def stack(i):\n"
	"  s=[]\n"
	"  while i is not None:\n"
	"    s.append(by[i][\"callFrame\"][\"functionName\"] or \"(anonymous)\"); i=up.get(i)\n"
	"  s=[x for x in s if x!=\"(root)\"]; return \";\".join(reversed(s)) or \"[empty]\"\n"
	"t=p[\"startTime\"]; rows=[]\n"
	"for i,d in zip(p[\"samples\"],p[\"timeDeltas\"]): t+=d; rows.append((t,i))\n"
	"rows.sort(key=lambda r:r[0]); c=collections.Counter(); d=collections.Counter()\n"
	"for k,(t,i) in enumerate(rows):\n"
	"  u=rows[k+1][0] if k+1<len(rows) else p[\"endTime\"]\n"
	"  c[stack(i)]+=1; d[stack(i)]+=max(0,u-t)*1000\n"
	"o=c if sys.argv[2]==\"samples\" else d\n"
	"for s in sorted(o,key=lambda s:s.encode()):\n"
	"  if o[s]: print(s,o[s])\n";

static char *sorted(const char *text)
{
	char dir[32];
	temp_dir(dir);
	char path[64];
	snprintf(path, sizeof path, "%s/in", dir);
	FILE *out = fopen(path, "w");
	fputs(text, out);
	fclose(out);
	char *got = shell("LC_ALL=C sort %s", path);
	shell_do("rm -r %s", dir);
	return got;
}

static void check_witness(const char *path, const char *type, const char *unit)
{
	struct profile *p = read_golden(path);
	char *folded = folded_type(p, type, unit);
	char *got = sorted(folded);
	char *text = shell("python3 -c '%s' %s %s", witness, path, type);
	char *want = sorted(text);
	ck_assert_str_eq(got, want);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
	free(text);
	free(want);
	free(got);
	free(folded);
	profile_free(p);
}

START_TEST(a_known_file_matches_python)
{
	static const char path[] = "tests/golden/chrome/chrome65-simple.cpuprofile";
	check_witness(path, "samples", "samples");
	check_witness(path, "cpu", "ns");
	struct profile *p = read_golden(path);
	ck_assert_int_eq(p->meta.start_mono_ns, 163140599286000);
	ck_assert_int_eq(p->meta.duration_ns, 47892000);
	ck_assert_int_eq(p->samples.time_ns[0], 163140599286000 + 11575000);
	ck_assert_uint_eq(frame_named(p, "d")->line, 14);
	ck_assert_int_eq(frame_named(p, "d")->kind, FRAME_JS);
	profile_free(p);
}
END_TEST

/* Recorded now. */
START_TEST(nodes_own_profiles_match_python)
{
	static const char script[] =
		"function fib(n){return n<2?n:fib(n-1)+fib(n-2)}"
		"function work(){const "
		"t=Date.now();while(Date.now()-t<200){fib(18);[].concat(Array(1e4))}}"
		"work();setTimeout(work,50)";
	char dir[32], path[64];
	temp_dir(dir);
	shell_do("cd %s && echo '%s' >work.js && node --cpu-prof --cpu-prof-name=p work.js", dir,
		 script);
	snprintf(path, sizeof path, "%s/p", dir);
	check_witness(path, "samples", "samples");
	check_witness(path, "cpu", "ns");
	struct profile *p = read_golden(path);
	const struct frame *work = frame_named(p, "work");
	ck_assert_int_eq(work->kind, FRAME_JS);
	ck_assert_uint_eq(work->line, 1);
	ck_assert(strstr(profile_str(p, work->file), "work.js") != NULL);
	ck_assert_int_eq(frame_named(p, "(idle)")->kind, FRAME_NATIVE);
	profile_free(p);
	shell_do("rm -r %s", dir);
}
END_TEST

#define NODE(id, name, rest) \
	"{\"id\":" id ",\"callFrame\":{\"functionName\":\"" name "\",\"url\":\"u\"}" rest "}"
#define ROOT NODE("1", "(root)", ",\"children\":[2]")
#define TWO  NODE("2", "a", ",\"children\":[3]") "," NODE("3", "", "")

START_TEST(columns_have_any_order)
{
	static const char nodes[] = "\"nodes\":[" TWO "," ROOT "]",
			  samples[] = "\"samples\":[2,3,2]", deltas[] = "\"timeDeltas\":[5,1,2]",
			  times[] = "\"startTime\":100,\"endTime\":110";
	const char *parts[] = { nodes, samples, deltas, times };
	for (int i = 0; i < 4; i++) {
		struct buf b = { 0 };
		for (int k = 0; k < 4; k++)
			buf_addf(&b, "%c%s", k ? ',' : '{', parts[(i + k) % 4]);
		buf_adds(&b, "}");
		check_folded(f, buf_cstr(&b), "samples", NULL, "a 2\na;(anonymous) 1\n", 0);
		check_folded(f, buf_cstr(&b), "cpu", "us", "a 3\na;(anonymous) 2\n", 0);
		buf_done(&b);
	}
}
END_TEST

START_TEST(older_and_poorer_forms_are_read)
{
	/* Nested nodes as children, and absolute times instead of differences. */
	check_folded(f,
		     "{\"head\":{\"functionName\":\"(root)\",\"id\":1,\"hitCount\":0,\"children\":["
		     "{\"functionName\":\"a\",\"url\":\"u\",\"id\":2,\"children\":["
		     "{\"functionName\":\"b\",\"id\":4,\"children\":[]}]},"
		     "{\"functionName\":\"c\",\"id\":3}]},\"startTime\":1,\"endTime\":1,"
		     "\"samples\":[4,3,4],\"timestamps\":[1000,1001,1004]}",
		     "cpu", "us", "a;b 1\nc 3\n", 0);
	/* No samples: the hit counts. */
	check_folded(f,
		     "{\"nodes\":[" NODE("2", "a", ",\"hitCount\":4,\"children\":[3]") "," NODE(
			     "3", "b", ",\"hitCount\":3") "]}",
		     NULL, NULL, "a 4\na;b 3\n", 0);
	/* parent instead of children, as in traces; ids as text. */
	check_folded(f,
		     "{\"nodes\":[" NODE("\"x\"", "a", "") "," NODE(
			     "7", "b", ",\"parent\":\"x\"") "],"
							    "\"samples\":[\"x\",7]}",
		     NULL, NULL, "a 1\na;b 1\n", 0);
	/* Out of order: V8 measures from the previous sample, and may step back. */
	check_folded(f,
		     "{\"nodes\":[" ROOT "," TWO "],\"startTime\":0,\"samples\":[2,3,2,2],"
		     "\"timeDeltas\":[10,10,-5,15]}",
		     "cpu", "us", "a 10\na;(anonymous) 10\n", 0);
}
END_TEST

START_TEST(dangling_references_are_skipped_and_counted)
{
	/* A missing node; one with two parents; a duplicate. */
	check_folded(f, "{\"nodes\":[" ROOT "," TWO "],\"samples\":[2,9]}", NULL, NULL, "a 1\n", 1);
	check_folded(f,
		     "{\"nodes\":[" ROOT "," TWO
		     "," NODE("4", "d", ",\"children\":[3,8]") "],\"samples\":[3]}",
		     NULL, NULL, "a;(anonymous) 1\n", 2);
	check_folded(f, "{\"nodes\":[" TWO "," NODE("2", "z", "") "],\"samples\":[2]}", NULL, NULL,
		     "a 1\n", 1);
	/* A cycle, beside a valid tree. */
	check_folded(f,
		     "{\"nodes\":[" NODE("1", "a", ",\"children\":[2]") "," NODE(
			     "2", "b", ",\"children\":[1]") "," NODE("3", "c",
								     "") "],"
									 "\"samples\":[1,2,3]}",
		     NULL, NULL, "c 1\n", 2);
	check_folded(f, "{\"nodes\":[" TWO ",5,{\"callFrame\":{}}],\"samples\":[2,{},[],null,-1]}",
		     NULL, NULL, "a 1\n", 6);
	/* Truncated after a sample. */
	check_folded(f, "{\"nodes\":[" TWO "],\"samples\":[2,3,", NULL, NULL,
		     "a 1\na;(anonymous) 1\n", 1);
}
END_TEST

START_TEST(nothing_to_read_is_an_error)
{
	check_refused(f, "", "");
	check_refused(f, "{}", "no sample");
	check_refused(f, "[]", "no sample");
	check_refused(f, "{\"nodes\":[],\"samples\":[1]}", "no sample");
	check_refused(f, "{\"nodes\":[" NODE("1", "a", ",\"children\":[1]") "],\"samples\":[1]}",
		      "no sample");
	check_refused(f, "{\"nodes\":[}", "");
}
END_TEST

START_TEST(a_file_may_be_cut_anywhere)
{
	check_cut_file(f, "tests/golden/chrome/chrome65-simple.cpuprofile");
}
END_TEST

/* A chain of nodes, each the child of the previous one, all sampled: n * n / 2 frames without a limit. */
START_TEST(a_long_chain_of_nodes_ends)
{
	enum { NODES = 300000 };
	struct buf b = { 0 };
	struct err err = { 0 };
	buf_adds(&b, "{\"nodes\":[");
	for (int i = 0; i < NODES; i++)
		buf_addf(&b,
			 "%s{\"id\":%d,\"callFrame\":{\"functionName\":\"f\"},\"children\":[%d]}",
			 i ? "," : "", i, i + 1);
	buf_adds(&b, "],\"samples\":[299999");
	for (int i = 0; i < NODES; i++)
		buf_addf(&b, ",%d", i);
	buf_adds(&b, "]}");
	struct profile *p = read_bytes(f, b.data, b.len, &err);
	ck_assert_ptr_nonnull(p);
	ck_assert_uint_eq(stack_depth(&p->stacks, p->samples.stack[0]), STACK_MAX_DEPTH);
	ck_assert_uint_gt(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
	profile_free(p);
	buf_done(&b);
}
END_TEST

START_TEST(detected_by_content)
{
	static const struct {
		const char *text;
		bool is;
	} cases[] = {
		{ "{\"nodes\":[" TWO "]}", true },
		{ "{\"startTime\":1,\"nodes\":[{\"callFrame\":{\"functionName\":", true },
		{ "{\"samples\":[1,2],\"timeDeltas\":[1", true },
		{ "{\"head\":{\"functionName\":\"(root)\"", true },
		{ "{\"head\":{\"callFrame\":{\"functionName\":\"\"},\"selfSize\":0", false },
		{ "{\"nodes\":[1,2]}", false },
		{ "{\"traceEvents\":[],\"nodes\":[{\"functionName\":\"\"", false },
		{ "{\"meta\":{},\"nodes\":[{\"functionName\":\"\"", false },
		{ "[{\"nodes\":[{\"functionName\":\"\"}]", false },
		{ "", false },
		{ "main;a 1\n", false },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ck_assert_msg(cpuprofile_detect(cases[i].text, strlen(cases[i].text)) ==
				      cases[i].is,
			      "%s", cases[i].text);
}
END_TEST

UNIT_MAIN("cpuprofile", a_known_file_matches_python, nodes_own_profiles_match_python,
	  columns_have_any_order, older_and_poorer_forms_are_read,
	  dangling_references_are_skipped_and_counted, nothing_to_read_is_an_error,
	  a_file_may_be_cut_anywhere, a_long_chain_of_nodes_ends, detected_by_content)
