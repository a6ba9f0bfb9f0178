// tier: test
/* Trees as bytes: known ones. tests/web/tree_bin.test.js compares many with JSON, using its own decoder. */
#include "base/buf.h"
#include "base/mem.h"
#include "format/common/tree_bin.h"
#include "profile/frame.h"
#include "profile/tree/tree_stacks.h"
#include "unit.h"

#include <math.h>

static uint32_t func(struct tree *t, const char *name, const char *binary, uint8_t kind,
		     bool inlined)
{
	struct tree_func f = { .name = strtab_put(&t->strings, name),
			       .binary = strtab_put(&t->strings, binary),
			       .kind = kind,
			       .inlined = inlined };
	return tree_func_intern(t, &f);
}

/* all ─ main (self 3) ─┬ read (self 200)
 *                      └ (2 frames) (self 1) */
static struct tree *small_tree(void)
{
	struct tree *t = tree_new();
	tree_set_unit(t, "cpu", "samples", 0, NULL);
	uint32_t main_node = tree_child(t, TREE_ROOT, func(t, "main", "app", FRAME_NATIVE, false));
	uint32_t read_node = tree_child(t, main_node, func(t, "read", "", FRAME_KERNEL, true));
	uint32_t rest = tree_child(t, main_node, tree_rest_func(t, 2, 0));
	t->nodes.v[main_node].self = 3;
	t->nodes.v[read_node].self = 200;
	t->nodes.v[rest].self = 1;
	t->unfiltered_total = 300;
	tree_total(t);
	return t;
}

static char *header_of(const struct buf *b, struct cur *rest)
{
	struct cur c = cur_of(b->data, b->len);
	ck_assert_int_eq(memcmp(cur_take(&c, 4), "CRT1", 4), 0);
	size_t len = cur_varint(&c);
	const char *text = cur_take(&c, len);
	ck_assert_ptr_nonnull(text);
	*rest = c;
	return xstrndup(text, len);
}

#define KINDS \
	"\"kinds\":[\"rest\",\"native\",\"kernel\",\"jit\",\"python\",\"java\",\"go\",\"js\"," \
	"\"ruby\"," \
	"\"php\",\"lua\",\"perl\",\"erlang\",\"gpu-source\",\"gpu-kernel\",\"gpu-function\"," \
	"\"gpu-instruction\",\"gpu-stall\",\"interpreted\",\"marker\"],"

START_TEST(known_bytes)
{
	static const char bytes[] = "\0\4\3\4\x0a" /* lengths of strings */
				    "mainappread(2 frames)"
				    "\0\1\3\4"   /* names: of the root, main, read, the rest */
				    "\0\0\0\0"   /* files */
				    "\0\0\0\0"   /* lines */
				    "\0\2\0\0"   /* mappings */
				    "\x13\1\2\0" /* kinds */
				    "\0\0\1\0"   /* flags */
				    "\4\0\0\0\1" /* depths */
				    "\4\0\1\2\3" /* frames */
				    "\5\0\3\xc8\1\1" /* self */;
	struct tree *t = small_tree();
	struct buf b = { 0 };
	struct cur c;
	tree_sort(t, ORDER_NAME); /* "(2 frames)" would be before "read" */
	tree_bin_write(t, &(struct tree_bin_opts){ .from_ns = 5, .to_ns = 7 }, &b);
	char *header = header_of(&b, &c);
	ck_assert_str_eq(header,
			 "{\"version\":1,\"type\":\"cpu\",\"unit\":\"samples\",\"total\":204,"
			 "\"unfiltered\":300,\"nodes\":4,\"frames\":4,\"strings\":5," KINDS
			 "\"columns\":[\"depth\",\"frame\",\"self\"],\"inverted\":false,"
			 "\"from_ns\":5,\"to_ns\":7}");
	ck_assert_uint_eq(cur_left(&c), sizeof bytes - 1);
	ck_assert_mem_eq(c.p, bytes, sizeof bytes - 1);
	free(header);
	buf_done(&b);
	tree_free(t);
}
END_TEST

