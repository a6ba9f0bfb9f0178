/* The spool: what was acknowledged stays, once, in order, with its number; its size; damage; death at any moment. CRESSET_KILL_RUNS says how
 * often (20). */
#define UNIT_TIMEOUT_S 300

#include "numbered_message.h"
#include "rand.h"
#include "shell.h"

#include "agent/delta.h"
#include "agent/halve.h"
#include "agent/spool.h"
#include "base/hash.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

enum { ROOMY = 64 << 20 };
static const uint8_t collector[SPOOL_ID_BYTES] = "collector";

struct place {
	char dir[32];
	struct spool *spool;
};

static bool reopen(struct place *w, uint64_t max_bytes)
{
	const struct spool_opts opts = { .dir = w->dir, .max_bytes = max_bytes };
	struct err err = { 0 };
	bool damaged = false;

	spool_close(w->spool);
	w->spool = NULL;
	ck_assert_msg(spool_open(&opts, &w->spool, &damaged, &err) == 0, "%s", err.text);
	return damaged;
}

static void place_init(struct place *w, uint64_t max_bytes)
{
	*w = (struct place){ .dir = "/tmp/t_spool.XXXXXX" };
	ck_assert_ptr_nonnull(mkdtemp(w->dir));
	reopen(w, max_bytes);
}

static void place_done(struct place *w)
{
	spool_close(w->spool);
	shell_do("rm -rf %s", w->dir);
}

static int64_t time_of(uint64_t number)
{
	return NUMBERED_START_NS + (int64_t)number * 10000000000;
}

static int try_add(struct spool *s, uint64_t number, uint32_t samples, bool *duplicate)
{
	struct buf m = numbered_message(number, samples, time_of(number));
	struct spool_source source = { .sequence = number };
	struct err err = { 0 };

	memcpy(source.id, collector, sizeof source.id);
	const struct spool_message message = { .data = m.data,
					       .len = m.len,
					       .samples = samples,
					       .source = &source,
					       .now_ns = time_of(number) };
	int rc = spool_add(s, &message, duplicate, &err);
	buf_done(&m);
	return rc;
}

static void add(struct place *w, uint64_t number)
{
	bool duplicate;

	ck_assert_int_eq(try_add(w->spool, number, 5, &duplicate), 0);
	ck_assert(!duplicate);
}

/* Which number a message has, by what is in it; it is wholly what was given. */
static uint64_t number_in(struct spool *s, const struct spool_entry *e)
{
	struct buf plain = { 0 };
	struct err err = { 0 };
	struct profile *p = profile_new();

	ck_assert_msg(spool_unpack(s, e, &plain, &err) == 0, "%s", err.text);
	ck_assert_int_eq(otlp_decode(plain.data, plain.len, "it", profile_sink(p), NULL, NULL), 0);
	ck_assert_uint_gt(p->samples.n, 0);
	uint64_t number = (uint64_t)p->samples.value[0];
	struct buf want = numbered_message(number, p->samples.n, time_of(number));
	ck_assert(plain.len == want.len && memcmp(plain.data, want.data, want.len) == 0);
	buf_done(&want);
	buf_done(&plain);
	profile_free(p);
	return number;
}

/* The first, which is then acknowledged; 0: there is none. */
static uint64_t take(struct place *w, uint64_t *id)
{
	struct spool_entry e;
	int rc = spool_first(w->spool, &e, NULL);

	ck_assert_int_ge(rc, 0);
	if (rc == 0)
		return 0;
	uint64_t number = number_in(w->spool, &e);
	*id = e.id;
	buf_done(&e.packed);
	ck_assert_int_eq(spool_sent(w->spool, e.id, NULL, NULL), 0);
	return number;
}

static uint64_t folder_bytes(const char *dir)
{
	char *text =
		shell("find %s -type f -printf '%%s\\n' | awk '{ n += $1 } END { print n }'", dir);
	uint64_t n = strtoull(text, NULL, 10);

	free(text);
	return n;
}

