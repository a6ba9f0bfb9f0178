// tier: test
// run: in memory
/* A store stays within its limits on disk, memory and days. */
#include "base/err.h"
#include "ingest_world.h"

static uint64_t counted_bytes;
static int count_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)path, (void)ftw;
	counted_bytes += type == FTW_F ? (uint64_t)st->st_blocks * 512 : 0;
	return 0;
}

static uint64_t bytes_of(const struct world *w)
{
	counted_bytes = 0;
	nftw(w->base.dir, count_one, 16, FTW_PHYS);
	return counted_bytes;
}

START_TEST(a_month_stays_inside_its_disk)
{
	struct store_opts opts = { .disk_bytes = 18 << 20, .retention_ns = 20 * DAY_NS };
	struct store_stats stats;
	struct err err = { 0 };
	struct world w;
	uint64_t most = 0;

	world_init(&w, opts);
	for (int step = 0; step < 30 * 24; step++) {
		struct profile *p =
			batch_at(step % 50 + 1, w.base.now_ns - HOUR_NS, HOUR_NS, false);
		ck_assert_msg(world_ingest(&w, p, NULL, 0, &err) == 0, "%s", err.text);
		most = bytes_of(&w) > most ? bytes_of(&w) : most;
		w.base.now_ns += HOUR_NS;
		world_maintain(&w);
		most = bytes_of(&w) > most ? bytes_of(&w) : most;
		profile_free(p);
	}
	ck_assert_uint_le(most, opts.disk_bytes);
	store_get_stats(w.base.s, &stats);
	ck_assert_uint_ge(stats.parts, 2);
	ck_assert_int_ge(stats.kept_from_ns, stats.asked_from_ns - DAY_NS);
	/* The remaining rows equal what was put in. */
	struct tally all = w.want, have = { 0 };
	w.want = (struct tally){ 0 };
	store_world_restart(&w.base, true);
	for (int step = 0; step < 30 * 24; step++) {
		struct profile *p =
			batch_at(step % 50 + 1, START_NS + (step - 1) * HOUR_NS, HOUR_NS, false);
		tally_batch(&w.want, p, w.base.now_ns - DAY_NS);
		profile_free(p);
	}
	tally_store(&have, w.base.s);
	size_t lost = 0;
	for (size_t i = 0; i < w.want.keys.n; i++)
		lost += w.want.sums.v[i] != tally_get(&have, w.want.keys.v[i]);
	ck_assert_uint_eq(lost, 0);
	tally_done(&all);
	tally_done(&have);
	world_done(&w);
}
END_TEST

static struct profile *wide_batch(int step, int64_t time_ns)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	struct type cpu = { .name = sink_string(s, "cpu"),
			    .sample_type = sink_string(s, "samples") };
	struct series series = { .type = s->ops->type(s, &cpu) };
	char name[48];

	for (int i = 0; i < 4000; i++) {
		snprintf(name, sizeof name, "c%d", i % 2000);
		struct label label = { .key = sink_string(s, "container_id"),
				       .str = sink_string(s, name) };
		uint32_t frames[8];
		for (int k = 0; k < 8; k++) {
			snprintf(name, sizeof name, "function_%d_%d", k,
				 k < 6 ? i % 200 : step * 500 + i / 8);
			struct frame f = { .kind = FRAME_PYTHON,
					   .mapping = MAPPING_NONE,
					   .function = sink_string(s, name) };
			frames[k] = s->ops->frame(s, &f);
		}
		series.labels = s->ops->labels(s, &label, 1);
		struct sample sample = { .time_ns = time_ns - i,
					 .value = 1,
					 .series = s->ops->series(s, &series),
					 .stack = s->ops->stack(s, frames, 8) };
		s->ops->sample(s, &sample);
	}
	return p;
}

/* Memory of this process that is not shared with files. */
static uint64_t anonymous_bytes(void)
{
	char line[128];
	unsigned long long kib = 0;
	FILE *f = fopen("/proc/self/status", "r");

	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof line, f))
		if (sscanf(line, "RssAnon: %llu", &kib) == 1)
			break;
	fclose(f);
	return kib << 10;
}

/* Two thousand series, and stacks that never recur: the memory that a store keeps for them stays below its budget, and so does the memory it takes
 * from the system. */
START_TEST(memory_stays_inside_its_budget)
{
	struct store_opts opts = { .memory_bytes = 64 << 20 };
	uint64_t counted = 0, taken = 0;
	struct store_stats stats;
	struct err err = { 0 };
	struct world w;

	world_init(&w, opts);
	uint64_t before = anonymous_bytes();
	for (int step = 0; step < 150; step++, w.base.now_ns += HOUR_NS / 4) {
		struct profile *p = wide_batch(step, w.base.now_ns);
		struct store_batch b = { .p = p };
		ck_assert_int_eq(store_ingest(w.base.s, &b, 1, NULL, &err), 0);
		profile_free(p);
		ck_assert_int_ge(store_maintain(w.base.s, SECOND_NS, &err), 0);
		store_get_stats(w.base.s, &stats);
		counted = stats.memory_bytes > counted ? stats.memory_bytes : counted;
		uint64_t now = anonymous_bytes();
		taken = now > taken ? now : taken;
	}
	printf("%llu rows: %llu MiB counted, %llu MiB taken\n", (unsigned long long)stats.rows,
	       (unsigned long long)counted >> 20, (unsigned long long)(taken - before) >> 20);
	ck_assert_uint_le(counted, opts.memory_bytes);
#ifndef __SANITIZE_ADDRESS__ /* which keeps freed memory */
	ck_assert_uint_le(taken - before, opts.memory_bytes);
#endif
	world_done(&w);
}
END_TEST

/* A day that is gone does not come back with the inbox, or with late data. */
START_TEST(deleted_data_stays_deleted)
{
	struct profile *old = batch_at(1, START_NS - HOUR_NS, SECOND_NS, false);
	struct profile *new = batch_at(2, START_NS + 5 * DAY_NS, SECOND_NS, false);
	struct err err = { 0 };
	struct world w;
	struct store_batch b = { .p = old };

	world_init(&w, (struct store_opts){ .retention_ns = 3 * DAY_NS });
	ck_assert_int_eq(store_ingest(w.base.s, &b, 1, NULL, &err), 0);
	w.base.now_ns += 5 * DAY_NS;
	ck_assert_int_eq(world_ingest(&w, new, NULL, 0, &err), 0);
	world_maintain(&w);
	world_check(&w);
	store_world_restart(&w.base, true);
	ck_assert_int_eq(store_ingest(w.base.s, &b, 1, NULL, &err), 0);
	ck_assert_uint_ge(w.base.s->stats.expired_rows, old->samples.n);
	world_check(&w);
	store_world_restart(&w.base, true);
	world_check(&w);
	profile_free(old);
	profile_free(new);
	world_done(&w);
}
END_TEST

UNIT_MAIN("store_budget", a_month_stays_inside_its_disk, memory_stays_inside_its_budget,
	  deleted_data_stays_deleted)