START_TEST(text_becomes_utf8)
{
	struct tree *t = tree_new();
	struct buf b = { 0 };
	struct cur c;
	tree_child(t, TREE_ROOT, func(t, "a\xff", "", FRAME_NATIVE, false));
	tree_total(t);
	tree_bin_write(t, &(struct tree_bin_opts){ 0 }, &b);
	free(header_of(&b, &c));
	ck_assert_mem_eq(c.p,
			 "\0\4"
			 "a\xef\xbf\xbd",
			 6);
	buf_done(&b);
	tree_free(t);
}
END_TEST

/* --- differences --- */

static void weigh(struct tree *t, uint32_t node, double n, double squares)
{
	tree_spreads_grow(t);
	t->spreads.v[node].self = (struct tree_spread){ n, squares };
}

/* One function with this value, of n samples. */
static struct tree *side(const char *name, int64_t value, double n, double squares)
{
	struct tree *t = tree_new();
	tree_set_unit(t, "cpu", "samples", 0, NULL);
	uint32_t node = tree_child(t, TREE_ROOT, func(t, name, "", FRAME_NATIVE, false));
	t->nodes.v[node].self = t->unfiltered_total = value;
	weigh(t, node, n, squares);
	tree_total(t);
	return t;
}

static void check_columns(struct tree *newer, struct tree *older, const char *columns,
			  const char *values, size_t len)
{
	struct buf b = { 0 };
	struct cur c;
	tree_diff(newer, older, false);
	tree_bin_write(newer,
		       &(struct tree_bin_opts){ .norm = "rate", .seconds = 2, .seconds_b = 1.5 },
		       &b);
	char *header = header_of(&b, &c);
	ck_assert_ptr_nonnull(strstr(header, columns));
	ck_assert_ptr_nonnull(
		strstr(header, "\"total\":8,\"unfiltered\":8,\"total_b\":12,\"unfiltered_b\":12"));
	ck_assert_ptr_nonnull(strstr(header, "\"norm\":\"rate\",\"seconds\":2,\"seconds_b\":1.5}"));
	ck_assert_uint_ge(cur_left(&c), len);
	ck_assert_mem_eq(c.end - len, values, len);
	free(header);
	buf_done(&b);
	tree_free(newer);
	tree_free(older);
}

START_TEST(the_older_side_is_a)
{
	check_columns(side("f", 12, 3, 48), side("g", 8, 2, 32),
		      "[\"depth\",\"frame\",\"self\",\"self_b\",\"n\",\"n_b\"]",
		      "\3\0\0\1\3\0\1\2\3\0\0\10\3\0\14\0\3\0\0\2\3\0\3\0", 24);
}
END_TEST

START_TEST(varying_weights_are_written)
{
	check_columns(side("f", 12, 3, 50), side("f", 8, 2, 32), "\"n\",\"n_b\",\"w2\",\"w2_b\"]",
		      "\20\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x40\x40" /* 32 */
		      "\20\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x49\x40" /* 50 */,
		      34);
}
END_TEST

START_TEST(unknown_values_are_omitted)
{
	check_columns(side("f", 12, NAN, NAN), side("f", 8, 2, 32), "\"self\",\"self_b\"],",
		      "\2\0\10\2\0\14", 6);
}
END_TEST

START_TEST(values_below_zero)
{
	struct tree *t = small_tree();
	struct buf b = { 0 };
	struct cur c;
	t->nodes.v[1].self = -3;
	tree_total(t);
	tree_bin_write(t, &(struct tree_bin_opts){ 0 }, &b);
	char *header = header_of(&b, &c);
	ck_assert_ptr_nonnull(strstr(header, "\"signed\":true"));
	ck_assert_mem_eq(c.end - 6, "\5\0\5\x90\3\2", 6); /* zigzag: 0 -3 200 1 */
	free(header);
	buf_done(&b);
	tree_free(t);
}
END_TEST

UNIT_MAIN("tree_bin", known_bytes, text_becomes_utf8, the_older_side_is_a,
	  varying_weights_are_written, unknown_values_are_omitted, values_below_zero)
