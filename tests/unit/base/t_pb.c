// tier: test
#include "rand.h"
#include "unit.h"

#include "base/mem.h"
#include "base/pb.h"

#include <unistd.h>

static const uint64_t edges[] = {
	0, 1, 0x7f, 0x80, 0x3fff, 0x4000, UINT32_MAX, 1ull << 32, INT64_MAX, 1ull << 63, UINT64_MAX,
};
enum { EDGES = sizeof edges / sizeof *edges };

START_TEST(varints_round_trip)
{
	for (int i = 0; i < EDGES; i++) {
		struct buf b = { 0 };
		pb_put_varint(&b, edges[i]);
		struct cur c = cur_of(b.data, b.len);
		ck_assert_uint_eq(cur_varint(&c), edges[i]);
		ck_assert(!c.bad);
		ck_assert_uint_eq(cur_left(&c), 0);
		buf_done(&b);
	}
}
END_TEST

START_TEST(fields_round_trip)
{
	struct buf b = { 0 };
	for (int i = 0; i < EDGES; i++) {
		pb_put_u64(&b, i + 1, edges[i]);
		pb_put_fixed64(&b, i + 100000, edges[i]);
	}
	pb_put_bytes(&b, (1 << 29) - 1, "bytes\0", 6);
	pb_put_bytes(&b, 1, NULL, 0);
	struct cur c = cur_of(b.data, b.len);
	struct pb_field f;
	for (int i = 0; i < EDGES; i++) {
		ck_assert(pb_next(&c, &f));
		ck_assert_uint_eq(f.num, i + 1);
		ck_assert_int_eq(f.wire, PB_VARINT);
		ck_assert_uint_eq(f.u, edges[i]);
		ck_assert(pb_next(&c, &f));
		ck_assert_uint_eq(f.num, i + 100000);
		ck_assert_int_eq(f.wire, PB_I64);
		ck_assert_uint_eq(f.u, edges[i]);
	}
	ck_assert(pb_next(&c, &f));
	ck_assert_uint_eq(f.num, (1 << 29) - 1);
	ck_assert_uint_eq(cur_left(&f.len), 6);
	ck_assert_mem_eq(f.len.p, "bytes\0", 6);
	ck_assert(pb_next(&c, &f));
	ck_assert_uint_eq(cur_left(&f.len), 0);
	ck_assert(!pb_next(&c, &f));
	ck_assert(!c.bad);
	buf_done(&b);
}
END_TEST

/* Messages in messages, each with a string of a length around the limits of one and two bytes. */
START_TEST(nested_messages_of_every_length)
{
	static const size_t lengths[] = { 0, 1, 100, 125, 126, 127, 128, 129, 16380, 16384, 70000 };
	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		size_t n = lengths[i];
		char *text = xcalloc(n + 1, 1);
		memset(text, 'x', n);
		struct buf b = { 0 };
		size_t outer = pb_begin(&b, 3);
		pb_put_u64(&b, 1, 7);
		size_t inner = pb_begin(&b, 4);
		pb_put_bytes(&b, 5, text, n);
		pb_end(&b, inner);
		pb_put_u64(&b, 2, 8);
		pb_end(&b, outer);
		pb_put_u64(&b, 9, 9);

		struct cur c = cur_of(b.data, b.len);
		struct pb_field message, f;
		ck_assert(pb_next(&c, &message) && message.num == 3);
		ck_assert(pb_next(&message.len, &f) && f.num == 1 && f.u == 7);
		ck_assert(pb_next(&message.len, &f) && f.num == 4);
		struct pb_field string;
		ck_assert(pb_next(&f.len, &string) && string.num == 5);
		ck_assert_uint_eq(cur_left(&string.len), n);
		ck_assert(n == 0 || memcmp(string.len.p, text, n) == 0);
		ck_assert(!pb_next(&f.len, &string) && !f.len.bad);
		ck_assert(pb_next(&message.len, &f) && f.num == 2 && f.u == 8);
		ck_assert(!pb_next(&message.len, &f) && !message.len.bad);
		ck_assert(pb_next(&c, &f) && f.num == 9 && f.u == 9);
		ck_assert(!pb_next(&c, &f) && !c.bad);
		buf_done(&b);
		free(text);
	}
}
END_TEST

struct numbers {
	uint64_t v[8];
	size_t n;
};

static void collect(void *ctx, uint64_t v)
{
	struct numbers *numbers = ctx;
	ck_assert_uint_lt(numbers->n, 8);
	numbers->v[numbers->n++] = v;
}

