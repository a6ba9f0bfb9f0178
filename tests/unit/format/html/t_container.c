// tier: test
/* A report's container: thinned out rows, trees that are too large, and the bytes around them. */
#include "rand.h"
#include "unit.h"

#include "base/escape.h"
#include "base/hash.h"
#include "base/mem.h"
#include "format/html/container.h"
#include "profile/strtab.h"
#include "profile/tree/time_range.h"
#include "profile/tree/tree.h"

/* --- rows --- */

enum { ROWS = 20000, THREADS = 5, NODES = 40 };
#define SPAN_NS INT64_C(10000000000)

/* Moments and waits of all lengths, some before the start. */
static void random_rows(struct rng *rng, struct container_rows *r)
{
	for (int i = 0; i < ROWS; i++) {
		int64_t length =
			rng_below(rng, 3) ? 0 : rng_below(rng, 1 + (1u << rng_below(rng, 30)));
		vec_push(&r->rows,
			 (struct container_row){ (int64_t)rng_below(rng, SPAN_NS) - SPAN_NS / 20,
						 length, 1 + rng_below(rng, 1000000),
						 rng_below(rng, THREADS), rng_below(rng, NODES) });
	}
}

/* The value of a thread's rows in a range, as a page computes it. */
static int64_t worth(const struct container_rows *r, uint32_t thread, int64_t from, int64_t to)
{
	int64_t sum = 0;
	for (size_t i = 0; i < r->rows.n; i++) {
		const struct container_row *row = &r->rows.v[i];
		struct sample_part part = { row->time_ns, row->length_ns, row->value };
		if (row->thread == thread && sample_part_cut(&part, from, to))
			sum += part.value;
	}
	return sum;
}

static void copy_rows(const struct container_rows *from, struct container_rows *to)
{
	vec_append(&to->rows, from->rows.v, from->rows.n);
}

START_TEST(few_rows_stay_as_they_are)
{
	struct container_rows none = { 0 };
	struct rng rng = { 1 };
	struct container_rows whole = { 0 }, thin = { 0 };
	random_rows(&rng, &whole);
	copy_rows(&whole, &thin);
	container_rows_finalize(&thin, ROWS);
	ck_assert_uint_eq(thin.rows.n, ROWS);
	ck_assert_int_eq(thin.window_ns, 0);
	container_rows_finalize(&none, ROWS);
	ck_assert_uint_eq(none.rows.n, 0);
	for (size_t i = 1; i < thin.rows.n; i++)
		if (thin.rows.v[i].time_ns < thin.rows.v[i - 1].time_ns)
			ck_abort_msg("row %zu is earlier", i);
	vec_done(&whole.rows);
	vec_done(&thin.rows);
}
END_TEST

static void check_windows(size_t most)
{
	struct rng rng = { 2 };
	struct container_rows whole = { 0 }, thin = { 0 };
	random_rows(&rng, &whole);
	copy_rows(&whole, &thin);
	container_rows_finalize(&thin, most);
	ck_assert_uint_le(thin.rows.n, most);
	ck_assert_int_gt(thin.window_ns, 0);
	for (int i = 0; i < 40; i++) {
		int64_t w = thin.window_ns, n = SPAN_NS / w + 2;
		int64_t from = ((int64_t)rng_below(&rng, n) - n / 10) * w;
		int64_t to = from + (int64_t)(1 + rng_below(&rng, n)) * w;
		uint32_t thread = rng_below(&rng, THREADS);
		ck_assert_int_eq(worth(&thin, thread, from, to), worth(&whole, thread, from, to));
	}
	vec_done(&whole.rows);
	vec_done(&thin.rows);
}

/* With any windows, sums between window boundaries are preserved. */
START_TEST(windows_preserve_sums)
{
	static const size_t most[] = { 15000, 8000, 3000, 900, 500 };
	for (int i = 0; i < 5; i++)
		check_windows(most[i]);
}
END_TEST

/* With as many threads and nodes as rows, whole windows of any length keep as many rows. */
START_TEST(irreducible_samples_have_sound_windows)
{
	struct container_rows r = { 0 };
	int64_t sum = 0;
	for (int64_t i = 0; i < 100; i++)
		vec_push(&r.rows, (struct container_row){ (i % 3 - 1) * (INT64_C(1) << 52), 0, i, 1,
							  (uint32_t)i });
	container_rows_finalize(&r, 10);
	ck_assert_int_gt(r.window_ns, INT64_C(1) << 53);
	ck_assert_uint_eq(r.rows.n, 100);
	for (size_t i = 0; i < r.rows.n; i++) {
		const struct container_row *row = &r.rows.v[i];
		ck_assert(row->time_ns == 0 || row->time_ns == -r.window_ns);
		ck_assert_int_eq(row->length_ns, r.window_ns);
		sum += row->value;
	}
	ck_assert_int_eq(sum, 99 * 100 / 2);
	vec_done(&r.rows);
}
END_TEST

