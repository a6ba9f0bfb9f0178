// tier: test
/* Unwind tables in kernel memory: complete when marked so, never above the budget, unused ones evicted first. */
#include "base/clock.h"
#include "collect/walker/table_builder.h"
#include "collect/walker/table_store.h"
#include "space_maps.h"
#include "unit.h"
#include "unwind/table.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

enum { SEGMENTS = 2, REST_NS = 2000000 /* nobody walks here */ };
static const char *const file = "/proc/self/exe";

static struct space_maps maps;
static struct table_store *store;
static struct unwind_table truth;

static bool setup(uint32_t max_segments)
{
	if (!space_maps_create(&maps, max_segments))
		return false;
	struct table_store_opts opts = { maps.tables, maps.segments, max_segments,
					 .rest_ns = REST_NS };
	store = table_store_new(&opts);
	ck_assert_ptr_nonnull(store);
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(unwind_table_build(fd, &truth, NULL), 0);
	close(fd);
	return true;
}

static void teardown(void)
{
	unwind_table_done(&truth);
	table_store_free(store);
	space_maps_close(&maps);
}

static struct space_table in_kernel(uint32_t index)
{
	struct space_table t;

	ck_assert_int_eq(bpf_map_lookup_elem(maps.tables, &index, &t), 0);
	return t;
}

static void want(uint32_t index, const char *path)
{
	ck_assert(table_store_misses(store, index));
	table_store_want(store, index, open(path, O_RDONLY | O_CLOEXEC));
	ck_assert(!table_store_misses(store, index));
}

static void settle(void)
{
	uint64_t end_ns = clock_mono_ns() + 20000000000ull;

	for (table_store_poll(store); table_store_is_busy(store); table_store_poll(store)) {
		ck_assert_uint_lt(clock_mono_ns(), end_ns);
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
}

static void is_whole(uint32_t index)
{
	struct space_table t = in_kernel(index);

	ck_assert_uint_eq(t.state, TABLE_READY);
	for (size_t i = 0; i < truth.image.len / UNWIND_CHUNK; i++)
		ck_assert_mem_eq(table_store_chunk(store, t.ref.chunk + i),
				 truth.image.data + i * UNWIND_CHUNK, UNWIND_CHUNK);
	table_store_trim_copies(store);
}

START_TEST(tables_stay_whole_under_a_budget)
{
	if (!setup(SEGMENTS))
		T_SKIP(SPACE_NEEDS);
	uint32_t chunks = truth.image.len / UNWIND_CHUNK;
	uint32_t fit = SEGMENTS * UNWIND_SEGMENT_CHUNKS / chunks, n = fit + 5, index[1024];
	struct table_store_stats stats;

	ck_assert_uint_ge(fit, 2);
	ck_assert_uint_lt(n, 1024);
	for (uint32_t i = 0; i < n; i++) {
		index[i] = table_store_add(store);
		want(index[i], file);
		settle();
	}
	table_store_get_stats(store, &stats);
	ck_assert_uint_eq(stats.built, n);
	ck_assert_uint_eq(stats.segments, SEGMENTS);
	ck_assert_uint_eq(stats.tables, n - stats.evicted);
	ck_assert_uint_ge(stats.evicted, 5);
	ck_assert_uint_le(stats.bytes, SEGMENTS * UNWIND_SEGMENT_CHUNKS * UNWIND_CHUNK);
	uint32_t ready = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (in_kernel(index[i]).state != TABLE_READY)
			continue;
		is_whole(index[i]);
		ready++;
	}
	ck_assert_uint_eq(ready, stats.tables);
	ck_assert(table_store_misses(store, index[0])); /* the oldest: must be requested again */
	want(index[0], file);
	settle();
	is_whole(index[0]);
	teardown();
}
END_TEST

/* Where one table was, the next one is read. */
START_TEST(copies_are_of_the_present_table)
{
	static const char *const files[] = { "/proc/self/exe", "/bin/sh", "/proc/self/exe" };

	if (!setup(1))
		T_SKIP(SPACE_NEEDS);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		uint32_t index = table_store_add(store);

		unwind_table_done(&truth);
		int fd = open(files[i], O_RDONLY | O_CLOEXEC);
		ck_assert_int_eq(unwind_table_build(fd, &truth, NULL), 0);
		close(fd);
		want(index, files[i]);
		settle();
		ck_assert_uint_eq(in_kernel(index).ref.chunk, 0);
		for (size_t k = 0; k < truth.image.len / UNWIND_CHUNK && k < 16; k++)
			ck_assert_mem_eq(table_store_chunk(store, k),
					 truth.image.data + k * UNWIND_CHUNK, UNWIND_CHUNK);
		table_store_trim_copies(store);
		table_store_remove(store, index);
		nanosleep(&(struct timespec){ .tv_nsec = 2 * REST_NS }, NULL);
	}
	teardown();
}
END_TEST