START_TEST(numbers_are_in_order_and_go_on)
{
	struct place w;
	uint8_t agent[SPOOL_ID_BYTES], again[SPOOL_ID_BYTES];
	uint64_t id;

	place_init(&w, ROOMY);
	spool_agent(w.spool, agent);
	for (uint64_t i = 1; i <= 30; i++)
		add(&w, i);
	for (uint64_t i = 1; i <= 10; i++) {
		ck_assert_uint_eq(take(&w, &id), i);
		ck_assert_uint_eq(spool_number(w.spool, id), i);
	}
	reopen(&w, ROOMY);
	spool_agent(w.spool, again);
	ck_assert_mem_eq(agent, again, sizeof agent);
	for (uint64_t i = 31; i <= 40; i++)
		add(&w, i);
	for (uint64_t i = 11; i <= 40; i++) {
		ck_assert_uint_eq(take(&w, &id), i);
		ck_assert_uint_eq(spool_number(w.spool, id), i);
	}
	ck_assert_uint_eq(take(&w, &id), 0);
	reopen(&w, ROOMY); /* also when nothing waits */
	add(&w, 41);
	ck_assert_uint_eq(take(&w, &id), 41);
	ck_assert_uint_eq(spool_number(w.spool, id), 41);
	place_done(&w);
}
END_TEST

START_TEST(a_batch_that_comes_again_is_known)
{
	struct place w;
	uint64_t id;
	bool duplicate;

	place_init(&w, ROOMY);
	add(&w, 1);
	add(&w, 2);
	ck_assert_int_eq(try_add(w.spool, 2, 5, &duplicate), 0);
	ck_assert(duplicate);
	ck_assert_uint_eq(take(&w, &id), 1);
	ck_assert_uint_eq(take(&w, &id), 2);
	reopen(&w, ROOMY);
	ck_assert_int_eq(try_add(w.spool, 2, 5, &duplicate), 0);
	ck_assert(duplicate);
	ck_assert_uint_eq(take(&w, &id), 0);
	place_done(&w);
}
END_TEST

START_TEST(another_process_is_refused)
{
	struct place w;
	struct spool *other;

	place_init(&w, ROOMY);
	const struct spool_opts opts = { .dir = w.dir, .max_bytes = ROOMY };
	ck_assert_int_eq(spool_open(&opts, &other, NULL, NULL), -EBUSY);
	place_done(&w);
}
END_TEST

/* Of a hundred that grow out of each other all but the first are packed against it; never one against a delta. */
START_TEST(batches_are_packed_against_the_last_whole_one)
{
	struct place w;
	struct spool_entry e;
	uint64_t key = 0, whole = 0;

	place_init(&w, ROOMY);
	for (uint64_t i = 1; i <= 150; i++) {
		if (i == 50)
			spool_want_key(w.spool);
		if (i == 60)
			reopen(&w, ROOMY); /* the key is still known */
		add(&w, i);
	}
	for (uint64_t i = 1; i <= 150; i++) {
		ck_assert_int_eq(spool_first(w.spool, &e, NULL), 1);
		ck_assert_uint_eq(number_in(w.spool, &e), i);
		ck_assert(e.base == 0 || e.base == key);
		whole += e.base == 0;
		ck_assert(i != 50 || e.base == 0);
		ck_assert(i != 60 || e.base == 50);
		key = e.base ? key : e.id;
		buf_done(&e.packed);
		ck_assert_int_eq(spool_sent(w.spool, e.id, NULL, NULL), 0);
	}
	ck_assert_uint_lt(whole, 25);
	place_done(&w);
}
END_TEST

