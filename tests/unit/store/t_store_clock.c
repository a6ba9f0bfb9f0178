// tier: test
// run: in memory
/* A clock that is set, ahead or back, by years, for a moment or permanently: nothing is deleted, and nothing that is taken is left out. */
#include "ingest_world.h"

#include "base/err.h"
#include "store/codec/clock_watch.h"
#include "store/codec/store.h"

#include <string.h>

#define YEARS_NS (20 * 365 * DAY_NS)

/* --- the watch -------------------------------------------------------------------------------- */

START_TEST(only_a_clock_that_is_set_is_not_believed)
{
	static const struct {
		const char *what;
		int64_t wall_ns, boot_ns; /* what passes on each */
		bool is_set;
	} cases[] = {
		{ "a second", SECOND_NS, SECOND_NS, false },
		{ "a month, mostly suspended", 30 * DAY_NS, 30 * DAY_NS, false },
		{ "an hour of slewing", 0, HOUR_NS, false },
		{ "two hours ahead", 2 * HOUR_NS, SECOND_NS, true },
		{ "two hours back", -2 * HOUR_NS, SECOND_NS, true },
		{ "years ahead", YEARS_NS, 10 * SECOND_NS, true },
		{ "years back", -YEARS_NS, 10 * SECOND_NS, true },
		{ "a boot", 60 * SECOND_NS, -99 * DAY_NS, false },
		{ "a night off", 12 * HOUR_NS, -99 * DAY_NS, false },
		{ "a boot without a clock", -YEARS_NS, -99 * DAY_NS, true },
		{ "a boot with one that is ahead", YEARS_NS, -99 * DAY_NS, true },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct clock_watch w = { .wall_ns = START_NS, .boot_ns = 100 * DAY_NS };
		int64_t moved_ns = 0;
		bool is_set = clock_watch_look(&w, START_NS + cases[i].wall_ns,
					       100 * DAY_NS + cases[i].boot_ns, &moved_ns);
		ck_assert_msg(is_set == cases[i].is_set, "%s", cases[i].what);
		ck_assert_int_eq(w.hold_ns, is_set ? DAY_NS : 0);
		ck_assert_int_eq(moved_ns > 0, is_set && cases[i].wall_ns > 0);
	}
}
END_TEST

/* A day of uptime, across boots, and no less for a clock that is set again. */
START_TEST(it_is_believed_after_a_day)
{
	struct clock_watch w = { .wall_ns = START_NS, .boot_ns = 100 * DAY_NS };
	int64_t moved_ns, wall_ns = START_NS + YEARS_NS;

	ck_assert(clock_watch_look(&w, wall_ns, 100 * DAY_NS, &moved_ns));
	ck_assert(!clock_watch_look(&w, wall_ns + 10 * HOUR_NS, 100 * DAY_NS + 10 * HOUR_NS,
				    &moved_ns));
	ck_assert_int_eq(w.hold_ns, 14 * HOUR_NS);
	ck_assert(!clock_watch_look(&w, wall_ns + 11 * HOUR_NS, HOUR_NS, &moved_ns));
	ck_assert_int_eq(w.hold_ns, 14 * HOUR_NS);
	ck_assert(!clock_watch_look(&w, wall_ns + 25 * HOUR_NS, 15 * HOUR_NS, &moved_ns));
	ck_assert_int_eq(w.hold_ns, 0);
	ck_assert(clock_watch_look(&w, wall_ns, 15 * HOUR_NS, &moved_ns));
	ck_assert_int_eq(w.hold_ns, DAY_NS);
}
END_TEST

START_TEST(the_first_look_believes)
{
	struct clock_watch w = { 0 };
	int64_t moved_ns;

	ck_assert(!clock_watch_look(&w, START_NS, DAY_NS, &moved_ns));
	ck_assert_int_eq(w.hold_ns, 0);
}
END_TEST

/* --- a store ---------------------------------------------------------------------------------- */

struct clocks {
	struct world w; /* first: the store's ctx is its base */
	int64_t boot_ns;
};

static int64_t boot_now(void *ctx)
{
	return ((struct clocks *)ctx)->boot_ns;
}

static void clocks_init(struct clocks *c)
{
	c->boot_ns = 3 * DAY_NS;
	world_init(&c->w, (struct store_opts){ .boot_ns = boot_now });
}

static void pass(struct clocks *c, int64_t ns)
{
	c->w.base.now_ns += ns;
	c->boot_ns += ns;
}

