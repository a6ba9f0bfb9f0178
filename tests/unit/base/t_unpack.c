// tier: test
#include "rand.h"
#include "unit.h"

#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/unpack.h"

#include <errno.h>
#include <lzma.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

/* Text of n bytes that is compressible, but not to nothing. */
static struct buf sample_text(size_t n)
{
	struct buf b = { 0 };
	struct rng r = { 31 };
	while (b.len < n)
		buf_addf(&b, "main;run;step%d %d\n", (int)rng_below(&r, 100),
			 (int)rng_below(&r, 1000));
	b.len = n;
	return b;
}

static void pack_gzip(const struct buf *plain, struct buf *out)
{
	ck_assert_int_eq(fs_gzip(plain->data, plain->len, out), 0);
}

static void pack_zstd(const struct buf *plain, struct buf *out)
{
	ZSTD_CCtx *z = ZSTD_createCCtx();
	ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1);
	buf_reserve(out, ZSTD_compressBound(plain->len));
	size_t n = ZSTD_compress2(z, out->data + out->len, out->cap - out->len, plain->data,
				  plain->len);
	ck_assert(!ZSTD_isError(n));
	out->len += n;
	ZSTD_freeCCtx(z);
}

static void pack_xz(const struct buf *plain, struct buf *out)
{
	buf_reserve(out, lzma_stream_buffer_bound(plain->len));
	ck_assert_int_eq(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC64, NULL, (uint8_t *)plain->data,
						 plain->len, (uint8_t *)out->data, &out->len,
						 out->cap),
			 LZMA_OK);
}

typedef void (*pack_fn)(const struct buf *plain, struct buf *out);
static const pack_fn packs[] = { pack_gzip, pack_zstd, pack_xz };
enum { PACKS = sizeof packs / sizeof *packs };

