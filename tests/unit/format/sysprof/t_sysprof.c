// tier: test
#include "read_text.h"

#include "base/err.h"
#include "format/sysprof/sysprof.h"

#include <linux/perf_event.h>

static const struct format *const f = &format_sysprof;

/* A capture in the making. */
struct capture {
	struct buf b;
	bool big;
};

static void put(struct capture *c, uint64_t v, size_t size)
{
	for (size_t i = 0; i < size; i++)
		buf_addc(&c->b, (char)(v >> 8 * (c->big ? size - 1 - i : i)));
}

static void put_field(struct capture *c, const char *text, size_t size)
{
	char field[256] = "";
	snprintf(field, sizeof field, "%s", text);
	buf_add(&c->b, field, size);
}

static struct capture capture_new(bool big)
{
	static const unsigned char magic[] = { 0x5e, 0x97, 0xca, 0xfd, 1 };
	struct capture c = { .big = big };
	buf_add(&c.b, magic, sizeof magic);
	buf_addc(&c.b, !big);
	put(&c, 0, 2);
	put_field(&c, "2026-11-28T22:14:00.5+01:00", 64);
	put(&c, 1000, 8);
	put(&c, 5000, 8);
	while (c.b.len < 256)
		buf_addc(&c.b, 0);
	return c;
}

/* Puts the head of a frame with a body of `len` bytes, padded to 8. */
static void put_head(struct capture *c, int type, int pid, int64_t time, size_t len)
{
	put(c, (24 + len + 7) & ~(size_t)7, 2);
	put(c, 3, 2);
	put(c, pid, 4);
	put(c, time, 8);
	put(c, type, 1);
	for (int i = 0; i < 7; i++)
		buf_addc(&c->b, 0);
}

static void put_pad(struct capture *c)
{
	while (c->b.len % 8)
		buf_addc(&c->b, 0);
}

static void put_map(struct capture *c, int pid, int64_t time, uint64_t start, const char *file,
		    const char *build_id)
{
	size_t len = 32 + strlen(file) + 1 + strlen(build_id) + 1;
	put_head(c, 3, pid, time, len);
	put(c, start, 8);
	put(c, start + 0x1000, 8);
	put(c, 0x100, 8);
	put(c, 7, 8);
	buf_add(&c->b, file, strlen(file) + 1);
	buf_add(&c->b, build_id, strlen(build_id) + 1);
	put_pad(c);
}

static void put_process(struct capture *c, int pid, int64_t time, const char *name)
{
	put_head(c, 4, pid, time, strlen(name) + 1);
	buf_add(&c->b, name, strlen(name) + 1);
	put_pad(c);
}

static void put_sample(struct capture *c, int pid, int64_t time, const uint64_t *addresses, int n)
{
	put_head(c, 2, pid, time, 8 + 8 * n);
	put(c, n, 2);
	put(c, 0, 2);
	put(c, pid + 1, 4);
	for (int i = 0; i < n; i++)
		put(c, addresses[i], 8);
}

static void put_allocation(struct capture *c, uint64_t address, int64_t size, uint64_t caller)
{
	put_head(c, 14, 7, 2000, 32);
	put(c, address, 8);
	put(c, size, 8);
	put(c, 7, 4);
	put(c, 1, 2);
	put(c, 0, 2);
	put(c, caller, 8);
}

static void put_chunk(struct capture *c, const char *file, const struct buf *data)
{
	put_head(c, 13, -1, 4000, 260 + data->len);
	put(c, 1, 2);
	put(c, data->len, 2);
	put_field(c, file, 256);
	buf_add(&c->b, data->data, data->len);
	put_pad(c);
}

static void put_symbol(struct capture *c, uint32_t pid, uint64_t start, uint32_t name)
{
	put(c, start, 8);
	put(c, start + 0x10, 8);
	put(c, pid, 4);
	put(c, name, 4);
	put(c, 0, 8);
}

static struct profile *read_capture(struct capture *c)
{
	struct err err = { 0 };
	struct profile *p = read_bytes(f, c->b.data, c->b.len, &err);
	ck_assert_msg(p != NULL, "%s", err.text);
	check_cut_anywhere(f, c->b.data, c->b.len);
	buf_done(&c->b);
	return p;
}