START_TEST(a_key_lasts_an_hour)
{
	struct buf m = numbered_message(50, 5, time_of(0)), out = { 0 };
	struct otlp_bytes bytes = { m.data, m.len };
	struct delta_key key = { 0 };
	const struct {
		int64_t age_ns;
		uint64_t base;
	} cases[] = { { 0, 7 },
		      { DELTA_KEY_AGE_NS - 1, 7 },
		      { DELTA_KEY_AGE_NS, 0 },
		      { -1, 0 } /* the clock was set back */ };
	uint64_t base;

	ck_assert_int_eq(delta_pack(&key, bytes, 0, &out, &base, NULL), 0);
	ck_assert_uint_eq(base, 0);
	delta_key_set(&key, 7, bytes, out.len, 1000);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		buf_clear(&out);
		ck_assert_int_eq(delta_pack(&key, bytes, 1000 + cases[i].age_ns, &out, &base, NULL),
				 0);
		ck_assert_uint_eq(base, cases[i].base);
	}
	/* What is not like it becomes the next one. */
	struct buf other = numbered_message(5099, 5, time_of(0));
	buf_clear(&out);
	ck_assert_int_eq(delta_pack(&key, (struct otlp_bytes){ other.data, other.len }, 1000, &out,
				    &base, NULL),
			 0);
	ck_assert_uint_eq(base, 0);
	buf_done(&other), buf_done(&m), buf_done(&out);
	delta_key_done(&key);
}
END_TEST

START_TEST(the_oldest_go_when_it_is_full)
{
	enum { SIZE = 1 << 20, N = 300 };
	struct place w;
	struct spool_status status;
	struct spool_entry first;
	uint64_t id, last = 0, n = 0;

	place_init(&w, SIZE);
	add(&w, 1);
	ck_assert_int_eq(spool_first(w.spool, &first, NULL), 1); /* on its way */
	for (uint64_t i = 2; i <= N; i++) {
		ck_assert_int_eq(try_add(w.spool, i, 1200, NULL), 0);
		if (i % 100 == 0)
			ck_assert_uint_le(folder_bytes(w.dir), SIZE);
	}
	spool_status(w.spool, &status);
	ck_assert_uint_gt(status.counts.dropped, 0);
	ck_assert_uint_eq(status.counts.added, N);
	ck_assert_uint_eq(status.waiting + status.counts.dropped, N);
	ck_assert_uint_eq(status.counts.dropped_samples, status.counts.dropped * 1200);
	ck_assert_uint_eq(number_in(w.spool, &first), 1);
	buf_done(&first.packed);
	for (uint64_t number; (number = take(&w, &id)); n++) {
		ck_assert_uint_gt(number, last);
		ck_assert_uint_eq(spool_number(w.spool, id), number);
		ck_assert(last < 2 || number == last + 1); /* one gap, behind the first */
		last = number;
	}
	ck_assert_uint_eq(last, N);
	ck_assert_uint_eq(n, status.waiting);
	spool_status(w.spool, &status);
	ck_assert_uint_eq(status.waiting, 0);
	ck_assert_uint_eq(status.waiting_bytes, 0);
	place_done(&w);
}
END_TEST

START_TEST(what_never_fits_is_counted)
{
	struct place w;
	struct spool_status status;
	struct buf noise = { 0 };
	struct rng rng = { 77 };
	uint64_t id;

	place_init(&w, SPOOL_MIN_BYTES);
	add(&w, 1);
	for (int i = 0; i < SPOOL_MIN_BYTES / 8; i++) {
		uint64_t n = rng_next(&rng);
		buf_add(&noise, &n, sizeof n);
	}
	const struct spool_message m = { .data = noise.data, .len = noise.len, .samples = 9 };
	ck_assert_int_eq(spool_add(w.spool, &m, NULL, NULL), -E2BIG);
	spool_status(w.spool, &status);
	ck_assert_uint_eq(status.counts.dropped_samples, 5 + 9);
	add(&w, 2);
	ck_assert_uint_eq(take(&w, &id), 2);
	ck_assert_uint_eq(spool_number(w.spool, id), 3); /* a gap */
	buf_done(&noise);
	place_done(&w);
}
END_TEST

