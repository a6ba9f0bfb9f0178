// tier: test
// run: in memory
// tier: full CRESSET_MONTH_DAYS=120
/* A store that is fed for a month with containers that come and go stays within its budgets, and its catalog and names do not grow. What it still has
 * is what it was given, whatever numbers series had before. CRESSET_MONTH_DAYS: how many days (34). */
#define UNIT_TIMEOUT_S 800

#include "base/err.h"
#include "base/mem.h"
#include "rand.h"
#include "store/codec/metric_samples.h"
#include "store/codec/metric_steps.h"
#include "store/names/names_db_state.h"
#include "store/sqlite/db.h"
#include "store_witness.h"
#include "store_world.h"
#include "unit.h"

enum { CONTAINERS = 40, LIFE_HOURS = 5, FUNCTIONS = 400 };

struct month {
	struct store_world at;
	VEC(struct profile *) sent; /* by hour; NULL: its day is gone */
	VEC(int64_t) sent_ns;
	struct profile *kept; /* of a sender that keeps its profile */
	struct store_dict *dict;
	struct rng rng;
};

/* Each lives some hours, and is then replaced by another. */
static uint32_t container_series(struct profile *p, int slot, int64_t hour, const char *type_name)
{
	struct sink *s = profile_sink(p);
	struct type type = { .name = sink_string(s, type_name),
			     .sample_type = sink_string(s, "samples") };
	char id[32];

	snprintf(id, sizeof id, "%04d-%08lld", slot, (long long)(hour + slot) / LIFE_HOURS);
	struct label labels[] = {
		{ .key = sink_string(s, "container_id"), .str = sink_string(s, id) },
		{ .key = sink_string(s, "host"), .str = sink_string(s, "a") },
	};
	struct series series = { .type = s->ops->type(s, &type),
				 .labels = s->ops->labels(s, labels, 2) };
	return s->ops->series(s, &series);
}

/* Of the day's binary, with a name. */
static uint32_t day_frame(struct profile *p, int64_t day, uint32_t i)
{
	struct sink *s = profile_sink(p);
	struct mapping m = { .name = sink_string(s, "/opt/app"), .build_id_len = 20 };
	char name[96];

	memcpy(m.build_id, &day, sizeof day);
	struct frame f = { .mapping = s->ops->mapping(s, &m), .offset = 64 * i };
	uint32_t frame = s->ops->frame(s, &f);
	snprintf(name, sizeof name, "app::day_%lld::%08llx::handler_%u", (long long)day,
		 (unsigned long long)hash_mix((uint64_t)day, i), i);
	struct function fn = { .name = sink_string(s, name) };
	struct line line = { .function = s->ops->function(s, &fn) };
	s->ops->names(s, frame, &line, 1);
	return frame;
}

static void add_samples(struct month *m, struct profile *p, int n)
{
	int64_t hour = m->at.now_ns / HOUR_NS, day = m->at.now_ns / DAY_NS;
	struct sink *s = profile_sink(p);

	for (int i = 0; i < n; i++) {
		uint32_t frame = day_frame(p, day, rng_below(&m->rng, FUNCTIONS));
		struct sample sample = { .time_ns = m->at.now_ns -
						    (int64_t)rng_below(&m->rng, 3500) * SECOND_NS,
					 .value = 1 + (int64_t)rng_below(&m->rng, 9),
					 .series = container_series(p, i % CONTAINERS, hour, "cpu"),
					 .stack = s->ops->stack(s, &frame, 1) };
		s->ops->sample(s, &sample);
	}
}

static void add_points(struct month *m, struct profile *p, struct metric_samples *points)
{
	int64_t hour = m->at.now_ns / HOUR_NS;

	for (int i = 0; i < CONTAINERS; i += 4) {
		uint32_t id = container_series(p, i, hour, "cpu"); /* its labels */
		uint32_t gauge = metric_series(p, "memory", "bytes", METRIC_GAUGE,
					       p->series.series.v[id].labels);
		vec_push(points, (struct metric_sample){ gauge, m->at.now_ns, (double)hour });
	}
}

static void send(struct month *m, struct profile *p, struct store_dict *dict, bool points)
{
	struct metric_samples metrics = { 0 };
	struct err err = { 0 };

	if (points)
		add_points(m, p, &metrics);
	struct store_batch b = { .p = p, .dict = dict, .metrics = &metrics };
	ck_assert_msg(store_ingest(m->at.s, &b, 1, NULL, &err) == 0, "%s", err.text);
	vec_done(&metrics);
}

static void note_sent(struct month *m, const struct profile *p)
{
	struct profile *copy = profile_new();

	profile_merge(copy, p);
	vec_push(&m->sent, copy);
	vec_push(&m->sent_ns, m->at.now_ns);
}

static void send_hour(struct month *m)
{
	struct profile *p = profile_new();

	add_samples(m, p, 300);
	send(m, p, NULL, true);
	note_sent(m, p);
	profile_free(p);
	add_samples(m, m->kept, 40);
	send(m, m->kept, m->dict, false);
	note_sent(m, m->kept);
	m->kept->samples.n = 0;
}