static void check_equal(const struct buf *a, const struct buf *b)
{
	ck_assert_uint_eq(a->len, b->len);
	ck_assert(a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

static struct buf copy_of(const struct buf *b, size_t len)
{
	struct buf copy = { 0 };
	buf_add(&copy, b->data, len);
	return copy;
}

START_TEST(detects_by_content)
{
	ck_assert_int_eq(unpack_detect("\x1f\x8b\x08\x00", 4), UNPACK_GZIP);
	ck_assert_int_eq(unpack_detect("\x28\xb5\x2f\xfd", 4), UNPACK_ZSTD);
	ck_assert_int_eq(unpack_detect("\xfd"
				       "7zXZ\0",
				       6),
			 UNPACK_XZ);
	ck_assert_int_eq(unpack_detect("\x1f\x8b", 2), UNPACK_NONE);
	ck_assert_int_eq(unpack_detect("main;run 1\n", 11), UNPACK_NONE);
	ck_assert_int_eq(unpack_detect(NULL, 0), UNPACK_NONE);
}
END_TEST

START_TEST(plain_data_is_left_alone)
{
	struct buf b = { 0 };
	ck_assert_int_eq(fs_unpack(&b, 0, NULL), 0);
	buf_adds(&b, "main;run 1\n");
	ck_assert_int_eq(fs_unpack(&b, 3, NULL), 0);
	ck_assert_str_eq(buf_cstr(&b), "main;run 1\n");
	buf_done(&b);
}
END_TEST

START_TEST(round_trips_of_any_size)
{
	static const size_t sizes[] = { 0, 1, 1000, 65535, 65536, 65537, 3000000 };
	for (int k = 0; k < PACKS; k++)
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
			struct buf plain = sample_text(sizes[i]), b = { 0 };
			packs[k](&plain, &b);
			ck_assert_int_eq(fs_unpack(&b, sizes[i], NULL), 0); /* exactly max */
			check_equal(&b, &plain);
			buf_done(&b);
			buf_done(&plain);
		}
}
END_TEST

START_TEST(several_parts_and_padding)
{
	for (int k = 0; k < PACKS; k++) {
		struct buf plain = sample_text(5000), empty = { 0 }, b = { 0 }, expected = { 0 };
		for (int i = 0; i < 3; i++) {
			packs[k](&plain, &b);
			packs[k](&empty, &b);
			buf_add(&expected, plain.data, plain.len);
		}
		buf_add(&b, "\0\0\0\0\0\0\0\0", 8);
		ck_assert_int_eq(fs_unpack(&b, 15000, NULL), 0);
		check_equal(&b, &expected);
		buf_done(&b);
		buf_done(&plain);
		buf_done(&expected);
	}
}
END_TEST

START_TEST(cut_anywhere_is_damaged)
{
	for (int k = 0; k < PACKS; k++) {
		struct buf plain = sample_text(300), packed = { 0 };
		packs[k](&plain, &packed);
		for (size_t cut = 6; cut < packed.len; cut++) {
			struct buf b = copy_of(&packed, cut);
			struct err err = { 0 };
			ck_assert_int_eq(fs_unpack(&b, 1000, &err), -EBADMSG);
			ck_assert_ptr_nonnull(strstr(err.text, "ends too early"));
			ck_assert_uint_eq(b.len, cut); /* unchanged */
			ck_assert_mem_eq(b.data, packed.data, cut);
			buf_done(&b);
		}
		buf_done(&plain);
		buf_done(&packed);
	}
}
END_TEST

START_TEST(trailing_garbage_is_damage)
{
	for (int k = 0; k < PACKS; k++) {
		struct buf plain = sample_text(300), b = { 0 };
		packs[k](&plain, &b);
		buf_adds(&b, "garbage that is long enough to be looked at");
		ck_assert_int_eq(fs_unpack(&b, 1000, NULL), -EBADMSG);
		buf_done(&b);
		buf_done(&plain);
	}
}
END_TEST

/* All three formats have checksums: a flipped bit is detected, or has no effect (time and system of gzip). */
START_TEST(flipped_bits_never_change_the_text)
{
	for (int k = 0; k < PACKS; k++) {
		struct buf plain = sample_text(300), packed = { 0 };
		size_t found = 0;
		packs[k](&plain, &packed);
		for (size_t bit = 0; bit < 8 * packed.len; bit++) {
			struct buf b = copy_of(&packed, packed.len);
			b.data[bit / 8] ^= 1 << bit % 8;
			if (unpack_detect(b.data, b.len) == UNPACK_NONE) {
				buf_done(&b);
				continue;
			}
			int rc = fs_unpack(&b, 1000, NULL);
			found += rc != 0;
			if (rc == 0)
				check_equal(&b, &plain);
			buf_done(&b);
		}
		ck_assert_uint_gt(found, 7 * packed.len);
		buf_done(&plain);
		buf_done(&packed);
	}
}
END_TEST

static long peak_kib(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

/* 1 GiB of zeros under a limit of 1 MiB. The decoders' own memory is their window: at most 8 MiB for these. */
START_TEST(bombs_meet_the_limit)
{
	enum { MEMBER = 16 << 20, MEMBERS = 64, MAX = 1 << 20, GROWTH_KIB = 48 << 10 };
	for (int k = 0; k < PACKS; k++) {
		struct buf zeros = { 0 }, member = { 0 }, bomb = { 0 };
		buf_reserve(&zeros, MEMBER);
		memset(zeros.data, 0, MEMBER);
		zeros.len = MEMBER;
		packs[k](&zeros, &member);
		buf_done(&zeros);
		for (int i = 0; i < MEMBERS; i++)
			buf_add(&bomb, member.data, member.len);
		struct err err = { 0 };
		long before = peak_kib();
		ck_assert_int_eq(fs_unpack(&bomb, MAX, &err), -EFBIG);
		ck_assert_int_lt(peak_kib() - before, GROWTH_KIB);
		ck_assert_str_eq(err.text, "the decompressed data is larger than 1048576 bytes");
		ck_assert_uint_eq(bomb.len, MEMBERS * member.len);
		buf_done(&bomb);
		buf_done(&member);
	}
}
END_TEST

START_TEST(limits_of_one_byte)
{
	for (int k = 0; k < PACKS; k++)
		for (size_t max = 0; max < 3; max++) {
			struct buf plain = sample_text(2), b = { 0 };
			packs[k](&plain, &b);
			ck_assert_int_eq(fs_unpack(&b, max, NULL), max < 2 ? -EFBIG : 0);
			buf_done(&b);
			buf_done(&plain);
		}
}
END_TEST

/* A zstd frame that requires a window of 2 GiB (RFC 8878 §3.1.1.1.2: exponent 21), and an xz block with a dictionary of 4 GiB (the byte after filter
 * id 0x21 and its length; the header's CRC32 is recomputed). */
START_TEST(huge_windows_are_refused)
{
	struct buf b = { 0 }, plain = sample_text(100);
	buf_add(&b, "\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00", 9);
	ck_assert_int_eq(fs_unpack(&b, 1000, NULL), -E2BIG);
	buf_clear(&b);
	pack_xz(&plain, &b);
	uint8_t *block = (uint8_t *)b.data + LZMA_STREAM_HEADER_SIZE;
	size_t header = lzma_block_header_size_decode(block[0]);
	uint8_t *filter = memmem(block, header, "\x21\x01", 2);
	ck_assert_ptr_nonnull(filter);
	filter[2] = 40;
	uint32_t crc = lzma_crc32(block, header - 4, 0);
	for (int i = 0; i < 4; i++)
		block[header - 4 + i] = crc >> (8 * i);
	struct err err = { 0 };
	ck_assert_int_eq(fs_unpack(&b, 1000, &err), -E2BIG);
	ck_assert_str_eq(err.text, "decompressing the xz data needs more than 128 MiB");
	buf_done(&b);
	buf_done(&plain);
}
END_TEST

/* The stream interface in pieces of any size gives the same as all at once. */
START_TEST(pieces_of_any_size)
{
	static const size_t pieces[] = { 1, 7, 1000 };
	for (int k = 0; k < PACKS; k++)
		for (int i = 0; i < 9; i++) {
			size_t in_size = pieces[i / 3], out_size = pieces[i % 3], fed = 0, got;
			struct buf plain = sample_text(4000), packed = { 0 }, b = { 0 };
			packs[k](&plain, &packed);
			struct unpack *u = unpack_new(unpack_detect(packed.data, packed.len));
			struct cur in = cur_of(NULL, 0);
			int rc = 1;
			while (rc == 1) {
				char out[1000];
				size_t rest = packed.len - fed;
				if (cur_left(&in) == 0) {
					size_t n = rest < in_size ? rest : in_size;
					in = cur_of(packed.data + fed, n);
					fed += n;
				}
				rc = unpack_step(u, &in, fed == packed.len, out, out_size, &got,
						 NULL);
				ck_assert_uint_le(got, out_size);
				buf_add(&b, out, got);
			}
			ck_assert_int_eq(rc, 0);
			check_equal(&b, &plain);
			unpack_free(u);
			buf_done(&b);
			buf_done(&plain);
			buf_done(&packed);
		}
}
END_TEST

START_TEST(gzip_is_reproducible_and_gunzip_reads_it)
{
	char path[] = "/tmp/cresset-gz-XXXXXX", command[64], *got = xmalloc(300000);
	struct buf plain = sample_text(200000), one = { 0 }, two = { 0 };
	pack_gzip(&plain, &one);
	pack_gzip(&plain, &two);
	check_equal(&one, &two);
	ck_assert_mem_eq(one.data + 3, "\0\0\0\0\0", 5); /* no name, no time */
	int fd = mkstemp(path);
	ck_assert_int_eq(write(fd, one.data, one.len), one.len);
	close(fd);
	snprintf(command, sizeof command, "gzip -dc <%s", path);
	FILE *p = popen(command, "r");
	size_t n = fread(got, 1, 300000, p);
	ck_assert_int_eq(pclose(p), 0);
	unlink(path);
	ck_assert_uint_eq(n, plain.len);
	ck_assert_mem_eq(got, plain.data, n);
	free(got);
	buf_done(&plain);
	buf_done(&one);
	buf_done(&two);
}
END_TEST

UNIT_MAIN("unpack", detects_by_content, plain_data_is_left_alone, round_trips_of_any_size,
	  several_parts_and_padding, cut_anywhere_is_damaged, trailing_garbage_is_damage,
	  flipped_bits_never_change_the_text, bombs_meet_the_limit, limits_of_one_byte,
	  huge_windows_are_refused, pieces_of_any_size, gzip_is_reproducible_and_gunzip_reads_it)