static void check_type(struct profile *p, const char *type, const char *want)
{
	char *got = folded_type(p, type, NULL);
	ck_assert_str_eq(got, want);
	free(got);
}

static const uint64_t both_sides[] = { PERF_CONTEXT_KERNEL, 0xffffffff81000008, PERF_CONTEXT_USER,
				       0x10400, 0x10501 };

/* The map follows the sample in the file, but its time is earlier. */
START_TEST(samples_in_both_byte_orders)
{
	for (int big = 0; big < 2; big++) {
		struct capture c = capture_new(big);
		put_sample(&c, 7, 3000, both_sides, 5);
		put_map(&c, 7, 1000, 0x10000, "/bin/a", "@0102030405060708");
		put_process(&c, 7, 1000, "/usr/bin/a --option /x");
		struct profile *p = read_capture(&c);
		ck_assert_uint_eq(p->samples.n, 1);
		check_type(p, NULL, "a+0x600;a+0x500;[unknown] 1\n");
		const struct mapping *m = &p->frames.mappings.v[0];
		ck_assert_str_eq(profile_str(p, m->name), "/bin/a");
		ck_assert_uint_eq(m->build_id_len, 8);
		ck_assert_uint_eq(m->build_id[7], 8);
		ck_assert_uint_eq(p->samples.pid[0], 7);
		ck_assert_uint_eq(p->samples.tid[0], 8);
		ck_assert_uint_eq(p->samples.cpu[0], 3);
		ck_assert_int_eq(p->meta.start_wall_ns, 1795900440500000000);
		ck_assert_int_eq(p->meta.duration_ns, 4000);
		profile_free(p);
	}
}
END_TEST

/* A child has its parent's maps; a new program has its own. */
START_TEST(maps_of_the_time)
{
	static const uint64_t at[] = { PERF_CONTEXT_USER, 0x10000 };
	struct capture c = capture_new(false);
	put_map(&c, 7, 1000, 0x10000, "/bin/a", "");
	put_head(&c, 5, 7, 1500, 4);
	put(&c, 9, 4);
	put_pad(&c);
	put_sample(&c, 9, 2000, at, 2);
	put_map(&c, 9, 2500, 0x10000, "/bin/b", "");
	put_sample(&c, 9, 3000, at, 2);
	put_head(&c, 6, 9, 3500, 0);
	put_map(&c, 11, 9000, 0x10000, "/bin/late", "");
	put_sample(&c, 11, 4000, at, 2);
	put_sample(&c, 12, 4000, at, 2);
	struct profile *p = read_capture(&c);
	check_type(p, NULL, "[unknown] 1\na+0x100 1\nb+0x100 1\nlate+0x100 1\n");
	profile_free(p);
}
END_TEST

START_TEST(names_inside_of_the_capture)
{
	static const uint64_t jit[] = { 0xe000000000000001, 0x20010 };
	struct capture c = capture_new(false), table = { 0 };
	put_map(&c, 7, 1000, 0x10000, "/lib/b.so", "");
	put_map(&c, 7, 1000, 0x20000, "//anon", "");
	put_sample(&c, 7, 3000, both_sides, 5);
	put_head(&c, 7, 7, 3000, 4 + 8 + 3);
	put(&c, 1, 4);
	put(&c, 0xe000000000000001, 8);
	buf_add(&c.b, "js", 3);
	put_pad(&c);
	put_sample(&c, 7, 3000, jit, 2);
	put_symbol(&table, 7, 0x10400, 3 * 32 + 1 + 32);
	put_symbol(&table, 7, 0x104f1, 3 * 32 + 6 + 32);
	put_symbol(&table, 7, 0xffffffff81000000, 3 * 32 + 1 + 32);
	buf_add(&table.b, (char[32]){ 0 }, 32);
	buf_add(&table.b, "\0leaf\0root", 11);
	put_chunk(&c, "__symbols__", &table.b);
	buf_done(&table.b);
	struct profile *p = read_capture(&c);
	check_type(p, NULL, "[unknown];js 1\nroot;leaf;leaf 1\n");
	profile_free(p);
}
END_TEST

