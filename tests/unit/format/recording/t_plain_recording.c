// tier: test
/* Recordings in the first format are read-only: those of tests/golden/recording were written by the version that used it. */
#include "shell.h"

#include "base/err.h"
#include "base/fs.h"
#include "base/input.h"
#include "format/common/format.h"
#include "format/recording/cresset.h"
#include "profile/chunk.h"
#include "profile/profile.h"
#include "profile/sink.h"

#include <errno.h>

#define GOLDEN "tests/golden/recording/"

static int read_bytes(const void *data, size_t len, struct profile *p, struct err *err)
{
	struct input *in;
	ck_assert_int_eq(input_open_memory(data, len, &in, err), 0);
	int rc = plain_recording_read(in, profile_sink(p), err);
	input_close(in);
	return rc;
}

static struct buf bytes_of(const char *path)
{
	struct buf b = { 0 };
	struct err err = { 0 };
	ck_assert_msg(fs_read_at(AT_FDCWD, path, 1 << 30, &b, &err) == 0, "%s", err.text);
	return b;
}

/* --- damage ----------------------------------------------------------------------------------- */

/* A recording of several commits: its bytes, and the number of samples at each. */
struct commits {
	struct buf bytes;
	size_t n, end[16]; /* where each commit ends */
	uint64_t samples[16];
};

static void find_commits(struct commits *c)
{
	enum { HEADER = 16 };
	*c = (struct commits){ .bytes = bytes_of(GOLDEN "commits.cresset") };
	struct cur cur = cur_of(c->bytes.data, c->bytes.len);
	cur_take(&cur, HEADER);
	while (cur_left(&cur)) {
		uint32_t type = cur_u32(&cur);
		cur_u32(&cur);
		size_t len = cur_u64(&cur);
		cur_u64(&cur);
		struct cur payload = cur_of(cur_take(&cur, len), len);
		if (type != CHUNK_COMMIT)
			continue;
		c->end[c->n] = c->bytes.len - cur_left(&cur);
		c->samples[c->n++] = cur_varint(&payload);
	}
	ck_assert_uint_eq(c->n, 5);
}

static size_t commits_until(const struct commits *c, size_t len)
{
	size_t n = 0;
	while (n < c->n && c->end[n] <= len)
		n++;
	return n;
}

START_TEST(a_file_cut_anywhere_opens_up_to_its_last_commit)
{
	struct commits c;
	find_commits(&c);
	for (size_t len = 0; len <= c.bytes.len; len++) {
		struct profile *p = profile_new();
		struct err err = { 0 };
		char *copy = malloc(len ? len : 1);
		memcpy(copy, c.bytes.data, len);
		int rc = read_bytes(copy, len, p, &err);
		size_t n = commits_until(&c, len);
		ck_assert_int_eq(rc, n ? 0 : -EBADMSG);
		ck_assert(n || err.text[0]);
		if (n) {
			bool whole = len == c.end[n - 1];
			ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED] == 0, whole);
			ck_assert_uint_eq(p->samples.n, c.samples[n - 1]);
		}
		free(copy);
		profile_free(p);
	}
	buf_done(&c.bytes);
}
END_TEST