START_TEST(repeated_numbers_in_both_encodings)
{
	struct buf b = { 0 };
	pb_put_u64(&b, 1, 300);
	size_t packed = pb_begin(&b, 1);
	for (uint64_t v = 0; v < 3; v++)
		pb_put_varint(&b, v << 40);
	pb_end(&b, packed);
	pb_put_bytes(&b, 1, "\x80", 1); /* a number that does not end */
	pb_put_fixed64(&b, 1, 1);

	struct cur c = cur_of(b.data, b.len);
	struct numbers numbers = { 0 };
	struct pb_field f;
	ck_assert(pb_next(&c, &f) && pb_each_varint(&f, collect, &numbers));
	ck_assert(pb_next(&c, &f) && pb_each_varint(&f, collect, &numbers));
	ck_assert_uint_eq(numbers.n, 4);
	ck_assert_uint_eq(numbers.v[0], 300);
	ck_assert_uint_eq(numbers.v[3], 2ull << 40);
	ck_assert(pb_next(&c, &f) && !pb_each_varint(&f, collect, &numbers));
	ck_assert(pb_next(&c, &f) && !pb_each_varint(&f, collect, &numbers));
	ck_assert_uint_eq(numbers.n, 4);
	buf_done(&b);
}
END_TEST

START_TEST(malformed_messages_end_bad)
{
	static const struct {
		const char *bytes;
		size_t n;
		const char *why;
	} bad[] = {
		{ "\x08", 1, "no value" },
		{ "\x80", 1, "tag is cut" },
		{ "\x00\x01", 2, "field 0" },
		{ "\x0b", 1, "group" },
		{ "\x0c", 1, "end of group" },
		{ "\x0e\x00", 2, "wire type 6" },
		{ "\x0f\x00", 2, "wire type 7" },
		{ "\x09\x01\x02\x03\x04\x05\x06\x07", 8, "fixed64 of 7 bytes" },
		{ "\x0d\x01\x02\x03", 4, "fixed32 of 3 bytes" },
		{ "\x0a\x05"
		  "abcd",
		  6, "string is cut" },
		{ "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, "string of 2^64 - 1 bytes" },
		{ "\x80\x80\x80\x80\x10\x00", 6, "field 2^29" },
		{ "\x88\x80\x80\x80\x80\x80\x80\x80\x80\x01\x00", 11, "tag of 64 bits" },
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct cur c = cur_of(bad[i].bytes, bad[i].n);
		struct pb_field f;
		ck_assert_msg(!pb_next(&c, &f) && c.bad, "%s", bad[i].why);
		ck_assert_msg(!pb_next(&c, &f), "%s, again", bad[i].why);
	}
}
END_TEST

/* Any bytes: decoding ends, and its results lie inside the input. */
START_TEST(noise_stays_inside)
{
	struct rng r = { 5 };
	for (int run = 0; run < 20000; run++) {
		uint8_t noise[64];
		size_t n = rng_below(&r, sizeof noise + 1), fields = 0;
		for (size_t i = 0; i < n; i++)
			noise[i] = rng_below(&r, 3) ? rng_below(&r, 24) : rng_next(&r);
		struct cur c = cur_of(noise, n);
		struct pb_field f;
		while (pb_next(&c, &f)) {
			ck_assert_uint_lt(fields++, n);
			if (f.wire != PB_LEN)
				continue;
			ck_assert(f.len.p >= noise && f.len.p <= f.len.end);
			ck_assert(f.len.end <= noise + n);
		}
	}
}
END_TEST

/* protoc, an independent program, reads the same from our bytes. */
START_TEST(protoc_reads_what_we_write)
{
	static const char expected[] = "1: 150\n"
				       "2: 0x0123456789abcdef\n"
				       "3 {\n"
				       "  1: \"text\"\n"
				       "  2: 18446744073709551615\n"
				       "  4 {\n"
				       "    1: 0\n"
				       "  }\n"
				       "}\n"
				       "536870911: \"end\"\n";
	char path[] = "/tmp/cresset-pb-XXXXXX", command[64], got[1024];
	if (system("protoc --version >/dev/null 2>&1") != 0)
		T_SKIP("no protoc");
	struct buf b = { 0 };
	pb_put_u64(&b, 1, 150);
	pb_put_fixed64(&b, 2, 0x0123456789abcdef);
	size_t outer = pb_begin(&b, 3);
	pb_put_bytes(&b, 1, "text", 4);
	pb_put_u64(&b, 2, UINT64_MAX);
	size_t inner = pb_begin(&b, 4);
	pb_put_u64(&b, 1, 0);
	pb_end(&b, inner);
	pb_end(&b, outer);
	pb_put_bytes(&b, (1 << 29) - 1, "end", 3);
	int fd = mkstemp(path);
	ck_assert_int_eq(write(fd, b.data, b.len), b.len);
	close(fd);
	snprintf(command, sizeof command, "protoc --decode_raw <%s", path);
	FILE *p = popen(command, "r");
	got[fread(got, 1, sizeof got - 1, p)] = '\0';
	ck_assert_int_eq(pclose(p), 0);
	unlink(path);
	ck_assert_str_eq(got, expected);
	buf_done(&b);
}
END_TEST

UNIT_MAIN("pb", varints_round_trip, fields_round_trip, nested_messages_of_every_length,
	  repeated_numbers_in_both_encodings, malformed_messages_end_bad, noise_stays_inside,
	  protoc_reads_what_we_write)