static void forget_old(struct month *m)
{
	for (size_t i = 0; i < m->sent.n; i++)
		if (m->sent.v[i] && m->sent_ns.v[i] + DAY_NS < m->at.s->kept_from_ns) {
			profile_free(m->sent.v[i]);
			m->sent.v[i] = NULL;
		}
}

/* Compares rows of the days that are kept, and no others; and only what is kept in detail. */
static void check_rows(struct month *m)
{
	struct tally want = { 0 }, have = { 0 };

	for (size_t i = 0; i < m->sent.n; i++)
		if (m->sent.v[i])
			tally_batch(&want, m->sent.v[i], m->at.s->kept_from_ns);
	tally_kept(&have, m->at.s);
	ck_assert_uint_eq(tally_diff(&want, &have), 0);
	ck_assert_int_gt(tally_total(&have), 0);
	tally_done(&want);
	tally_done(&have);
}

static uint64_t names_bytes(const struct month *m)
{
	char *path = xasprintf("%s/names.db", m->at.dir);
	uint64_t bytes = db_files_bytes(path);

	free(path);
	return bytes;
}

static void check_budgets(struct month *m)
{
	struct store_stats stats;

	store_get_stats(m->at.s, &stats);
	ck_assert_uint_le(stats.disk_bytes, m->at.s->opts.disk_bytes);
	ck_assert_uint_le(stats.memory_bytes, m->at.s->opts.memory_bytes);
}

static void month_init(struct month *m, struct store_opts opts, uint64_t seed)
{
	*m = (struct month){ .rng = { seed } };
	store_world_init(&m->at, opts);
	m->kept = profile_new();
	m->dict = store_dict_new(m->at.s);
}

static void month_done(struct month *m)
{
	for (size_t i = 0; i < m->sent.n; i++)
		profile_free(m->sent.v[i]);
	vec_done(&m->sent);
	vec_done(&m->sent_ns);
	profile_free(m->kept);
	store_dict_free(m->dict);
	store_world_done(&m->at);
}

static void restart(struct month *m, bool abandon)
{
	store_dict_free(m->dict);
	store_world_restart(&m->at, abandon);
	m->dict = store_dict_new(m->at.s);
}

static uint32_t places(const struct month *m)
{
	return catalog_profile(m->at.s->catalog)->series.series.n;
}

static void one_day(struct month *m)
{
	for (int hour = 0; hour < 24; hour += 2) {
		m->at.now_ns += 2 * HOUR_NS;
		send_hour(m);
		store_world_maintain(&m->at);
		check_budgets(m);
		if (rng_below(&m->rng, 30) == 0)
			restart(m, rng_below(&m->rng, 2));
	}
	forget_old(m);
	if (m->at.now_ns / DAY_NS % 9)
		return;
	/* A sender may keep its own for ever. */
	profile_free(m->kept);
	store_dict_free(m->dict);
	m->kept = profile_new();
	m->dict = store_dict_new(m->at.s);
}

/* Once days are removed, as much goes as comes: nothing is larger than twice its size at that time. */
static void feed(struct month *m, int days, int full_after)
{
	uint32_t places_then = 0;
	uint64_t names_then = 0;

	for (int day = 0; day < days; day++) {
		one_day(m);
		if (day == full_after) {
			places_then = places(m);
			names_then = names_bytes(m);
		}
		if (day < full_after)
			continue;
		ck_assert_uint_le(places(m), places_then * 3 / 2);
		ck_assert_uint_le(names_bytes(m), names_then * 2 + (2 << 20));
		if (day % 5 == 0)
			check_rows(m);
	}
	check_rows(m);
	printf("%d days: %u places for %u series, %llu KiB of names\n", days, places(m),
	       catalog_count(m->at.s->catalog), (unsigned long long)names_bytes(m) >> 10);
}

static int month_days(void)
{
	const char *days = getenv("CRESSET_MONTH_DAYS");

	return days ? (int)strtol(days, NULL, 10) : 34;
}

START_TEST(a_month_by_retention)
{
	struct month m;

	month_init(&m,
		   (struct store_opts){ .retention_ns = 4 * DAY_NS,
					.memory_bytes = 24 << 20,
					.disk_bytes = 64 << 20 },
		   1);
	feed(&m, month_days(), 8);
	month_done(&m);
}
END_TEST

/* All of it at the same time: each sample with its series, as text, through a view that stays open while days go and numbers are reused. */
struct seen {
	struct store_view *v;
	struct tally rows;
};

static int see_row(void *ctx, const struct store_row *row)
{
	struct seen *seen = ctx;
	uint64_t series = series_text_hash(store_view_catalog(seen->v), row->series);

	tally_add(&seen->rows,
		  row_key(series, stack_text_hash(row->dict, row->stack), row->time_ns),
		  row->value);
	return 0;
}

