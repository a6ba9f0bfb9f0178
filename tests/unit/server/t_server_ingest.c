// tier: test
/* Data sent to a server: each number is taken once however many send at the same time; damaged bodies; which sender sent what; tokens. */
#include "unit.h"

#include "base/err.h"
#include "base/fs.h"
#include "format/otlp/otlp.h"
#include "format/otlp/otlp_pack.h"
#include "rand.h"
#include "random_profile.h"
#include "raw_http.h"
#include "server/ingest/senders.h"
#include "server/tokens.h"
#include "store/codec/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <sys/stat.h>

enum { SENDERS = 4, BATCHES = 12, ROWS = 50 };

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

/* A message, and the sum of its values. */
static struct buf message(uint64_t seed, int64_t *sum)
{
	struct random_profile r =
		random_profile(seed, (struct random_shape){ .n_stacks = 10, .n_samples = ROWS });
	struct sample_columns *c = &r.p->samples;
	struct buf b = { 0 };
	struct err err = { 0 };
	int64_t now_ns = (int64_t)clock_wall_ns();
	for (size_t i = 0; i < c->n; i++)
		c->time_ns[i] = now_ns - (int64_t)rng_below(&r.rng, 60) * 1000000000;
	r.p->meta.start_mono_ns = r.p->meta.start_wall_ns = 0;
	ck_assert_int_eq(otlp_encode(r.p, &(struct otlp_encode_opts){ 0 }, &b, &err), 0);
	profile_free(r.p);
	struct profile *back = profile_new();
	ck_assert_int_eq(otlp_decode(b.data, b.len, "x", profile_sink(back), NULL, &err), 0);
	*sum = 0;
	for (size_t i = 0; i < back->samples.n; i++)
		*sum += back->samples.value[i];
	profile_free(back);
	return b;
}

static unsigned post(const struct world *w, const char *headers, const void *body, size_t len)
{
	struct buf b = { 0 };
	buf_addf(&b,
		 "POST /v1development/profiles HTTP/1.1\r\nHost: localhost\r\n"
		 "Content-Type: application/x-protobuf\r\nContent-Length: %zu\r\n%s\r\n",
		 len, headers);
	buf_add(&b, body, len);
	int fd = client(w);
	ck_assert(say_bytes(fd, b.data, b.len));
	char *answer = answer_of(fd);
	unsigned status = status_of(answer);
	close(fd);
	free(answer);
	buf_done(&b);
	return status;
}

static long long sum_by_sql(const struct world *w)
{
	char *answer = fetch(w, "POST /api/v1/sql?fmt=csv HTTP/1.1\r\nHost: localhost\r\n"
				"Content-Length: 48\r\n\r\n"
				"SELECT coalesce(sum(value), 0) AS s FROM samples");
	const char *at = strstr(answer, "\r\n\r\ns");
	ck_assert_msg(status_of(answer) == 200 && at, "%s", answer);
	long long sum = strtoll(at + strcspn(at + 4, "\n") + 5, NULL, 10);
	free(answer);
	return sum;
}

static void open_world(struct world *w, char *dir)
{
	struct err err = { 0 };
	signal(SIGPIPE, SIG_IGN);
	ck_assert_ptr_nonnull(mkdtemp(dir));
	struct store_opts keep = { .memory_bytes = 16 << 20 };
	struct server_opts opts = {
		.listen = "127.0.0.1:0", .path = dir, .keep = &keep, .per_s = 1000000
	};
	ck_assert_msg(server_start(&opts, &w->server, &err) == 0, "%s", err.text);
	w->port = server_port(w->server);
}

/* --- many at once ----------------------------------------------------------------------------- */

struct sending {
	const struct world *w;
	int number;
	struct buf bodies[BATCHES];
};

/* Sends each batch until it is taken, and once more. */
static void *send_all(void *ctx)
{
	struct sending *s = ctx;
	char headers[128];
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < BATCHES; i++) {
			snprintf(headers, sizeof headers,
				 "X-Cresset-Agent: 00000000-0000-0000-0000-0000000000%02d\r\n"
				 "X-Cresset-Seq: %d\r\n",
				 s->number, i + 1);
			while (post(s->w, headers, s->bodies[i].data, s->bodies[i].len) != 200)
				continue;
		}
	return NULL;
}

