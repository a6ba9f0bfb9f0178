// tier: test
// tier: full CRESSET_HTTP_REQUESTS=100000
/* Bodies that nobody would send: every kind that a server takes, damaged, truncated, mislabelled, wrongly compressed, or with false lengths. None may
 * crash the server, cause a fault of its own, or make it grow. CRESSET_HTTP_REQUESTS: how many (2000). The seed is printed; CRESSET_HTTP_SEED repeats
 * a run. */
#define UNIT_TIMEOUT_S 3600 /* of 100,000 */

#include "unit.h"

#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/vec.h"
#include "rand.h"
#include "raw_http.h"
#include "store/codec/store.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>
#include <zstd.h>

enum {
	CLIENTS = 4,
	BODY_MAX = 64 << 10,
	MAX_KB = 128 << 10,
	GROWTH_KB = 16 << 10,
	SETTLED = 10000
};

static const char *const directories[] = {
	"otlp",        "otlp",         "otlp_metrics", "pprof",      "symbol_table", "folded",
	"perf_script", "sql",          "json_read",    "speedscope", "recording",    "callgrind",
	"perf_data",   "chrome_trace", "cpuprofile",   "firefox",    "recording_db",
};
static const char *const targets[] = {
	"POST /v1development/profiles",
	"POST /v1development/profiles",
	"POST /v1/metrics",
	"POST /api/v1/profiles",
	"POST /api/v1/profiles?type=x&label=a=b&from=now-1m",
	"PUT /api/v1/symbols/0102030405060708",
	"PUT /api/v1/symbols/ab",
	"POST /api/v1/sql",
	"POST /api/v1/open",
	"POST /api/v1/open",
	"POST /api/v1/open",
};
static const char *const types[] = {
	"application/x-protobuf",
	"application/x-protobuf",
	"application/x-protobuf",
	"application/json",
	"text/plain",
	"",
};
static const char *const heads[] = {
	"X-Cresset-Agent: 0f8fad5b-d9cb-469f-a165-70867728950e\r\nX-Cresset-Seq: 1\r\n",
	"X-Cresset-Agent: 0f8fad5b-d9cb-469f-a165-70867728950e\r\nX-Cresset-Seq: 2\r\n"
	"X-Cresset-Base: 1\r\n",
	"X-Cresset-Agent: 0f8fad5b-d9cb-469f-a165-70867728950e\r\nX-Cresset-Seq: "
	"18446744073709551615\r\n",
	"X-Cresset-Agent: x\r\n",
	"X-Cresset-Base: 1\r\n",
	"Expect: 100-continue\r\n",
	"Transfer-Encoding: chunked\r\n",
};
#define PICK(r, list) ((list)[rng_below(r, sizeof(list) / sizeof *(list))])

/* --- bodies that were sound once ----------------------------------------------------------------- */

struct seeds {
	VEC(struct buf) all;
	struct buf bomb;
};

static void read_directory(struct seeds *s, const char *directory)
{
	char path[300];
	snprintf(path, sizeof path, "tests/fuzz/corpus/%s", directory);
	DIR *dir = opendir(path);
	ck_assert_msg(dir != NULL, "%s", path);
	for (struct dirent *e; (e = readdir(dir));) {
		struct buf b = { 0 };
		if (*e->d_name != '.' && fs_read_at(dirfd(dir), e->d_name, BODY_MAX, &b, NULL) == 0)
			vec_push(&s->all, b);
		else
			buf_done(&b);
	}
	closedir(dir);
}

static void damage(struct rng *r, struct buf *b)
{
	for (uint64_t n = rng_below(r, 2) * rng_below(r, 6); n && b->len; n--) {
		size_t at = rng_below(r, b->len);
		switch (rng_below(r, 5)) {
		case 0:
			b->data[at] ^= 1 << rng_below(r, 8);
			break;
		case 1:
			b->len = at;
			break;
		case 2:
			b->data[at] = "\0\x7f\x80\xff{"[rng_below(r, 5)];
			break;
		case 3: /* repeats a part of it */
			buf_reserve(b, b->len - at);
			buf_add(b, b->data + at, b->len - at);
			break;
		default:
			for (uint64_t k = rng_below(r, 100); k; k--)
				buf_addc(b, (char)rng_next(r));
		}
	}
}