START_TEST(kinds_share_the_numbers)
{
	struct place w;
	struct spool_entry e;
	struct buf plain = { 0 };

	place_init(&w, ROOMY);
	add(&w, 1);
	const struct spool_message m = { .kind = SPOOL_METRICS, .data = "metrics", .len = 7 };
	ck_assert_int_eq(spool_add(w.spool, &m, NULL, NULL), 0);
	add(&w, 2);
	for (int i = 1; i <= 3; i++) {
		ck_assert_int_eq(spool_first(w.spool, &e, NULL), 1);
		ck_assert_int_eq(e.kind, i == 2 ? SPOOL_METRICS : SPOOL_PROFILES);
		ck_assert_uint_eq(spool_number(w.spool, e.id), i);
		ck_assert_uint_eq(e.base, i == 3 ? 1 : 0); /* metrics are no key */
		if (i == 2) {
			ck_assert_int_eq(spool_unpack(w.spool, &e, &plain, NULL), 0);
			ck_assert(plain.len == 7 && memcmp(plain.data, "metrics", 7) == 0);
		}
		buf_done(&e.packed);
		ck_assert_int_eq(spool_sent(w.spool, e.id, NULL, NULL), 0);
	}
	ck_assert_str_eq(spool_paths[SPOOL_METRICS], "/v1/metrics");
	buf_done(&plain);
	place_done(&w);
}
END_TEST

START_TEST(numbers_begin_anew_with_another_agent)
{
	struct place w;
	uint8_t before[SPOOL_ID_BYTES], after[SPOOL_ID_BYTES];
	uint64_t id;

	place_init(&w, ROOMY);
	for (uint64_t i = 1; i <= 5; i++)
		add(&w, i);
	ck_assert_uint_eq(take(&w, &id), 1);
	ck_assert_uint_eq(take(&w, &id), 2);
	spool_agent(w.spool, before);
	ck_assert_int_eq(spool_begin_anew(w.spool, NULL), 0);
	spool_agent(w.spool, after);
	ck_assert_mem_ne(before, after, sizeof before);
	reopen(&w, ROOMY);
	add(&w, 6);
	for (uint64_t i = 3; i <= 6; i++) {
		ck_assert_uint_eq(take(&w, &id), i);
		ck_assert_uint_eq(spool_number(w.spool, id), i - 2);
		ck_assert_uint_eq(spool_id_of_number(w.spool, i - 2), id);
	}
	place_done(&w);
}
END_TEST

/* Until each has one sample; the key of others is among those that are halved. */
START_TEST(halves_have_each_sample_once)
{
	struct place w;
	struct spool_entry e;
	int64_t sums[4] = { 0 };
	uint64_t last = 0;

	place_init(&w, ROOMY);
	for (uint64_t i = 1; i <= 3; i++)
		add(&w, i);
	while (spool_first(w.spool, &e, NULL) > 0) {
		struct buf plain = { 0 };
		struct half halves[2] = { 0 };
		struct spool_message m[2] = { 0 };

		ck_assert_uint_gt(e.id, last);
		last = e.id;
		ck_assert_int_eq(spool_unpack(w.spool, &e, &plain, NULL), 0);
		int rc = otlp_halve(plain.data, plain.len, halves, NULL);
		for (int i = 0; i < 2; i++) {
			m[i].data = halves[i].message.data;
			m[i].len = halves[i].message.len;
			m[i].samples = halves[i].samples;
		}
		if (rc == 0) {
			ck_assert_uint_eq(m[0].samples + m[1].samples, e.samples);
			ck_assert_int_eq(spool_split(w.spool, &e, m, NULL), 0);
		} else {
			struct profile *p = profile_new();

			ck_assert_int_eq(rc, -E2BIG);
			ck_assert_int_eq(otlp_decode(plain.data, plain.len, "it", profile_sink(p),
						     NULL, NULL),
					 0);
			ck_assert_uint_eq(p->samples.n, 1);
			sums[p->samples.value[0]]++;
			profile_free(p);
			ck_assert_int_eq(spool_sent(w.spool, e.id, NULL, NULL), 0);
		}
		buf_done(&halves[0].message), buf_done(&halves[1].message);
		buf_done(&plain), buf_done(&e.packed);
	}
	for (int i = 1; i <= 3; i++)
		ck_assert_int_eq(sums[i], 5);
	place_done(&w);
}
END_TEST