START_TEST(allocations_made_and_left)
{
	struct capture c = capture_new(false);
	put_map(&c, 7, 1000, 0x10000, "/bin/a", "");
	put_allocation(&c, 0xa0, 100, 0x10401);
	put_allocation(&c, 0xb0, 50, 0x10401);
	put_allocation(&c, 0xa0, 0, 0x10701);
	put_allocation(&c, 0xa0, 7, 0x10501);
	struct profile *p = read_capture(&c);
	ck_assert_str_eq(profile_type_name(p, profile_pick_type(p, NULL)), "alloc_space");
	check_type(p, "alloc_objects", "a+0x500 2\na+0x600 1\n");
	check_type(p, "alloc_space", "a+0x500 150\na+0x600 7\n");
	check_type(p, "inuse_space", "a+0x500 50\na+0x600 7\n");
	profile_free(p);
}
END_TEST

START_TEST(lost_samples_are_counted)
{
	struct capture c = capture_new(false);
	put_head(&c, 12, -1, 2000, 56);
	put(&c, 8, 8);
	put_field(&c, "Sampler", 32);
	put_field(&c, "Lost 12 samples", 16);
	put_sample(&c, 7, 3000, NULL, 0);
	put(&c, 99, 8); /* no frame */
	struct profile *p = read_capture(&c);
	ck_assert_uint_eq(p->meta.loss[LOSS_RING_FULL], 12);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 1);
	check_type(p, NULL, "[empty] 1\n");
	profile_free(p);
	check_refused(f, "", "not a capture");
}
END_TEST

/* Neither is a sample without a stack nor a child with the number 0. */
START_TEST(frames_cut_before_their_ids_are_skipped)
{
	static const uint64_t at[] = { PERF_CONTEXT_USER, 0x10000 };
	struct capture c = capture_new(false);
	put_map(&c, 7, 1000, 0x10000, "/bin/a", "");
	put_head(&c, 2, 7, 2000, 0);
	put_head(&c, 5, 7, 2000, 0);
	put_sample(&c, 0, 3000, at, 2);
	struct profile *p = read_capture(&c);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 2);
	check_type(p, NULL, "[unknown] 1\n");
	profile_free(p);
}
END_TEST

static int64_t total_of(struct profile *p, const char *type)
{
	return profile_total(p, profile_pick_type(p, type));
}

/* Of captures by sysprof 51: numbers of samples and bytes as sysprof counts them. */
START_TEST(known_captures_add_up)
{
	struct profile *p = read_golden("tests/golden/sysprof/known.syscap");
	ck_assert_int_eq(total_of(p, "cpu"), 100);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
	ck_assert_str_eq(profile_str(p, p->meta.host), "vm");
	ck_assert_uint_eq(p->meta.cpus, 2);
	char *got = folded_type(p, NULL, NULL);
	ck_assert_msg(strstr(got, ";__libc_start_call_main;main;spin 98\n") != NULL, "%s", got);
	free(got);
	profile_free(p);
	p = read_golden("tests/golden/sysprof/memprof.syscap");
	ck_assert_int_eq(total_of(p, "alloc_space"), 69274);
	ck_assert_int_eq(total_of(p, "alloc_objects"), 241);
	ck_assert_int_eq(total_of(p, "cpu"), 1);
	profile_free(p);
}
END_TEST

START_TEST(a_date_beyond_nanoseconds_is_none)
{
	static const uint64_t at[] = { PERF_CONTEXT_USER, 0x10000 };
	struct capture c = capture_new(false);
	memcpy(c.b.data + 8, "2426", 4);
	put_sample(&c, 7, 3000, at, 2);
	struct profile *p = read_capture(&c);
	ck_assert_int_eq(p->meta.start_wall_ns, 0);
	profile_free(p);
}
END_TEST

UNIT_MAIN("sysprof", known_captures_add_up, samples_in_both_byte_orders, maps_of_the_time,
	  names_inside_of_the_capture, allocations_made_and_left, lost_samples_are_counted,
	  frames_cut_before_their_ids_are_skipped, a_date_beyond_nanoseconds_is_none)
