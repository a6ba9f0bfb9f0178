// tier: test
#include "read_text.h"

#include "format/v8/v8.h"

static const struct format *const f = &format_heapprofile;

#define NODE(id, name, size, children) \
	"{\"callFrame\":{\"functionName\":\"" name "\",\"url\":\"u.js\",\"lineNumber\":4}," \
	"\"selfSize\":" size ",\"id\":" id ",\"children\":[" children "]}"

START_TEST(a_known_file_adds_up)
{
	struct profile *p = read_golden("tests/golden/v8/node24.heapprofile");
	uint32_t type = profile_pick_type(p, NULL);
	ck_assert_str_eq(profile_type_name(p, type), "inuse_space");
	ck_assert_str_eq(profile_str(p, p->series.types.v[type].unit), "bytes");
	/* The sum of selfSize, by python. */
	ck_assert_int_eq(profile_total(p, type), 97796000);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
	ck_assert_int_eq(frame_named(p, "allocBig")->kind, FRAME_JS);
	profile_free(p);
}
END_TEST

START_TEST(sizes_belong_to_their_stacks)
{
	check_folded(f,
		     "{\"head\":" NODE("1", "(root)", "0",
				       NODE("2", "a", "5", NODE("3", "", "7", ""))) ",\"samples\":["
										    "{\"size\":5,"
										    "\"nodeId\":2,"
										    "\"ordinal\":1}"
										    "]}",
		     NULL, NULL, "a 5\na;(anonymous) 7\n", 0);
	/* Nothing lives any more. */
	check_folded(f, "{\"head\":" NODE("1", "(root)", "0", "") ",\"samples\":[]}", NULL, NULL,
		     "", 0);
	/* Two nodes with one id. */
	check_folded(f, "{\"head\":" NODE("1", "a", "4", NODE("1", "b", "6", "")) "}", NULL, NULL,
		     "a 4\n", 2);
}
END_TEST

START_TEST(a_file_may_be_cut_anywhere)
{
	check_cut_anywhere(f, "{\"head\":" NODE("1", "a", "4", NODE("2", "b", "6", "")) "}",
			   strlen("{\"head\":" NODE("1", "a", "4", NODE("2", "b", "6", "")) "}"));
	check_refused(f, "{\"head\":[]}", "without a node");
	check_refused(f, "{}", "without a node");
}
END_TEST

START_TEST(content_tells_the_format)
{
	static const char heap[] = "{\"head\":" NODE("1", "a", "4", "") "}";
	static const char cpu[] = "{\"head\":{\"functionName\":\"(root)\",\"hitCount\":0}}";
	ck_assert(heapprofile_detect(heap, strlen(heap)));
	ck_assert(!heapprofile_detect(cpu, strlen(cpu)));
	ck_assert(!cpuprofile_detect(heap, strlen(heap)));
	ck_assert(!heapprofile_detect("", 0));
}
END_TEST

UNIT_MAIN("heapprofile", a_known_file_adds_up, sizes_belong_to_their_stacks,
	  a_file_may_be_cut_anywhere, content_tells_the_format)