/* The walker marks the tables it uses. */
START_TEST(used_tables_stay)
{
	if (!setup(SEGMENTS))
		T_SKIP(SPACE_NEEDS);
	uint32_t fit = SEGMENTS * UNWIND_SEGMENT_CHUNKS / (truth.image.len / UNWIND_CHUNK);
	uint32_t first = table_store_add(store);

	want(first, file);
	settle();
	for (uint32_t i = 0; i < 3 * fit; i++) {
		struct space_table t = in_kernel(first);
		uint32_t index = table_store_add(store);

		t.used = 1;
		ck_assert_int_eq(bpf_map_update_elem(maps.tables, &first, &t, BPF_ANY), 0);
		want(index, file);
		settle();
	}
	is_whole(first);
	teardown();
}
END_TEST

START_TEST(missing_tables_are_reported_once)
{
	if (!setup(SEGMENTS))
		T_SKIP(SPACE_NEEDS);
	uint32_t none = table_store_add(store), gone = table_store_add(store);

	want(none, "/dev/null");
	settle();
	ck_assert_uint_eq(in_kernel(none).state, TABLE_NONE);
	ck_assert(!table_store_misses(store, none));
	want(gone, file);
	table_store_remove(store, gone); /* while it is being built */
	settle();
	ck_assert_uint_eq(in_kernel(gone).state, TABLE_NONE);
	ck_assert_uint_eq(table_store_add(store), gone); /* the place is free again */
	teardown();
}
END_TEST

START_TEST(larger_than_all_memory)
{
	struct table_store_stats stats;

	if (!setup(0))
		T_SKIP(SPACE_NEEDS);
	uint32_t index = table_store_add(store);
	want(index, file);
	settle();
	table_store_get_stats(store, &stats);
	ck_assert_uint_eq(stats.refused, 1);
	ck_assert_uint_eq(in_kernel(index).state, TABLE_NONE);
	teardown();
}
END_TEST

/* What most samples wait for is built first, however much is asked for in between. Returns false if the first job was done before all was asked. */
static bool builds_in_order_of_need(void)
{
	enum { JOBS = 6, MOST = 4, SECOND = 2 };
	struct table_builder *b = table_builder_new(NULL);
	struct table_built built;
	uint32_t order[JOBS], n = 0;

	ck_assert_ptr_nonnull(b);
	for (uint32_t i = 0; i < JOBS; i++)
		table_builder_add(b, i, open(file, O_RDONLY | O_CLOEXEC));
	for (int i = 0; i < 3; i++)
		table_builder_want(b, MOST);
	for (int i = 0; i < 2; i++)
		table_builder_want(b, SECOND);
	for (uint32_t i = 1; i < JOBS; i++) /* each rare one once, after those */
		if (i != MOST && i != SECOND)
			table_builder_want(b, i);
	bool is_in_time = !table_builder_take(b, &built);
	for (uint64_t end_ns = clock_mono_ns() + 20000000000ull;
	     is_in_time && n < JOBS && clock_mono_ns() < end_ns;) {
		if (!table_builder_take(b, &built)) {
			nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
			continue;
		}
		unwind_table_done(&built.table);
		order[n++] = built.index;
	}
	table_builder_free(b);
	if (!is_in_time)
		return false;
	ck_assert_uint_eq(n, JOBS);
	/* the first one may have begun at once */
	uint32_t first = order[0] == 0;
	ck_assert_uint_eq(order[first], MOST);
	ck_assert_uint_eq(order[first + 1], SECOND);
	return true;
}

START_TEST(order_of_need)
{
	for (int i = 0; i < 200; i++)
		if (builds_in_order_of_need())
			return;
	ck_abort_msg("a table was built at once 200 times");
}
END_TEST

UNIT_MAIN("table_store", copies_are_of_the_present_table, order_of_need,
	  tables_stay_whole_under_a_budget, used_tables_stay, missing_tables_are_reported_once,
	  larger_than_all_memory)