static void spoil(const char *dir, struct rng *rng)
{
	char *path = shell("printf %%s %s/spool.db", dir);
	struct stat st;
	int fd = open(path, O_RDWR);

	ck_assert_int_eq(fstat(fd, &st), 0);
	for (int i = 0; i < 20; i++) {
		uint8_t byte = rng_next(rng);
		ck_assert_int_eq(pwrite(fd, &byte, 1, rng_below(rng, st.st_size)), 1);
	}
	if (rng_below(rng, 4) == 0)
		ck_assert_int_eq(ftruncate(fd, rng_below(rng, st.st_size)), 0);
	close(fd);
	free(path);
}

/* What comes out is what went in, or nothing. */
START_TEST(damage_is_noticed)
{
	struct rng rng = { 4711 };
	uint32_t lost = 0, aside = 0;

	for (int run = 0; run < 12; run++) {
		struct place w;
		struct spool_entry e;
		uint8_t agent[SPOOL_ID_BYTES] = { 0 };
		uint64_t last = 0;

		place_init(&w, ROOMY);
		for (uint64_t i = 1; i <= 25; i++)
			add(&w, i);
		spool_close(w.spool);
		w.spool = NULL;
		spoil(w.dir, &rng);
		aside += reopen(&w, ROOMY);
		add(&w, 26);
		while (spool_first(w.spool, &e, NULL) > 0) {
			struct buf plain = { 0 };
			uint8_t now[SPOOL_ID_BYTES];

			spool_agent(w.spool, now);
			ck_assert(e.id > last || memcmp(now, agent, sizeof now) != 0);
			memcpy(agent, now, sizeof agent); /* another one: it was set aside */
			last = e.id;
			if (spool_unpack(w.spool, &e, &plain, NULL) == 0) {
				number_in(w.spool, &e);
				spool_sent(w.spool, e.id, NULL, NULL);
			} else {
				lost++;
				spool_refuse(w.spool, e.id, NULL);
			}
			buf_done(&plain), buf_done(&e.packed);
		}
		place_done(&w);
	}
	ck_assert_uint_gt(lost + aside, 0);
}
END_TEST

/* --- the reference batch: 2000 stacks of 30 frames, with names and build ids, 2500 samples ----- */

enum { FRAMES = 6000, MAPPINGS = 40, STACKS = 2000, DEPTH = 30, SAMPLES = 2500, THREADS = 60 };

static void fill_dictionary(struct profile *p, struct rng *rng, uint32_t stacks[STACKS])
{
	struct sink *s = profile_sink(p);
	uint32_t mappings[MAPPINGS], frames[FRAMES], path[DEPTH] = { 0 };
	char name[96];

	for (uint32_t i = 0; i < MAPPINGS; i++) {
		snprintf(name, sizeof name, "/usr/lib/x86_64-linux-gnu/libsomething%u.so.%u", i,
			 i % 7);
		struct mapping m = { .name = sink_string(s, name), .build_id_len = 20 };
		for (int k = 0; k < 20; k++)
			m.build_id[k] = rng_next(rng);
		mappings[i] = s->ops->mapping(s, &m);
	}
	for (uint32_t i = 0; i < FRAMES; i++) {
		struct frame f = { .kind = FRAME_NATIVE,
				   .mapping = mappings[i % MAPPINGS],
				   .offset = rng_below(rng, 4 << 20) };
		snprintf(name, sizeof name, "%s::Class%u::method_%llx(int, char const*)",
			 i % 2 ? "some::space" : "other::name", i % 97,
			 (unsigned long long)rng_below(rng, 1 << 20));
		struct function fn = { .name = sink_string(s, name) };
		struct line line = { .function = s->ops->function(s, &fn),
				     .line = rng_below(rng, 3000) };
		frames[i] = s->ops->frame(s, &f);
		s->ops->names(s, frames[i], &line, 1);
	}
	/* Each goes on from some place of the one before, as stacks of programs do. */
	for (uint32_t i = 0; i < STACKS; i++) {
		for (uint64_t k = i ? rng_below(rng, DEPTH) : 0; k < DEPTH; k++)
			path[k] = frames[rng_below(rng, FRAMES)];
		stacks[i] = s->ops->stack(s, path, DEPTH);
	}
}