/* Compressed as labelled, otherwise, or twice; or noise labelled as compressed. */
static const char *pack(struct rng *r, struct buf *b)
{
	struct buf packed = { 0 };
	uint64_t how = rng_below(r, 8);
	if (how < 3)
		return "";
	if (how == 3)
		return "Content-Encoding: br\r\n";
	if (how == 4) {
		fs_gzip(b->data, b->len, &packed);
	} else if (how < 7) {
		buf_reserve(&packed, ZSTD_compressBound(b->len));
		packed.len =
			ZSTD_compress(packed.data, ZSTD_compressBound(b->len), b->data, b->len, 1);
	}
	if (how < 7) {
		buf_done(b);
		*b = packed;
	}
	if (rng_below(r, 5) == 0)
		damage(r, b);
	return how == 4 ? "Content-Encoding: gzip\r\n" : "Content-Encoding: zstd\r\n";
}

/* A few bytes that decompress to very many. */
static void put_bomb(struct buf *b)
{
	size_t len = 80 << 20;
	char *zeros = xcalloc(1, len);
	buf_reserve(b, ZSTD_compressBound(len));
	b->len = ZSTD_compress(b->data, ZSTD_compressBound(len), zeros, len, 1);
	free(zeros);
}

static void put_request(struct rng *r, const struct seeds *seeds, struct buf *out)
{
	const struct buf *seed = &seeds->all.v[rng_below(r, seeds->all.n)];
	struct buf body = { 0 };
	const char *encoding = "Content-Encoding: zstd\r\n";
	buf_add(&body, seed->data, seed->len);
	if (rng_below(r, 500) == 0) {
		buf_clear(&body);
		buf_add(&body, seeds->bomb.data, seeds->bomb.len);
	} else {
		damage(r, &body);
		encoding = pack(r, &body);
	}
	buf_addf(out,
		 "%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: %s\r\n%s%s",
		 PICK(r, targets), PICK(r, types), encoding, rng_below(r, 3) ? "" : PICK(r, heads));
	size_t said = rng_below(r, 30) ? body.len : rng_next(r) >> rng_below(r, 64);
	buf_addf(out, "Content-Length: %zu\r\n\r\n", said);
	buf_add(out, body.data, body.len);
	buf_done(&body);
}

/* --- many ---------------------------------------------------------------------------------------- */

struct sender {
	const struct world *w;
	const struct seeds *seeds;
	struct rng rng;
	_Atomic long *left;
	long answers[6];
	char fault[300];
	pthread_t thread;
};

static void ask_once(struct sender *s)
{
	struct buf request = { 0 }, answer = { 0 };
	put_request(&s->rng, s->seeds, &request);
	int fd = client(s->w);
	say_bytes(fd, request.data, request.len);
	if (rng_below(&s->rng, 30))
		hear(fd, &answer, 1000);
	unsigned status = status_of(buf_cstr(&answer));
	s->answers[status / 100 % 6]++;
	if (status >= 500 && status != 503)
		snprintf(s->fault, sizeof s->fault, "%.120s => %.150s", request.data, answer.data);
	close(fd);
	buf_done(&request);
	buf_done(&answer);
}

static void *ask_many(void *ctx)
{
	struct sender *s = ctx;
	while (atomic_fetch_sub(s->left, 1) > 0)
		ask_once(s);
	return NULL;
}