/* 200 samples within the last minute. */
static void take(struct clocks *c, uint64_t seed)
{
	struct profile *p =
		batch_at(seed, c->w.base.now_ns - 60 * SECOND_NS, 60 * SECOND_NS, false);
	struct err err = { 0 };

	ck_assert_msg(world_ingest(&c->w, p, NULL, 0, &err) == 0, "%s", err.text);
	profile_free(p);
}

static uint32_t files(const struct clocks *c)
{
	return c->w.base.s->parts.n + c->w.base.s->hot.n;
}

static void check(struct clocks *c)
{
	world_check(&c->w);
	ck_assert_uint_eq(c->w.base.s->stats.expired_rows, 0);
}

static void fill(struct clocks *c)
{
	for (int day = 0; day < 10; day++) {
		take(c, day);
		pass(c, day < 9 ? DAY_NS : 0);
		world_maintain(&c->w);
	}
}

/* Forty seconds of the wrong time. sends: samples arrive during them, with that time; stops: the writer ends before and after. */
static void wrong_time(struct clocks *c, int64_t by_ns, bool sends, bool stops)
{
	if (stops)
		store_world_restart(&c->w.base, false);
	c->w.base.now_ns += by_ns;
	for (int i = 0; i < 4; i++) {
		if (stops && i % 2 == 0)
			store_world_restart(&c->w.base, i);
		world_maintain(&c->w);
		if (sends)
			take(c, 100 + i);
		pass(c, 10 * SECOND_NS);
	}
	world_maintain(&c->w);
	if (stops)
		store_world_restart(&c->w.base, false);
	c->w.base.now_ns -= by_ns;
}

static void years_for_a_moment(int64_t by_ns, bool sends, bool stops)
{
	struct clocks c;
	struct err words;

	clocks_init(&c);
	fill(&c);
	uint32_t before = files(&c);
	wrong_time(&c, by_ns, sends, stops);
	if (stops)
		store_world_restart(&c.w.base, false);
	world_maintain(&c.w);
	ck_assert_uint_ge(files(&c), before);
	check(&c);
	take(&c, 200);
	pass(&c, HOUR_NS);
	take(&c, 201);
	check(&c);
	world_maintain(&c.w);
	ck_assert(store_news(c.w.base.s, &words));
	ck_assert_msg(strstr(words.text, "the clock was set") ||
			      strstr(words.text, "is in the future"),
		      "%s", words.text);
	store_world_restart(&c.w.base, true);
	check(&c);
	ck_assert_int_le(c.w.base.s->kept_from_ns, c.w.base.now_ns);
	world_done(&c.w);
}

START_TEST(years_ahead_for_a_moment)
{
	for (int i = 0; i < 4; i++)
		years_for_a_moment(YEARS_NS, i & 1, i & 2);
}
END_TEST

START_TEST(years_back_for_a_moment)
{
	for (int i = 0; i < 4; i++)
		years_for_a_moment(-YEARS_NS, i & 1, i & 2);
}
END_TEST

/* The current hour, and the next ones, have their exact samples. */
static void exact_samples_go_on(int64_t by_ns)
{
	struct clocks c;

	clocks_init(&c);
	pass(&c, HOUR_NS / 4);
	take(&c, 1);
	wrong_time(&c, by_ns, true, false);
	world_maintain(&c.w);
	uint64_t before = c.w.base.s->stats.hot_rows;
	take(&c, 2);
	ck_assert_uint_eq(c.w.base.s->stats.hot_rows, before + 200);
	pass(&c, 2 * HOUR_NS);
	world_maintain(&c.w);
	take(&c, 3);
	ck_assert_uint_eq(c.w.base.s->stats.hot_rows, before + 400);
	world_done(&c.w);
}

START_TEST(exact_samples_continue_after_years_ahead)
{
	exact_samples_go_on(YEARS_NS);
}
END_TEST

START_TEST(exact_samples_continue_after_years_back)
{
	exact_samples_go_on(-YEARS_NS);
}
END_TEST