static void fill_samples(struct profile *p, struct rng *rng, const uint32_t *stacks,
			 const uint32_t *series, int64_t at_ns)
{
	struct sink *s = profile_sink(p);

	p->samples.n = 0;
	p->meta.start_mono_ns = at_ns;
	p->meta.start_wall_ns = NUMBERED_START_NS + at_ns;
	for (int64_t i = 0; i < SAMPLES; i++) {
		uint64_t thread = rng_below(rng, THREADS);
		struct sample sample = { .time_ns = at_ns + i * (10000000000 / SAMPLES) +
						    rng_below(rng, 1 << 20),
					 .value = 1,
					 .series = series[thread % 20],
					 .stack = stacks[rng_below(rng, STACKS)],
					 .pid = 1000 + thread / 3,
					 .tid = 1000 + thread,
					 .cpu = rng_below(rng, 8) };
		s->ops->sample(s, &sample);
	}
}

static void make_series(struct profile *p, uint32_t series[20])
{
	struct sink *s = profile_sink(p);
	struct type type = { .name = sink_string(s, "cpu"),
			     .sample_type = sink_string(s, "samples"),
			     .unit = sink_string(s, "count") };
	uint32_t cpu = s->ops->type(s, &type);
	char comm[16];

	for (uint32_t i = 0; i < 20; i++) {
		snprintf(comm, sizeof comm, "program%u", i);
		struct label labels[2] = {
			{ .key = sink_string(s, "comm"), .str = sink_string(s, comm) },
			{ .key = sink_string(s, "host"), .str = sink_string(s, "db7") }
		};
		struct series one = { .type = cpu, .labels = s->ops->labels(s, labels, 2) };
		series[i] = s->ops->series(s, &one);
	}
}

START_TEST(a_steady_batch_is_small)
{
	struct otlp_encode_opts opts = { .whole_tables = true };
	struct profile *p = profile_new();
	struct rng rng = { 31 };
	struct delta_key key = { 0 };
	uint32_t stacks[STACKS], series[20];
	size_t whole = 0, most = 0, plain = 0;

	fill_dictionary(p, &rng, stacks);
	make_series(p, series);
	for (int64_t i = 0; i < 20; i++) {
		struct buf m = { 0 }, out = { 0 };
		uint64_t base;

		fill_samples(p, &rng, stacks, series, 1 + i * 10000000000);
		ck_assert_int_eq(otlp_encode(p, &opts, &m, NULL), 0);
		struct otlp_bytes bytes = { m.data, m.len };
		ck_assert_int_eq(delta_pack(&key, bytes, i, &out, &base, NULL), 0);
		ck_assert_uint_eq(base, i ? 1 : 0);
		plain = m.len;
		if (i == 0) {
			whole = out.len;
			delta_key_set(&key, 1, bytes, out.len, 0);
		} else if (out.len > most) {
			most = out.len;
		}
		buf_done(&m), buf_done(&out);
	}
	printf("plain %zu, whole %zu, most of a delta %zu bytes\n", plain, whole, most);
	ck_assert_uint_le(most, 40 << 10);
	/* With a whole one each hour. */
	ck_assert_uint_le(most * 8640 + whole * 24, 400000000);
	delta_key_done(&key);
	profile_free(p);
}
END_TEST