/* A flipped bit ends the reading at its commit; every bit is covered. */
START_TEST(damage_ends_the_reading_before_it)
{
	struct commits c;
	find_commits(&c);
	for (size_t i = 0; i < c.bytes.len; i++) {
		struct profile *p = profile_new();
		struct err err = { 0 };
		c.bytes.data[i] ^= 1 << i % 8;
		int rc = read_bytes(c.bytes.data, c.bytes.len, p, &err);
		size_t n = commits_until(&c, i);
		ck_assert_int_eq(rc, n ? 0 : -EBADMSG);
		if (n) {
			ck_assert_uint_eq(p->samples.n, c.samples[n - 1]);
			ck_assert_uint_gt(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
		}
		c.bytes.data[i] ^= 1 << i % 8;
		profile_free(p);
	}
	buf_done(&c.bytes);
}
END_TEST

START_TEST(a_newer_version_is_refused)
{
	struct commits c;
	find_commits(&c);
	struct profile *p = profile_new();
	struct err err = { 0 };
	c.bytes.data[sizeof PLAIN_RECORDING_MAGIC] = PLAIN_RECORDING_VERSION + 1;
	ck_assert_int_eq(read_bytes(c.bytes.data, c.bytes.len, p, &err), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(err.text, "newer"));
	ck_assert(err.hint[0]);
	ck_assert_uint_eq(p->samples.n, 0);
	profile_free(p);
	buf_done(&c.bytes);
}
END_TEST

static void put_le(struct buf *b, uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		buf_addc(b, v >> (8 * i));
}

static void put_header(struct buf *b)
{
	buf_add(b, PLAIN_RECORDING_MAGIC, sizeof PLAIN_RECORDING_MAGIC);
	put_le(b, PLAIN_RECORDING_VERSION, 4);
	put_le(b, 16, 4);
}

/* A chunk with a valid checksum and any content. */
static void put_chunk(struct buf *b, uint32_t type, uint32_t flags, const void *payload, size_t len)
{
	put_le(b, type, 4);
	put_le(b, flags, 4);
	put_le(b, len, 8);
	put_le(b, chunk_checksum(type, flags, payload, len), 8);
	buf_add(b, payload, len);
}

START_TEST(unknown_chunks_are_passed_over_when_they_may)
{
	struct err err = { 0 };
	struct buf b = { 0 };
	struct profile *p = profile_new();
	put_header(&b);
	put_chunk(&b, CHUNK_STRINGS, 0, "\1x", 2);
	put_chunk(&b, 99, CHUNK_OPTIONAL, "????", 4);
	put_chunk(&b, CHUNK_COMMIT, 0, "\0", 1);
	ck_assert_int_eq(read_bytes(b.data, b.len, p, &err), 0);
	ck_assert_uint_ne(strtab_find(&p->strings, "x"), UINT32_MAX);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
	put_chunk(&b, 99, 0, "????", 4);
	ck_assert_int_eq(read_bytes(b.data, b.len, p, &err), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(err.text, "newer"));
	profile_free(p);
	buf_done(&b);
}
END_TEST

/* Invalid ids, in chunks with valid checksums. */
START_TEST(ids_that_are_not_there_are_damage)
{
	static const struct {
		uint32_t type;
		const char *payload;
		size_t len;
	} cases[] = {
		{ CHUNK_STRINGS, "\x05xx", 3 },
		{ CHUNK_MAPPINGS, "\x09\0\0\0\0\0\0\0", 8 },
		{ CHUNK_MAPPINGS, "\0\x21\0\0\0\0\0\0", 8 },
		{ CHUNK_FRAMES, "\0\x01\0", 3 },            /* no mapping */
		{ CHUNK_FRAMES, "\x7f\0\0\0\0", 5 },        /* no kind */
		{ CHUNK_FRAMES, "\0\0\x09\0\0", 5 },        /* no string */
		{ CHUNK_NAMES, "\0\0", 2 },                 /* no frame */
		{ CHUNK_TYPES, "\0\0\0\0\0\x7f", 6 },       /* no aggregation */
		{ CHUNK_LABELS, "\x7f\0\0\0\0", 5 },        /* more than there are */
		{ CHUNK_SERIES, "\0\0\0", 3 },              /* no type */
		{ CHUNK_STACKS, "\0\0\0", 3 },              /* its own parent */
		{ CHUNK_STACKS, "\x02\0\0", 3 },            /* a parent before the first */
		{ CHUNK_STACKS, "\x01\x01\0", 3 },          /* shares more than there is */
		{ CHUNK_STACKS, "\x01\0\x01\0", 4 },        /* no frame */
		{ CHUNK_SAMPLES, "\x01\0\0\0\0\0\0\0", 8 }, /* no series */
		{ CHUNK_SAMPLES, "\xff\xff\xff\xff\x0f", 5 },
		{ CHUNK_META, "\0", 1 },
		{ CHUNK_STRINGS, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct err err = { 0 };
		struct buf b = { 0 };
		struct profile *p = profile_new();
		put_header(&b);
		put_chunk(&b, CHUNK_COMMIT, 0, "\0", 1);
		put_chunk(&b, cases[i].type, 0, cases[i].payload, cases[i].len);
		put_chunk(&b, CHUNK_STRINGS, 0, "\1x", 2);
		put_chunk(&b, CHUNK_COMMIT, 0, "\0", 1);
		ck_assert_int_eq(read_bytes(b.data, b.len, p, &err), 0);
		ck_assert_msg(p->meta.loss[LOSS_INPUT_SKIPPED] == 2, "case %zu: %llu", i,
			      (unsigned long long)p->meta.loss[LOSS_INPUT_SKIPPED]);
		ck_assert_uint_eq(p->samples.n, 0);
		profile_free(p);
		buf_done(&b);
	}
}
END_TEST

START_TEST(detected_by_content)
{
	ck_assert(plain_recording_detect("CRESSET\0\1\0\0\0", 12));
	ck_assert(!plain_recording_detect("CRESSET", 7));
	ck_assert(!plain_recording_detect("CRESSETX", 8));
	ck_assert(!plain_recording_detect("", 0));
}
END_TEST

UNIT_MAIN("plain_recording", a_file_cut_anywhere_opens_up_to_its_last_commit,
	  damage_ends_the_reading_before_it, a_newer_version_is_refused,
	  unknown_chunks_are_passed_over_when_they_may, ids_that_are_not_there_are_damage,
	  detected_by_content)