START_TEST(each_number_counts_once)
{
	char dir[] = "/tmp/t_server_ingest.XXXXXX";
	struct world w = { 0 };
	struct sending all[SENDERS] = { 0 };
	pthread_t threads[SENDERS];
	long long sum = 0;
	open_world(&w, dir);
	for (int i = 0; i < SENDERS; i++) {
		all[i].w = &w;
		all[i].number = i;
		for (int k = 0; k < BATCHES; k++) {
			int64_t one;
			all[i].bodies[k] = message((uint64_t)(i * BATCHES + k + 1), &one);
			sum += one;
		}
	}
	for (int i = 0; i < SENDERS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, send_all, &all[i]), 0);
	for (int i = 0; i < SENDERS; i++)
		pthread_join(threads[i], NULL);
	ck_assert_int_eq(sum_by_sql(&w), sum);
	for (int i = 0; i < SENDERS; i++)
		for (int k = 0; k < BATCHES; k++)
			buf_done(&all[i].bodies[k]);
	server_stop(w.server);
	ck_assert_int_eq(nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}
END_TEST

/* --- bodies ----------------------------------------------------------------------------------- */

/* A message with any change, or cut anywhere, gets 200 or 400, and the server goes on. */
START_TEST(damaged_bodies)
{
	char dir[] = "/tmp/t_server_ingest.XXXXXX";
	struct world w = { 0 };
	struct rng rng = { .state = 7 };
	int64_t sum;
	open_world(&w, dir);
	struct buf whole = message(1, &sum), packed = { 0 };
	struct err err = { 0 };
	ck_assert_int_eq(otlp_pack((struct otlp_bytes){ whole.data, whole.len },
				   (struct otlp_bytes){ 0 }, &packed, &err),
			 0);
	for (int i = 0; i < 300; i++) {
		bool is_packed = rng_below(&rng, 2);
		const struct buf *from = is_packed ? &packed : &whole;
		struct buf b = { 0 };
		buf_add(&b, from->data,
			from->len - rng_below(&rng, 2) * rng_below(&rng, from->len));
		for (uint64_t n = rng_below(&rng, 8); n && b.len; n--)
			b.data[rng_below(&rng, b.len)] ^= (char)(1u << rng_below(&rng, 8));
		unsigned status =
			post(&w, is_packed ? "Content-Encoding: zstd\r\n" : "", b.data, b.len);
		ck_assert_msg(status == 200 || status == 400 || status == 413, "%u", status);
		buf_done(&b);
	}
	buf_done(&packed);
	buf_done(&whole);
	ck_assert_int_eq(status(&w, "GET /debug/ingest HTTP/1.1\r\nHost: localhost\r\n\r\n"), 200);
	server_stop(w.server);
	ck_assert_int_eq(nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}
END_TEST

/* --- senders ---------------------------------------------------------------------------------- */

static void note(struct senders *s, uint32_t number, uint64_t sequence)
{
	uint8_t id[SENDER_ID_BYTES] = { 0 };
	memcpy(id, &number, sizeof number);
	senders_note(
		s,
		&(struct sender_news){
			.id = id, .address = "", .host = "", .sequence = sequence, .status = 200 });
}

static bool has_key(struct senders *s, uint32_t number, uint64_t sequence)
{
	uint8_t id[SENDER_ID_BYTES] = { 0 };
	struct buf b = { 0 };
	memcpy(id, &number, sizeof number);
	bool has = senders_key(s, id, sequence, &b);
	buf_done(&b);
	return has;
}

static void keep_key(struct senders *s, uint32_t number, uint64_t sequence, size_t bytes)
{
	uint8_t id[SENDER_ID_BYTES] = { 0 };
	struct buf b = { 0 };
	memcpy(id, &number, sizeof number);
	buf_reserve(&b, bytes);
	memset(b.data, 1, bytes);
	b.len = bytes;
	senders_keep_key(s, id, sequence, &b);
	buf_done(&b);
}

/* Changes the first byte of each file. There are never more files than fit. */
static void damage_keys(int keys)
{
	DIR *dir = fdopendir(dup(keys));
	uint32_t n = 0;
	rewinddir(dir);
	for (struct dirent *e; (e = readdir(dir));) {
		if (*e->d_name == '.')
			continue;
		int fd = openat(keys, e->d_name, O_WRONLY);
		ck_assert_int_eq(pwrite(fd, "x", 1, 0), 1);
		close(fd);
		n++;
	}
	closedir(dir);
	ck_assert(n > 10 && n <= 100);
}

START_TEST(senders_are_bounded)
{
	char dir[] = "/tmp/cresset-senders-XXXXXX";
	struct senders s;
	ck_assert_ptr_nonnull(mkdtemp(dir));
	int keys = keys_open(dir, NULL);
	ck_assert_int_ge(keys, 0);
	senders_init(&s, keys, 100000, 0);
	for (uint32_t i = 0; i < 3 * SENDERS_MAX; i++) {
		note(&s, i, 1);
		keep_key(&s, i, 1, 1000);
		ck_assert(has_key(&s, i, 1));
		ck_assert(!has_key(&s, i, 2));
		ck_assert_uint_le(s.n, SENDERS_MAX);
		ck_assert_uint_le(s.key_bytes, 100000);
	}
	ck_assert(!has_key(&s, 0, 1));
	ck_assert(has_key(&s, 3 * SENDERS_MAX - 2, 1));
	keep_key(&s, 3 * SENDERS_MAX - 1, 2, 100001); /* too large: the old one stays */
	ck_assert(has_key(&s, 3 * SENDERS_MAX - 1, 1));
	keep_key(&s, 3 * SENDERS_MAX - 1, 3, 10);
	ck_assert(!has_key(&s, 3 * SENDERS_MAX - 1, 1));
	ck_assert(has_key(&s, 3 * SENDERS_MAX - 1, 3));
	damage_keys(keys);
	ck_assert(!has_key(&s, 3 * SENDERS_MAX - 1, 3));
	senders_drop_keys(&s);
	ck_assert_uint_eq(s.key_bytes, 0);
	senders_done(&s);
	ck_assert_int_eq(nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}
END_TEST

START_TEST(ids_of_senders)
{
	uint8_t a[SENDER_ID_BYTES], b[SENDER_ID_BYTES];
	ck_assert(sender_id_parse("0f8fad5b-d9cb-469f-a165-70867728950e", a));
	ck_assert(sender_id_parse("0F8FAD5BD9CB469FA16570867728950E", b));
	ck_assert_mem_eq(a, b, sizeof a);
	ck_assert_uint_eq(a[0], 0x0f);
	ck_assert_uint_eq(a[15], 0x0e);
	ck_assert(!sender_id_parse("", a));
	ck_assert(!sender_id_parse("0f8fad5b-d9cb-469f-a165-70867728950", a));
	ck_assert(!sender_id_parse("0f8fad5b-d9cb-469f-a165-70867728950e0", a));
	ck_assert(!sender_id_parse("0f8fad5b-d9cb-469f-a165-70867728950g", a));
}
END_TEST

/* --- tokens ----------------------------------------------------------------------------------- */

START_TEST(tokens_are_found)
{
	enum { N = 20 };
	char path[] = "/tmp/t_server_tokens.XXXXXX";
	struct buf secrets[N] = { 0 };
	struct tokens t;
	struct err err = { 0 };
	close(mkstemp(path));
	for (int i = 0; i < N; i++) {
		struct token wanted = { .scopes = (unsigned)(i % 7 + 1) };
		snprintf(wanted.name, sizeof wanted.name, "number %d", i);
		if (i % 2)
			snprintf(wanted.tenant, sizeof wanted.tenant, "t%d", i);
		ck_assert_msg(token_create(path, &wanted, &secrets[i], &err) == 0, "%s", err.text);
	}
	ck_assert_int_eq(tokens_load(path, &t, &err), 0);
	ck_assert_uint_eq(t.n, N);
	for (int i = 0; i < N; i++) {
		const struct token *found = tokens_find(&t, buf_cstr(&secrets[i]));
		ck_assert_ptr_eq(found, &t.v[i]);
		ck_assert_uint_eq(found->scopes, (unsigned)(i % 7 + 1));
		secrets[i].data[10] ^= 1;
		ck_assert_ptr_null(tokens_find(&t, buf_cstr(&secrets[i])));
		secrets[i].data[10] ^= 1;
	}
	ck_assert_int_eq(token_revoke(path, t.v[3].id, &err), 0);
	ck_assert_int_eq(token_revoke(path, t.v[3].id, &err), -ENOENT);
	tokens_done(&t);
	ck_assert_int_eq(tokens_load(path, &t, &err), 0);
	ck_assert_uint_eq(t.n, N - 1);
	ck_assert_ptr_null(tokens_find(&t, buf_cstr(&secrets[3])));
	ck_assert_ptr_null(tokens_find(&t, ""));
	tokens_done(&t);
	for (int i = 0; i < N; i++)
		buf_done(&secrets[i]);
	unlink(path);
}
END_TEST

UNIT_MAIN("server_ingest", each_number_counts_once, damaged_bodies, senders_are_bounded,
	  ids_of_senders, tokens_are_found)