/* --- death ------------------------------------------------------------------------------------ */

struct said {
	uint64_t added, sent; /* the last ones */
};

/* What the collector and the server would see: the last number that was added, and what was acknowledged. */
static void use_for_ever(const char *dir, uint64_t from, int to_parent, struct rng rng)
{
	const struct spool_opts opts = { .dir = dir, .max_bytes = ROOMY };
	struct said said = { from - 1, 0 };
	struct spool *s;

	if (spool_open(&opts, &s, NULL, NULL))
		_exit(1);
	for (;;) {
		if (rng_below(&rng, 2)) {
			if (try_add(s, said.added + 1, 5, NULL))
				_exit(2);
			said.added++;
		} else {
			struct spool_entry e;
			int rc = spool_first(s, &e, NULL);

			if (rc < 0 || (rc > 0 && spool_sent(s, e.id, NULL, NULL)))
				_exit(3);
			said.sent = rc > 0 ? e.id : said.sent;
			buf_done(&e.packed);
		}
		if (write(to_parent, &said, sizeof said) != sizeof said)
			_exit(4);
	}
}

static struct said run_child(const char *dir, struct said before, int64_t life_us, uint64_t seed)
{
	struct said last = before, now;
	int fds[2], status;

	ck_assert_int_eq(pipe(fds), 0);
	pid_t pid = fork();
	if (pid == 0) {
		close(fds[0]);
		use_for_ever(dir, before.added + 1, fds[1], (struct rng){ seed });
	}
	close(fds[1]);
	nanosleep(&(struct timespec){ .tv_nsec = life_us * 1000 }, NULL);
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFSIGNALED(status), "the child ended by itself: %d", WEXITSTATUS(status));
	while (read(fds[0], &now, sizeof now) == sizeof now) {
		last.added = now.added;
		last.sent = now.sent ? now.sent : last.sent;
	}
	close(fds[0]);
	return last;
}

/* After each death: what was added is there, what was acknowledged is not, and at most one more of each. */
START_TEST(death_loses_nothing)
{
	const char *runs = getenv("CRESSET_KILL_RUNS");
	struct rng rng = { 99 };
	struct said said = { 0 };
	struct place w;

	place_init(&w, ROOMY);
	for (int run = runs ? atoi(runs) : 20; run > 0; run--) {
		struct spool_entry e;
		struct spool_status status;

		spool_close(w.spool);
		w.spool = NULL;
		said = run_child(w.dir, said, 20000 + (int64_t)rng_below(&rng, 150000),
				 rng_next(&rng) | 1);
		ck_assert(!reopen(&w, ROOMY));
		spool_status(w.spool, &status);
		ck_assert_uint_ge(status.counts.added, said.added);
		ck_assert_uint_le(status.counts.added, said.added + 1);
		said.added = status.counts.added;
		ck_assert_uint_eq(status.waiting + status.counts.sent, said.added);
		if (spool_first(w.spool, &e, NULL) > 0) {
			ck_assert_uint_gt(e.id, said.sent);
			ck_assert_uint_le(e.id, said.sent + 2);
			ck_assert_uint_eq(number_in(w.spool, &e), e.id);
			ck_assert_uint_eq(spool_number(w.spool, e.id), e.id);
			buf_done(&e.packed);
		}
	}
	uint64_t id, n = 0;
	while (take(&w, &id))
		n++;
	ck_assert_uint_le(n, said.added);
	place_done(&w);
}
END_TEST

UNIT_MAIN("spool", numbers_are_in_order_and_go_on, a_batch_that_comes_again_is_known,
	  another_process_is_refused, batches_are_packed_against_the_last_whole_one,
	  a_key_lasts_an_hour, the_oldest_go_when_it_is_full, what_never_fits_is_counted,
	  kinds_share_the_numbers, numbers_begin_anew_with_another_agent,
	  halves_have_each_sample_once, a_steady_batch_is_small, damage_is_noticed,
	  death_loses_nothing)