/* Others send the right time in the meantime: their data keeps it, also after a restart. */
START_TEST(senders_with_the_right_time_are_stored)
{
	struct clocks c;

	clocks_init(&c);
	fill(&c);
	for (int i = 0; i < 4; i++) {
		struct profile *p = batch_at(400 + i, c.w.base.now_ns, SECOND_NS, false);
		struct err err = { 0 };
		c.w.base.now_ns -= YEARS_NS;
		if (i == 2)
			store_world_restart(&c.w.base, true);
		ck_assert_int_eq(world_ingest(&c.w, p, NULL, 0, &err), 0);
		check(&c);
		if (i == 3)
			store_world_restart(&c.w.base, true);
		check(&c);
		c.w.base.now_ns += YEARS_NS;
		profile_free(p);
		pass(&c, 3 * HOUR_NS);
	}
	world_done(&c.w);
}
END_TEST

/* A clock that stays is believed after a day: data that is then too old goes, when something newer is there. */
START_TEST(age_counts_again_after_a_day)
{
	struct clocks c;
	struct store_kept kept;

	clocks_init(&c);
	fill(&c);
	c.w.base.now_ns += 30 * DAY_NS;
	for (int hour = 0; hour < 24; hour++) {
		take(&c, 300 + hour);
		world_maintain(&c.w);
		check(&c);
		store_get_kept(c.w.base.s, &kept);
		ck_assert_int_eq(kept.held_ns, DAY_NS - hour * HOUR_NS);
		pass(&c, HOUR_NS);
	}
	world_maintain(&c.w);
	store_get_kept(c.w.base.s, &kept);
	ck_assert_int_eq(kept.held_ns, 0);
	ck_assert_uint_le(c.w.base.s->parts.n, 2);
	ck_assert_int_eq(kept.from_ns, (c.w.base.now_ns - 14 * DAY_NS) / DAY_NS * DAY_NS);
	world_done(&c.w);
}
END_TEST

/* Years really pass, and nothing arrives. */
START_TEST(a_store_that_rests_loses_nothing)
{
	struct clocks c;

	clocks_init(&c);
	fill(&c);
	pass(&c, YEARS_NS);
	world_maintain(&c.w);
	store_world_restart(&c.w.base, false);
	world_maintain(&c.w);
	check(&c);
	ck_assert_uint_eq(c.w.base.s->parts.n, 10);
	world_done(&c.w);
}
END_TEST

/* As earlier versions left it. */
START_TEST(a_future_retention_start_is_reset)
{
	struct clocks c;
	struct err words;

	clocks_init(&c);
	take(&c, 1);
	ck_assert_int_eq(catalog_keep_from(c.w.base.s->catalog,
					   (START_NS + YEARS_NS) / DAY_NS * DAY_NS, NULL),
			 0);
	store_world_restart(&c.w.base, false);
	ck_assert(store_news(c.w.base.s, &words));
	ck_assert_msg(strstr(words.text, "the retention started at 2044-") != NULL, "%s",
		      words.text);
	ck_assert(!store_news(c.w.base.s, &words));
	take(&c, 2);
	world_maintain(&c.w);
	check(&c);
	store_world_restart(&c.w.base, true);
	ck_assert(!store_news(c.w.base.s, &words));
	check(&c);
	world_done(&c.w);
}
END_TEST

/* The caller that gives a batch learns which of it is too old. */
START_TEST(expired_rows_are_reported)
{
	struct clocks c;
	uint64_t expired = 7;
	struct err err = { 0 };

	clocks_init(&c);
	for (int day = 0; day < 20; day++) {
		take(&c, day);
		pass(&c, DAY_NS);
		world_maintain(&c.w);
	}
	struct profile *old = batch_at(1, START_NS, SECOND_NS, false);
	struct profile *new = batch_at(2, c.w.base.now_ns, SECOND_NS, false);
	struct store_batch b = { .p = new, .expired = &expired };
	ck_assert_int_eq(store_ingest(c.w.base.s, &b, 1, NULL, &err), 0);
	ck_assert_uint_eq(expired, 0);
	b.p = old;
	ck_assert_int_eq(store_ingest(c.w.base.s, &b, 1, NULL, &err), 0);
	ck_assert_uint_eq(expired, 200);
	profile_free(old);
	profile_free(new);
	world_done(&c.w);
}
END_TEST

UNIT_MAIN("store_clock", only_a_clock_that_is_set_is_not_believed, it_is_believed_after_a_day,
	  the_first_look_believes, years_ahead_for_a_moment, years_back_for_a_moment,
	  exact_samples_continue_after_years_ahead, exact_samples_continue_after_years_back,
	  senders_with_the_right_time_are_stored, age_counts_again_after_a_day,
	  a_store_that_rests_loses_nothing, a_future_retention_start_is_reset,
	  expired_rows_are_reported)
