/* Handles changes of the clock: store/codec/clock_watch.h, and invariant 3 of store_state.h. */
#include "store/day/store_state.h"

#include "base/err.h"
#include "store/catalog/catalog.h"

#include <errno.h>
#include <inttypes.h>
#include <time.h>

/* How often the last look is stored, in time since boot. */
#define SAVE_EVERY_NS (600 * 1000000000ll)

static int64_t first_of_day(int64_t time_ns)
{
	return time_ns > 0 ? time_ns / STORE_DAY_NS * STORE_DAY_NS : 0;
}

/* A clock that was ahead made everything too old. Takes kept_from_ns back, so that existing and new
 * data are retained. */
static void keep_again(struct store *s, int64_t now_ns)
{
	int64_t from_ns = first_of_day(now_ns - s->opts.retention_ns);

	if (s->kept_from_ns <= now_ns)
		return;
	if (s->parts.n && s->parts.v[0]->day_ns < from_ns)
		from_ns = s->parts.v[0]->day_ns;
	s->taken_back_ns = s->kept_from_ns;
	s->kept_from_ns = from_ns;
	if (!s->opts.read_only)
		catalog_keep_again(s->catalog, from_ns, NULL);
}

/* A value far in the future would bar current hours: it is retained aside until the clock gets
 * there, if ever. */
static int hot_from(struct store *s, int64_t now_ns, int64_t *from_ns, struct err *err)
{
	int64_t next_ns = (now_ns / HEAD_SLOT_NS + 1) * HEAD_SLOT_NS, waiting_ns;
	int rc = catalog_hot_waiting(s->catalog, &waiting_ns, err);

	if (rc < 0)
		return rc;
	if (*from_ns > now_ns + STORE_HOT_AHEAD_NS) {
		*from_ns = next_ns;
		return catalog_hot_keep_again(s->catalog, next_ns, err);
	}
	if (waiting_ns <= *from_ns || waiting_ns > now_ns + STORE_HOT_AHEAD_NS)
		return 0;
	*from_ns = waiting_ns;
	return catalog_hot_keep_from(s->catalog, waiting_ns, err);
}

static void follow_hot(struct store *s, int64_t now_ns)
{
	struct err err;
	int64_t from_ns;

	if (catalog_hot_from(s->catalog, &from_ns, &err) > 0 &&
	    hot_from(s, now_ns, &from_ns, &err) == 0 && s->has_hot)
		s->hot_from_ns = from_ns;
}

static void save_clock(struct store *s, bool at_once)
{
	const struct clock_watch *now = &s->clock, *then = &s->clock_saved;
	bool is_due = !then->wall_ns || now->boot_ns < then->boot_ns ||
		      now->boot_ns - then->boot_ns >= SAVE_EVERY_NS ||
		      (then->hold_ns && !now->hold_ns);
	struct err err;

	if ((is_due || at_once) && catalog_set_clock(s->catalog, now, &err) == 0)
		s->clock_saved = *now;
}

void store_check_clock(struct store *s)
{
	int64_t now_ns = store_now_ns(s), moved_ns = 0;

	if (s->opts.read_only)
		return;
	bool is_set = clock_watch_look(&s->clock, now_ns, s->opts.boot_ns(s->opts.ctx), &moved_ns);
	keep_again(s, now_ns);
	if (is_set) {
		s->moved_ns = moved_ns;
		s->stats.clock_sets++;
		follow_hot(s, now_ns);
	}
	save_clock(s, is_set);
}

/* A full disk does not prevent opening. */
int store_clock_open(struct store *s, struct err *err)
{
	int rc;

	if (s->opts.read_only) {
		keep_again(s, store_now_ns(s));
		return 0;
	}
	rc = catalog_clock(s->catalog, &s->clock_saved, err);
	if (rc)
		return rc;
	s->clock = s->clock_saved;
	store_check_clock(s);
	follow_hot(s, store_now_ns(s));
	return 0;
}

int64_t store_received_ns(struct store *s)
{
	int64_t now_ns = store_now_ns(s);

	if (s->clock.hold_ns && s->clock.unset_ns > now_ns)
		return s->clock.unset_ns;
	return now_ns;
}

int64_t store_age_ns(const struct store *s)
{
	int64_t now_ns = store_now_ns(s), newest_ns;

	if (s->clock.hold_ns || !s->parts.n)
		return 0;
	newest_ns = s->parts.v[s->parts.n - 1]->day_ns + STORE_DAY_NS;
	return now_ns < newest_ns ? now_ns : newest_ns;
}

/* --- messages --------------------------------------------------------------------------------- */

static void say_set(struct store *s, struct err *words)
{
	int64_t minutes = s->moved_ns / 60000000000;

	err_set(words, EINVAL, "%s: the clock was set %s by %" PRId64 " h %" PRId64 " min", s->dir,
		minutes < 0 ? "back" : "ahead", (minutes < 0 ? -minutes : minutes) / 60,
		(minutes < 0 ? -minutes : minutes) % 60);
	err_hint(words, "nothing is deleted by age in the next 24 h of uptime");
	s->moved_ns = 0;
}

static void day_text(char text[32], int64_t time_ns)
{
	time_t time_s = time_ns / 1000000000;
	struct tm tm;

	gmtime_r(&time_s, &tm);
	strftime(text, 32, "%Y-%m-%d", &tm);
}

static void say_taken_back(struct store *s, struct err *words)
{
	char was[32], is[32];

	day_text(was, s->taken_back_ns);
	day_text(is, s->kept_from_ns);
	err_set(words, EINVAL,
		"%s: the retention started at %s, which is in the future: a clock was wrong",
		s->dir, was);
	err_hint(words, "data from %s or later is accepted again", is);
	s->taken_back_ns = 0;
}

bool store_clock_news(struct store *s, struct err *words)
{
	bool is_set = s->moved_ns, is_taken_back = !is_set && s->taken_back_ns;

	if (is_set)
		say_set(s, words);
	else if (is_taken_back)
		say_taken_back(s, words);
	return is_set || is_taken_back;
}
