/* Shares: how many series a program and a user may have at one time (catalog.h). */
#include "store/catalog/catalog_state.h"

#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "store/catalog/catalog.h"

#include <errno.h>
#include <string.h>

#define MINUTE_NS (60 * 1000000000ll)
#define DAY_NS    (24 * 60 * MINUTE_NS)
/* Without a further name for that long a storm is over. Its end makes space for as many series
 * again, so the next one has to wait longer. */
#define QUIET_NS  (10 * MINUTE_NS)
enum { QUIET_GROWTH = 4 };
/* Parts of max_series: of a user of a host; of a program; of a user's series with [other]. */
enum { USER_PART = 4, PROGRAM_PART = 16, OTHERS_PART = 64, LEAST = 64 };

/* --- whose a series is ------------------------------------------------------------------------ */

/* Labels that a process does not name freely. */
enum { OWNER_HOST, OWNER_USER, OWNER_UNIT, OWNER_EXECUTABLE, OWNER_KEYS };
static const char *const owner_keys[OWNER_KEYS] = { "host", "user", "unit", "executable" };

static void read_owner(const struct profile *p, const struct label *labels, uint32_t n,
		       const char *texts[OWNER_KEYS])
{
	for (uint32_t i = 0; i < n; i++)
		for (int k = 0; k < OWNER_KEYS && !labels[i].is_num; k++)
			if (strcmp(profile_str(p, labels[i].key), owner_keys[k]) == 0)
				texts[k] = profile_str(p, labels[i].str);
}

static uint64_t add_text(uint64_t hash, const char *text)
{
	return hash_mix(hash, text ? hash_bytes(text, strlen(text)) : 0);
}

/* Users without a name share one share: in a user namespace one user has thousands of numbers. */
static const char *share_of_user(const char *user)
{
	return strspn(user, "0123456789") == strlen(user) ? "" : user;
}

struct series_owner catalog_owner(const struct profile *p, const struct label *labels, uint32_t n)
{
	const char *texts[OWNER_KEYS] = { 0 };
	struct series_owner o = { 0 };

	read_owner(p, labels, n, texts);
	if (!texts[OWNER_USER])
		return o;
	o.user = add_text(add_text(1, texts[OWNER_HOST]), share_of_user(texts[OWNER_USER]));
	o.program = add_text(o.user, texts[OWNER_USER]);
	o.program = add_text(o.program, texts[OWNER_UNIT]);
	o.program = add_text(o.program, texts[OWNER_EXECUTABLE]);
	return o;
}

/* --- shares ----------------------------------------------------------------------------------- */

static struct series_share *find_share(const struct catalog *c, uint64_t key)
{
	const uint32_t *i = key ? map_get(&c->shares.index, key) : NULL;

	return i ? &c->shares.v.v[*i] : NULL;
}

static uint32_t put_share(struct catalog *c, uint64_t key)
{
	const uint32_t *i = map_get(&c->shares.index, key);

	if (!key)
		return NO_SHARE;
	if (i)
		return *i;
	map_put(&c->shares.index, key, c->shares.v.n);
	vec_push(&c->shares.v, (struct series_share){ .key = key, .quiet_ns = QUIET_NS });
	return c->shares.v.n - 1;
}

void catalog_share_note(struct catalog *c, struct series_use *use, struct series_owner owner)
{
	use->program = put_share(c, owner.program);
	use->user = put_share(c, owner.user);
	if (use->is_other && use->user != NO_SHARE)
		c->shares.v.v[use->user].others++;
}

void catalog_share_count(struct catalog *c, const struct series_use *use)
{
	if (use->program == NO_SHARE || use->is_other)
		return;
	c->shares.v.v[use->program].active++;
	c->shares.v.v[use->user].active++;
}

static bool is_full(const struct catalog *c, const struct series_share *share, uint32_t part)
{
	uint32_t most = c->max_series / part;

	return share && share->active >= (most > LEAST ? most : LEAST);
}

/* Of a process that renames itself, the name of the process differs as well. */
bool catalog_share_takes_other(const struct catalog *c, struct series_owner owner)
{
	const struct series_share *user = find_share(c, owner.user);
	uint32_t most = c->max_series / OTHERS_PART;

	return !user || user->others < (most > LEAST ? most : LEAST);
}

