// tier: test
/* Labels of series as the collector builds them, and a hook that changes them or leaves the series out. */
#include "collect/process/process.h"
#include "collect/resolve/labels.h"
#include "collect/resolve/series_cache.h"
#include "profile/profile.h"
#include "unit.h"

static struct label_table table;
static struct profile *profile;
static struct series_cache cache;
static int asked;

static void add_type(struct profile *p)
{
	struct sink *s = profile_sink(p);

	s->ops->type(s, &(struct type){ .name = sink_string(s, "cpu") });
}

static void begin(struct series_hook hook)
{
	static const struct label_text fixed[] = { { "kernel", "6.1" }, { "empty", "" } };

	label_table_init(&table, "/");
	profile = profile_new();
	add_type(profile);
	series_cache_init(
		&cache, profile_sink(profile),
		&(struct series_cache_opts){
			.labels = &table,
			.all = { .host = "db7", .labels = fixed, .n_labels = 2, .hook = hook } });
	asked = 0;
}

static void end(void)
{
	series_cache_done(&cache);
	profile_free(profile);
	label_table_done(&table);
}

static struct series_key key(const char *comm, uint32_t labels)
{
	struct series_key k = { .labels = labels };

	memcpy(k.comm, comm, strlen(comm));
	memcpy(k.process, "main", 4);
	return k;
}

static uint32_t get(const struct series_key *k)
{
	return series_cache_get(&cache, k, "cpu");
}

static const char *value(uint32_t series, const char *name)
{
	uint32_t id = strtab_find(&profile->strings, name);
	const struct label *l =
		label_find(&profile->series, profile->series.series.v[series].labels, id);

	return l ? profile_str(profile, l->str) : NULL;
}

START_TEST(together)
{
	struct series_key k = key("0123456789abcdef", 0); /* 16 bytes: no NUL */
	struct process p = { .pid = 1 };

	begin((struct series_hook){ 0 });
	uint32_t plain = get(&k);
	process_labels_exec(&table, &p, "/opt/x/nginx");
	k.labels = p.labels;
	uint32_t labelled = get(&k);
	ck_assert_uint_ne(plain, labelled);
	ck_assert_uint_eq(get(&k), labelled);
	ck_assert_str_eq(value(labelled, "comm"), "0123456789abcdef");
	ck_assert_str_eq(value(labelled, "process"), "main");
	ck_assert_str_eq(value(labelled, "executable"), "nginx");
	ck_assert_str_eq(value(labelled, "host"), "db7");
	ck_assert_str_eq(value(labelled, "kernel"), "6.1");
	ck_assert_ptr_null(value(labelled, "empty"));
	ck_assert_ptr_null(value(plain, "executable"));
	end();
}
END_TEST

static bool change(void *ctx, struct series_labels *l)
{
	(void)ctx;
	asked++;
	ck_assert_str_eq(l->type, "cpu");
	if (strcmp(l->v[0].value, "hidden") == 0)
		return false;
	l->v[0].value = "changed";
	l->v[l->n++] = (struct label_text){ "team", "a" };
	return true;
}

/* Called once per series, and again for a new sink. */
START_TEST(hook)
{
	struct series_key seen = key("seen", 0), other = key("other", 0), hidden = key("hidden", 0);

	begin((struct series_hook){ change, NULL });
	for (int i = 0; i < 10; i++) {
		ck_assert_str_eq(value(get(&seen), "comm"), "changed");
		ck_assert_str_eq(value(get(&seen), "team"), "a");
		ck_assert_uint_eq(get(&other), get(&seen)); /* now they are the same */
		ck_assert_uint_eq(get(&hidden), SERIES_LEFT_OUT);
	}
	ck_assert_int_eq(asked, 3);
	struct profile *next = profile_new();
	add_type(next);
	series_cache_set_sink(&cache, profile_sink(next));
	get(&seen);
	ck_assert_int_eq(asked, 4);
	ck_assert_uint_eq(next->series.series.n, 1);
	profile_free(next);
	end();
}
END_TEST

UNIT_MAIN("series_cache", together, hook)
