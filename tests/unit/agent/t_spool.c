// tier: test
// run: in memory
/* The spool: batches stay until they are acknowledged, once, in order, with their numbers; limits; damage. */
#include "rand.h"
#include "spool_place.h"

#include "agent/sender.h"
#include "agent/spool_state.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

static uint64_t directory_bytes(const char *dir)
{
	char *text =
		shell("find %s -type f -printf '%%s\\n' | awk '{ n += $1 } END { print n }'", dir);
	uint64_t n = strtoull(text, NULL, 10);

	free(text);
	return n;
}

START_TEST(numbers_are_in_order_and_continue)
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
	reopen(&w, ROOMY); /* also when it is empty */
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

/* Of a hundred that grow out of each other, all but the first are compressed against it; never one against a delta. */
START_TEST(batches_are_compressed_against_the_last_base)
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
	/* A batch that is not similar becomes the next key. */
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
			ck_assert_uint_le(directory_bytes(w.dir), SIZE);
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
		ck_assert(last < 2 || number == last + 1); /* one gap, after the first */
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

START_TEST(batches_that_never_fit_are_counted)
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
	ck_assert_uint_eq(status.counts.dropped_samples, 9); /* nothing else was dropped for it */
	add(&w, 2);
	ck_assert_uint_eq(take(&w, &id), 1);
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

START_TEST(numbering_restarts_with_another_agent)
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
	ck_assert_int_eq(spool_start_over(w.spool, NULL), 0);
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

/* Halves until each has one sample; the key of others is among the batches that are halved. */
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
		int rc = otlp_split(plain.data, plain.len, halves, NULL);
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

/* Its id belongs to another batch in the file that replaced it. */
START_TEST(halves_of_set_aside_spools_replace_nothing)
{
	struct place w;
	struct spool_entry e;
	struct spool_status status;
	struct half halves[2] = { 0 };
	struct spool_message m[2];
	struct buf plain = { 0 };
	uint64_t id;

	place_init(&w, ROOMY);
	add(&w, 1);
	ck_assert_int_eq(spool_first(w.spool, &e, NULL), 1);
	ck_assert_int_eq(spool_unpack(w.spool, &e, &plain, NULL), 0);
	ck_assert_int_eq(otlp_split(plain.data, plain.len, halves, NULL), 0);
	for (int i = 0; i < 2; i++)
		m[i] = (struct spool_message){ .data = halves[i].message.data,
					       .len = halves[i].message.len,
					       .samples = halves[i].samples };
	ck_assert_int_eq(spool_set_aside(w.spool, NULL), 0); /* as another thread may */
	add(&w, 2);
	ck_assert_int_eq(spool_split(w.spool, &e, m, NULL), 0);
	spool_status(w.spool, &status);
	ck_assert_uint_eq(status.waiting, 1);
	ck_assert_uint_eq(take(&w, &id), 2);
	ck_assert_uint_eq(id, e.id);
	for (int i = 0; i < 2; i++)
		buf_done(&halves[i].message);
	buf_done(&plain), buf_done(&e.packed);
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

/* The output is the input, or nothing. */
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
			memcpy(agent, now, sizeof agent); /* another agent: set aside */
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

UNIT_MAIN("spool", numbers_are_in_order_and_continue, a_batch_that_comes_again_is_known,
	  another_process_is_refused, batches_are_compressed_against_the_last_base,
	  a_key_lasts_an_hour, the_oldest_go_when_it_is_full, batches_that_never_fit_are_counted,
	  kinds_share_the_numbers, numbering_restarts_with_another_agent,
	  halves_have_each_sample_once, halves_of_set_aside_spools_replace_nothing,
	  damage_is_noticed)