START_TEST(rows_are_read_back)
{
	struct rng rng = { 3 };
	struct container_rows r = { 0 };
	struct buf b = { 0 };
	random_rows(&rng, &r);
	container_rows_finalize(&r, ROWS);
	ck_assert(container_rows_put(&r, &b));
	struct cur c = cur_of(b.data, b.len), columns[5];
	for (int i = 0; i < 5; i++) {
		size_t len = cur_varint(&c);
		columns[i] = cur_of(cur_take(&c, len), len);
	}
	ck_assert(!c.bad && cur_left(&c) == 0);
	int64_t time = 0;
	for (size_t i = 0; i < r.rows.n; i++) {
		const struct container_row *row = &r.rows.v[i];
		uint64_t step = cur_varint(&columns[0]);
		time = i ? time + (int64_t)step : (int64_t)(step >> 1 ^ -(step & 1));
		if (time != row->time_ns || cur_varint(&columns[1]) != row->thread ||
		    cur_varint(&columns[2]) != row->node ||
		    (int64_t)cur_varint(&columns[3]) != row->value ||
		    (int64_t)cur_varint(&columns[4]) != row->length_ns)
			ck_abort_msg("row %zu", i);
	}
	buf_done(&b);
	vec_done(&r.rows);
}
END_TEST

/* --- trees --- */

static struct tree *random_tree(struct rng *rng, uint32_t n)
{
	struct tree *t = tree_new();
	tree_set_unit(t, "cpu", "samples", 0, NULL);
	for (uint32_t i = 0; i < n; i++) {
		char name[16];
		snprintf(name, sizeof name, "f%u", (uint32_t)rng_below(rng, 200));
		struct tree_func f = { .name = strtab_put(&t->strings, name) };
		uint32_t node = tree_child(t, rng_below(rng, t->nodes.n), tree_func_intern(t, &f));
		t->nodes.v[node].self += 1 + rng_below(rng, 1 + (1u << rng_below(rng, 20)));
	}
	tree_total(t);
	return t;
}

/* The column of self values, by the numbers given out, read from the output: the second last. */
static int64_t written_self(const struct buf *b, uint32_t number, uint32_t *nodes)
{
	struct cur c = cur_of(b->data, b->len);
	cur_take(&c, 4);
	size_t header = cur_varint(&c);
	const char *text = cur_take(&c, header);
	char *json = xstrndup(text, header);
	*nodes = strtoul(strstr(json, "\"nodes\":") + 8, NULL, 10);
	uint32_t frames = strtoul(strstr(json, "\"frames\":") + 9, NULL, 10);
	uint32_t strings = strtoul(strstr(json, "\"strings\":") + 10, NULL, 10);
	free(json);
	size_t bytes = 0;
	for (uint32_t i = 0; i < strings; i++)
		bytes += cur_varint(&c);
	cur_take(&c, bytes);
	for (uint32_t i = 0; i < 6 * frames; i++)
		cur_varint(&c);
	for (int i = 0; i < 2; i++)
		cur_take(&c, cur_varint(&c));
	cur_varint(&c);
	int64_t self = 0;
	for (uint32_t i = 0; i <= number; i++)
		self = (int64_t)cur_varint(&c);
	ck_assert(!c.bad);
	return self;
}

static void check_tree(uint64_t seed, size_t most)
{
	struct rng rng = { seed };
	struct tree *t = random_tree(&rng, 3000);
	struct buf b = { 0 };
	uint32_t n = 0;
	uint32_t *number = container_put_tree(t, most, NULL, &b);
	int64_t *self = xcalloc(t->nodes.n, sizeof *self);
	for (uint32_t i = 0; i < t->nodes.n; i++)
		self[number[i]] += t->nodes.v[i].self;
	written_self(&b, 0, &n);
	ck_assert_uint_le(n, most < 3000 ? 2 * most + 2 : t->nodes.n);
	for (uint32_t i = 0; i < n; i++)
		ck_assert_int_eq(written_self(&b, i, &n), self[i]);
	free(self);
	free(number);
	buf_done(&b);
	tree_free(t);
}

/* The values of all nodes with a number in the file add up to its value there; small trees are complete. */
START_TEST(nodes_have_their_numbers)
{
	check_tree(4, 100000);
	check_tree(5, 400);
	check_tree(6, 50);
	check_tree(7, 1);
}
END_TEST

/* --- text and hashes --- */

/* RFC 4648, section 10 */
START_TEST(base64_of_the_rfc)
{
	static const char *const want[] = { "",         "Zg==",     "Zm8=",    "Zm9v",
					    "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy" };
	struct buf b = { 0 };
	for (size_t n = 0; n <= 6; n++) {
		buf_clear(&b);
		base64_put(&b, "foobar", n);
		ck_assert_str_eq(buf_cstr(&b), want[n]);
	}
	buf_done(&b);
}
END_TEST

static void hash_is(const char *data, size_t len, const char *want)
{
	uint8_t hash[SHA256_BYTES];
	char text[2 * SHA256_BYTES + 1];
	sha256(data, len, hash);
	for (int i = 0; i < SHA256_BYTES; i++)
		snprintf(text + 2 * i, 3, "%02x", hash[i]);
	ck_assert_str_eq(text, want);
}

/* NIST's examples (csrc.nist.gov), and lengths around a block, computed by sha256sum. */
START_TEST(sha256_of_examples)
{
	char as[1000];
	memset(as, 'a', sizeof as);
	hash_is("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	hash_is("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	hash_is("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
		"248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	hash_is(as, 55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
	hash_is(as, 63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34");
	hash_is(as, 64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
	hash_is(as, 1000, "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3");
}
END_TEST

UNIT_MAIN("container", few_rows_stay_as_they_are, windows_preserve_sums,
	  irreducible_samples_have_sound_windows, rows_are_read_back, nodes_have_their_numbers,
	  base64_of_the_rfc, sha256_of_examples)