/* A share of LEAST series is there for each user, whatever others have, but not for any number of
 * users. */
bool catalog_share_is_small(const struct catalog *c, struct series_owner owner)
{
	const struct series_share *user = find_share(c, owner.user);

	return owner.user && (!user || user->active < LEAST) &&
	       c->active < c->max_series + c->max_series / USER_PART;
}

struct series_share *catalog_share_full(const struct catalog *c, struct series_owner owner)
{
	struct series_share *program = find_share(c, owner.program);
	struct series_share *user = find_share(c, owner.user);

	return is_full(c, program, PROGRAM_PART) ? program
	       : is_full(c, user, USER_PART)     ? user
						 : NULL;
}

/* --- storms ----------------------------------------------------------------------------------- */

/* Retains the words for the log. */
static void say_storm(struct catalog *c, const struct profile *p, const struct label *labels,
		      uint32_t n)
{
	const char *texts[OWNER_KEYS] = { 0 };

	if (c->shares.news.code)
		return;
	read_owner(p, labels, n, texts);
	for (int k = 0; k < OWNER_KEYS; k++)
		texts[k] = texts[k] ? texts[k] : "";
	err_set(&c->shares.news, ENOSPC,
		"program %s of user %s%s%s has more series than its share: further names become "
		"[other]",
		texts[OWNER_EXECUTABLE], texts[OWNER_USER], *texts[OWNER_HOST] ? " on " : "",
		texts[OWNER_HOST]);
	err_hint(&c->shares.news, "its threads have many names; see --max-series");
}

void catalog_share_folded(struct catalog *c, struct series_share *share, const struct profile *p,
			  const struct label *labels, uint32_t n, int64_t now_ns)
{
	bool is_new = !share->folded_ns;

	if (is_new && now_ns - share->over_ns > DAY_NS)
		share->quiet_ns = QUIET_NS;
	share->folded_ns = now_ns;
	if (is_new)
		say_storm(c, p, labels, n);
}

bool catalog_news(struct catalog *c, struct err *words)
{
	if (!c->shares.news.code)
		return false;
	*words = c->shares.news;
	c->shares.news = (struct err){ 0 };
	return true;
}

/* Whether the series is one of a storm that is over. */
static bool is_left(const struct catalog *c, uint32_t share, const struct series_use *use,
		    int64_t now_ns)
{
	const struct series_share *s = share == NO_SHARE ? NULL : &c->shares.v.v[share];

	return s && s->folded_ns && now_ns - s->folded_ns >= s->quiet_ns &&
	       use->seen_ns <= s->folded_ns;
}

void catalog_shares_release(struct catalog *c, int64_t now_ns)
{
	for (size_t i = 0; i < c->uses.n; i++) {
		struct series_use *u = &c->uses.v[i];
		if (is_left(c, u->program, u, now_ns) || is_left(c, u->user, u, now_ns))
			u->is_active = false;
	}
	for (size_t i = 0; i < c->shares.v.n; i++) {
		struct series_share *s = &c->shares.v.v[i];
		s->active = 0;
		if (!s->folded_ns || now_ns - s->folded_ns < s->quiet_ns)
			continue;
		s->over_ns = now_ns;
		s->folded_ns = 0;
		s->quiet_ns = s->quiet_ns < DAY_NS ? s->quiet_ns * QUIET_GROWTH : DAY_NS;
	}
}

/* --- after series have gone ------------------------------------------------------------------- */

void catalog_shares_begin_again(struct catalog *c, struct series_shares *before)
{
	*before = c->shares;
	c->shares = (struct series_shares){ .news = before->news };
}

void catalog_shares_take_over(struct catalog *c, struct series_shares *before)
{
	for (size_t i = 0; i < c->shares.v.n; i++) {
		struct series_share *s = &c->shares.v.v[i];
		const uint32_t *was = map_get(&before->index, s->key);
		uint32_t active = s->active, others = s->others;

		if (was)
			*s = before->v.v[*was];
		s->active = active;
		s->others = others;
	}
	catalog_shares_done(before);
}

void catalog_shares_done(struct series_shares *s)
{
	vec_done(&s->v);
	map_done(&s->index);
}

uint64_t catalog_shares_bytes(const struct catalog *c)
{
	return vec_size_bytes(&c->shares.v) + map_size_bytes(&c->shares.index);
}