static struct tally see(struct store_view *v)
{
	struct seen seen = { .v = v };
	struct err err = { 0 };

	ck_assert_msg(store_rows(v, NULL, 0, INT64_MAX, see_row, &seen, &err) == 0, "%s", err.text);
	return seen.rows;
}

START_TEST(a_view_is_stable)
{
	struct month m;
	struct store_view *v, *fresh;
	struct err err = { 0 };

	month_init(&m, (struct store_opts){ .retention_ns = 2 * DAY_NS, .hot_ns = -1 }, 3);
	for (int day = 0; day < 4; day++)
		one_day(&m);
	ck_assert_int_eq(store_view_open(m.at.s, &v, &err), 0);
	ck_assert_int_eq(store_view_open(m.at.s, &fresh, &err), 0);
	struct tally before = see(fresh);
	store_view_close(fresh);
	for (int hour = 0; hour < 30; hour++) { /* numbers that are free now are reused */
		m.at.now_ns += HOUR_NS;
		send_hour(&m);
		store_world_maintain(&m.at);
	}
	struct tally after = see(v); /* parts are opened now */
	ck_assert_uint_gt(before.keys.n, 1000);
	ck_assert_uint_eq(tally_diff(&before, &after), 0);
	store_view_close(v);
	tally_done(&before);
	tally_done(&after);
	month_done(&m);
}
END_TEST

/* Numbers that are free when a store is opened are used by the first batch: restarts cost no places. */
START_TEST(restarts_cost_no_places)
{
	struct month m;

	month_init(&m, (struct store_opts){ .retention_ns = 2 * DAY_NS, .hot_ns = -1 }, 5);
	for (int day = 0; day < 6; day++)
		one_day(&m);
	uint32_t before = places(&m);
	for (int hour = 0; hour < 72; hour += 2) {
		restart(&m, hour % 3 == 0);
		m.at.now_ns += 2 * HOUR_NS;
		send_hour(&m);
		store_world_maintain(&m.at);
	}
	ck_assert_uint_le(places(&m), before + before / 10);
	month_done(&m);
}
END_TEST

/* --- readers in another process --- */

START_TEST(places_wait_for_readers)
{
	struct month m;
	struct store *reader;
	struct store_opts how;
	struct err err = { 0 };

	month_init(&m, (struct store_opts){ .retention_ns = 2 * DAY_NS, .hot_ns = -1 }, 4);
	one_day(&m);
	how = m.at.opts;
	how.read_only = true;
	ck_assert_msg(store_open(m.at.dir, &how, &reader, &err) == 0, "%s", err.text);
	for (int day = 0; day < 6; day++)
		one_day(&m);
	uint32_t grown = places(&m);
	ck_assert_uint_gt(grown, 6 * 24 / LIFE_HOURS * CONTAINERS); /* none was reused */
	ck_assert(catalog_has_waiting(m.at.s->catalog));
	store_abandon(reader);
	store_world_maintain(&m.at);
	ck_assert(!catalog_has_waiting(m.at.s->catalog));
	one_day(&m);
	ck_assert_uint_eq(places(&m), grown);
	check_rows(&m);
	month_done(&m);
}
END_TEST

/* --- what counts as a reference --- */

START_TEST(pinned_hours_retain_their_series)
{
	struct month m;
	struct err err = { 0 };

	month_init(&m, (struct store_opts){ .retention_ns = 2 * DAY_NS }, 5);
	m.at.now_ns += HOUR_NS;
	send_hour(&m);
	struct store_pin pin = { m.at.now_ns - HOUR_NS, m.at.now_ns };
	ck_assert_int_eq(store_pin(m.at.s, &pin, &err), 0);
	const struct profile *p = catalog_profile(m.at.s->catalog);
	VEC(uint64_t) texts = { 0 };
	for (uint32_t i = 0; i < p->series.series.n; i++)
		vec_push(&texts, series_text_hash(p, i));
	for (int day = 0; day < 6; day++)
		one_day(&m);
	p = catalog_profile(m.at.s->catalog);
	for (uint32_t i = 0; i < texts.n; i++)
		ck_assert_uint_eq(series_text_hash(p, i), texts.v[i]);
	ck_assert_uint_lt(catalog_count(m.at.s->catalog), 5 * 24 / LIFE_HOURS * CONTAINERS * 5 / 4);
	ck_assert_int_eq(store_unpin(m.at.s, &pin, &err), 0);
	for (int day = 0; day < 3; day++)
		one_day(&m);
	p = catalog_profile(m.at.s->catalog);
	uint32_t same = 0;
	for (uint32_t i = 0; i < texts.n; i++)
		same += series_text_hash(p, i) == texts.v[i];
	ck_assert_uint_eq(same, 0);
	vec_done(&texts);
	month_done(&m);
}
END_TEST

UNIT_MAIN("store_month", a_month_by_retention, restarts_cost_no_places, a_view_is_stable,
	  places_wait_for_readers, pinned_hours_retain_their_series)
