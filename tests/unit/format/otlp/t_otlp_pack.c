// tier: test
#include "random_profile.h"
#include "shell.h"

#include "base/err.h"
#include "base/fs.h"
#include "format/otlp/otlp.h"
#include "format/otlp/otlp_pack.h"

#include <errno.h>

static struct buf message(uint64_t seed)
{
	struct random_shape shape = { .n_stacks = 300, .n_samples = 400 };
	struct profile *p = random_profile(seed, shape).p;
	struct buf b = { 0 };
	ck_assert_int_eq(otlp_encode(p, &(struct otlp_encode_opts){ 0 }, &b, NULL), 0);
	profile_free(p);
	return b;
}

static struct otlp_bytes bytes_of(const struct buf *b)
{
	return (struct otlp_bytes){ b->data, b->len };
}
static const struct otlp_bytes no_key;

static struct buf packed(const struct buf *m, struct otlp_bytes key)
{
	struct buf b = { 0 };
	ck_assert_int_eq(otlp_pack(bytes_of(m), key, &b, NULL), 0);
	return b;
}

START_TEST(compressed_batches_are_decompressed)
{
	for (uint64_t seed = 0; seed < 10; seed++) {
		struct buf key = message(seed), m = message(seed / 2), out = { 0 };
		struct buf delta = packed(&m, bytes_of(&key)), whole = packed(&m, no_key);
		ck_assert_int_eq(otlp_unpack(bytes_of(&delta), bytes_of(&key), m.len, &out, NULL),
				 0);
		ck_assert(out.len == m.len && memcmp(out.data, m.data, m.len) == 0);
		ck_assert_uint_lt(delta.len, whole.len);
		buf_clear(&out);
		ck_assert_int_eq(otlp_unpack(bytes_of(&whole), no_key, m.len, &out, NULL), 0);
		ck_assert(out.len == m.len && memcmp(out.data, m.data, m.len) == 0);
		ck_assert_int_eq(fs_unpack(&whole, 1 << 20, NULL), 0); /* any zstd reads it */
		ck_assert_uint_eq(whole.len, m.len);
		buf_done(&key), buf_done(&m), buf_done(&out), buf_done(&delta), buf_done(&whole);
	}
}
END_TEST

START_TEST(another_key_is_an_error)
{
	struct buf key = message(1), other = message(2), m = message(3), out = { 0 };
	struct buf delta = packed(&m, bytes_of(&key));
	ck_assert_int_eq(otlp_unpack(bytes_of(&delta), bytes_of(&other), m.len, &out, NULL),
			 -EBADMSG);
	ck_assert_int_eq(otlp_unpack(bytes_of(&delta), no_key, m.len, &out, NULL), -EBADMSG);
	ck_assert_int_eq(otlp_unpack(bytes_of(&delta), bytes_of(&key), m.len - 1, &out, NULL),
			 -EFBIG);
	ck_assert_uint_eq(out.len, 0);
	for (size_t i = 0; i < delta.len; i += 7) {
		delta.data[i] ^= 0x55;
		ck_assert_int_lt(otlp_unpack(bytes_of(&delta), bytes_of(&key), m.len, &out, NULL),
				 0);
		delta.data[i] ^= 0x55;
		struct otlp_bytes cut = { delta.data, i };
		ck_assert_int_lt(otlp_unpack(cut, bytes_of(&key), m.len, &out, NULL), 0);
	}
	ck_assert_uint_eq(out.len, 0);
	buf_done(&key), buf_done(&other), buf_done(&m), buf_done(&out), buf_done(&delta);
}
END_TEST

START_TEST(a_key_gets_stale)
{
	ck_assert(!otlp_key_is_stale(40, 100));
	ck_assert(otlp_key_is_stale(41, 100));
}
END_TEST

START_TEST(too_much_is_refused)
{
	struct otlp_bytes large = { "", (size_t)65 << 20 };
	struct buf out = { 0 };
	struct err err = { 0 };
	ck_assert_int_eq(otlp_pack(large, no_key, &out, &err), -E2BIG);
	ck_assert_uint_eq(out.len, 0);
}
END_TEST

UNIT_MAIN("otlp_pack", compressed_batches_are_decompressed, another_key_is_an_error,
	  a_key_gets_stale, too_much_is_refused)