static void run(const struct world *w, const struct seeds *seeds, uint64_t seed, long n,
		long answers[6])
{
	struct sender senders[CLIENTS] = { 0 };
	_Atomic long left = n;
	for (int i = 0; i < CLIENTS; i++) {
		senders[i] = (struct sender){ .w = w, .seeds = seeds, .left = &left };
		senders[i].rng.state = seed + i * 77 + 1;
		pthread_create(&senders[i].thread, NULL, ask_many, &senders[i]);
	}
	for (int i = 0; i < CLIENTS; i++) {
		pthread_join(senders[i].thread, NULL);
		ck_assert_msg(!*senders[i].fault, "seed %llu: %s", (unsigned long long)seed,
			      senders[i].fault);
		for (int k = 0; k < 6; k++)
			answers[k] += senders[i].answers[k];
	}
}

static long resident_kb(void)
{
	struct buf b = { 0 };
	ck_assert_int_eq(fs_read_at(AT_FDCWD, "/proc/self/smaps_rollup", 1 << 16, &b, NULL), 0);
	const char *at = strstr(buf_cstr(&b), "\nRss:");
	long kb = at ? strtol(at + 5, NULL, 10) : 0;
	buf_done(&b);
	return kb;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static void start(struct world *w, char *dir)
{
	struct err err = { 0 };
	signal(SIGPIPE, SIG_IGN);
	ck_assert_ptr_nonnull(mkdtemp(dir));
	struct store_opts keep = { .memory_bytes = 16 << 20 };
	struct server_opts opts = { .listen = "127.0.0.1:0",
				    .path = dir,
				    .keep = &keep,
				    .per_s = 1000000,
				    .query_ns = 200 * MS,
				    .header_ns = 300 * MS,
				    .body_ns = 300 * MS,
				    .idle_ns = 300 * MS,
				    .memory_bytes = 64 << 20 };
	ck_assert_msg(server_start(&opts, &w->server, &err) == 0, "%s", err.text);
	w->port = server_port(w->server);
}

START_TEST(no_body_breaks_it)
{
	const char *wanted = getenv("CRESSET_HTTP_REQUESTS"), *said = getenv("CRESSET_HTTP_SEED");
	long n = wanted ? strtol(wanted, NULL, 10) : 2000, answers[6] = { 0 };
	uint64_t seed = said ? strtoull(said, NULL, 10) : (uint64_t)time(NULL) * 2 + 1;
	char dir[] = "/tmp/t_server_fuzz_bodies.XXXXXX";
	struct world w = { 0 };
	struct seeds seeds = { 0 };
	for (size_t i = 0; i < sizeof directories / sizeof *directories; i++)
		read_directory(&seeds, directories[i]);
	put_bomb(&seeds.bomb);
	start(&w, dir);
	run(&w, &seeds, seed, n / 2, answers);
	long before_kb = resident_kb();
	run(&w, &seeds, seed + 1000, n - n / 2, answers);
	long grown_kb = resident_kb() - before_kb;
	fprintf(stderr,
		"seed %llu: %ld requests: no answer %ld, 2xx %ld, 4xx %ld, 5xx %ld; grown by %ld "
		"KiB of %ld\n",
		(unsigned long long)seed, n, answers[0], answers[2], answers[4], answers[5],
		grown_kb, before_kb);
	ck_assert_msg(answers[2] > n / 20 && answers[4] > n / 10, "hardly any are answered");
#ifndef __SANITIZE_ADDRESS__
	ck_assert_msg(before_kb + grown_kb < MAX_KB, "%ld KiB", before_kb + grown_kb);
	/* After some thousands, caches and the allocator's arenas have reached their size. */
	ck_assert_msg(n < SETTLED || grown_kb < GROWTH_KB, "grown by %ld KiB", grown_kb);
#endif
	ck_assert_int_eq(status(&w, "GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n"), 200);
	server_stop(w.server);
	for (size_t i = 0; i < seeds.all.n; i++)
		buf_done(&seeds.all.v[i]);
	vec_done(&seeds.all);
	buf_done(&seeds.bomb);
	ck_assert_int_eq(nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}
END_TEST

UNIT_MAIN("server_fuzz_bodies", no_body_breaks_it)
