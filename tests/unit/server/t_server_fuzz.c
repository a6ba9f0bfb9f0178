// tier: test
// tier: full CRESSET_HTTP_REQUESTS=100000
/* Requests that nobody would send: malformed, truncated, huge, of the wrong kind, with malicious paths and headers. None may crash the server or make
 * it grow. None may cause a fault of its own: a 5xx other than 503, which means that a limit was reached, and 505, which is about the requested
 * version. CRESSET_HTTP_REQUESTS: how many (4000). The seed is printed; CRESSET_HTTP_SEED repeats a run. */
#define UNIT_TIMEOUT_S 2000 /* of 100,000 */

#include "unit.h"

#include "base/fs.h"
#include "rand.h"
#include "raw_http.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { CLIENTS = 4, ODD = 25 }; /* percent of requests whose bytes are damaged, too */

static const char *const methods[] = { "GET",     "POST",  "POST", "POST",   "HEAD", "PUT",
				       "OPTIONS", "TRACE", "get",  "DELETE", "G\tT", "" };
static const char *const paths[] = {
	"/",
	"/page.js",
	"/metrics",
	"/healthz",
	"/readyz",
	"/api/v1/types",
	"/api/v1/labels",
	"/api/v1/values",
	"/api/v1/series",
	"/api/v1/range",
	"/api/v1/flame",
	"/api/v1/flame",
	"/api/v1/top",
	"/api/v1/callers",
	"/api/v1/diff",
	"/api/v1/chart",
	"/api/v1/heatmap",
	"/api/v1/open",
	"/api/v1/sql",
	"/api/v1/sql",
	"/api/v1/sql",
	"/api/v1/status",
	"/../../etc/passwd",
	"/api/v1/../../../../etc/passwd",
	"/%2e%2e/%2e%2e/etc/passwd",
	"/..%2f..%2fetc%2fpasswd",
	"/page.js/../../../etc/shadow",
	"//etc/passwd",
	"/api/v1/sql%00.js",
	"/%",
	"/%zz",
	"*",
	"http://evil.example/",
	"",
};
/* Paths that are answered, if nothing is added. */
static const char *const sound[] = {
	"/",
	"/metrics",
	"/api/v1/types?match=samples",
	"/api/v1/series?",
	"/api/v1/status?",
	"/api/v1/flame?q=samples&px=100",
	"/api/v1/flame?q=samples&fmt=bin&px=100&zoom=0123456789abcdef01234567",
	"/api/v1/flame?q=samples&fmt=bin&inverted=1",
	"/page/index.css?x=1",
	"/page/app.js?",
	"/api/v1/flame?q=samples&fmt=svg",
	"/api/v1/flame?q=samples&fmt=pprof",
	"/api/v1/flame?q=samples&fmt=speedscope&focus=loop",
	"/api/v1/flame?q=samples&fmt=folded&hide=read",
	"/api/v1/top?q=samples&n=2",
	"/api/v1/top?q=%7b%7d&fmt=text",
	"/api/v1/callers?q=samples&f=read",
	"/api/v1/diff?a=samples&norm=abs",
	"/api/v1/diff?a=samples&b=%7b%7d&fmt=csv",
	"/api/v1/diff?a=samples&fmt=bin&px=10",
};
static const char *const names[] = {
	"q",     "from",   "to",    "by",    "fmt",       "n",       "px",      "f",
	"a",     "b",      "afrom", "bto",   "norm",      "match",   "name",    "step",
	"focus", "ignore", "hide",  "title", "no_kernel", "no_user", "palette", "icicle",
	"x",     "",       "q",     "zoom",  "inverted",
};
static const char *const values[] = {
	"samples",
	"samples",
	"{}",
	"samples{",
	"samples{a=~\"(((((((((((((((a*)*)*)*)*)*)*)*)*\"}",
	"{comm=\"x\"}",
	"0",
	"1",
	"-1",
	"99999999999999999999999",
	"1e308",
	"now",
	"now-15m",
	"start+1s",
	"end-999999999d",
	"9223372036854775807",
	"2026-11-22T02:00:00Z",
	"1ns",
	"10s",
	"0s",
	"json",
	"csv",
	"svg",
	"folded",
	"pprof",
	"speedscope",
	"text",
	"tree",
	"cresset",
	"rate",
	"abs",
	"main",
	"read",
	"comm,pid,tid,cpu,process,container,a,b,c,d",
	"comm",
	"(",
	".*",
	"[[:alpha:]]{1,255}{1,255}",
	"(((a{1,100}){1,100}){1,100})",
	"<script>alert(1)</script>",
	"'; DROP TABLE samples; --",
	"%c3%28",
	"%00",
	"%0d%0aSet-Cookie:%20a=b",
	"../../etc/passwd",
	"",
};
static const char *const heads[] = {
	"Host: evil.example",
	"Host: 127.0.0.1",
	"Content-Length: 0",
	"Content-Length: 5",
	"Content-Length: 99999999999",
	"Content-Length: -5",
	"Content-Length: a",
	"Transfer-Encoding: chunked",
	"Transfer-Encoding: identity",
	"Transfer-Encoding : chunked",
	"Transfer-Encoding: \x0b"
	"chunked",
	"Content-Encoding: gzip",
	"Content-Encoding: zstd",
	"Content-Encoding: gzip, zstd",
	"Expect: 100-continue",
	"Expect: the worst",
	"Connection: keep-alive, close, upgrade",
	"Upgrade: h2c",
	"Origin: null",
	"Origin: http://127.0.0.1",
	"Range: bytes=0-0,1-1,2-2",
	"Accept: */*",
	"Cookie: a=b; c=\"d",
	" folded: yes",
	"no colon at all",
	": no name",
	"X-\xff\xfe: \x80",
};
static const char *const bodies[] = {
	"SELECT 1",
	"SELECT * FROM samples",
	"SELECT count(*) FROM samples a, samples b, samples c, samples d, samples e, samples f, "
	"samples g",
	"{\"query\":\"SELECT type, sum(value) FROM samples GROUP BY 1\"}",
	"{\"query\":",
	"{\"query\":[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]}",
	"{\"query\":null,\"query\":1}",
	"[1,",
	"ATTACH '/etc/passwd' AS x",
	"SELECT load_extension('x')",
	"SELECT zeroblob(1000000000)",
	"SELECT printf('%.*c', 900000000, 'x')",
	"PRAGMA database_list",
	"\x1f\x8b\x08",
	"\x28\xb5\x2f\xfd",
	"",
};
#define PICK(r, list) ((list)[rng_below(r, sizeof(list) / sizeof *(list))])

/* --- one request --------------------------------------------------------------------------------- */

static void put_noise(struct rng *r, struct buf *b, size_t n)
{
	while (n--)
		buf_addc(b, (char)rng_next(r));
}

static void put_target(struct rng *r, struct buf *b)
{
	uint64_t n = rng_below(r, 6);
	if (rng_below(r, 2)) {
		buf_adds(b, PICK(r, sound));
		if (n == 0)
			buf_addf(b, "&%s=%s", PICK(r, names), PICK(r, values));
		return;
	}
	buf_adds(b, PICK(r, paths));
	for (uint64_t i = 0; i < n; i++)
		buf_addf(b, "%c%s=%s", i ? '&' : '?', PICK(r, names), PICK(r, values));
	if (rng_below(r, 50) == 0)
		for (uint64_t long_ = rng_below(r, 40000); long_; long_--)
			buf_addc(b, 'a');
}

static void put_heads(struct rng *r, struct buf *b)
{
	if (rng_below(r, 10))
		buf_adds(b, "Host: 127.0.0.1\r\n");
	for (uint64_t n = rng_below(r, 3) ? 0 : rng_below(r, 4); n; n--)
		buf_addf(b, "%s%s", PICK(r, heads), rng_below(r, 30) ? "\r\n" : "\n");
	if (rng_below(r, 60) == 0)
		for (uint64_t n = rng_below(r, 3000); n; n--)
			buf_addf(b, "X-%u: %u\r\n", (unsigned)n, (unsigned)rng_next(r));
}

static void put_chunks(struct rng *r, struct buf *b, const char *text)
{
	for (size_t left = strlen(text), n; left; left -= n, text += n) {
		n = 1 + rng_below(r, left);
		buf_addf(b, "%zx%s\r\n", rng_below(r, 20) ? n : (size_t)rng_next(r),
			 rng_below(r, 10) ? "" : ";a=b");
		buf_add(b, text, n);
		buf_adds(b, rng_below(r, 30) ? "\r\n" : "");
	}
	buf_adds(b, rng_below(r, 10) ? "0\r\n\r\n" : "0\r\nTrailer: x\r\n\r\n");
}

static void put_body(struct rng *r, struct buf *b)
{
	const char *text = PICK(r, bodies);
	struct buf packed = { 0 };
	switch (rng_below(r, 4)) {
	case 0:
		buf_adds(b, "Transfer-Encoding: chunked\r\n\r\n");
		put_chunks(r, b, text);
		break;
	case 1:
		fs_gzip(text, strlen(text), &packed);
		buf_addf(b, "Content-Encoding: gzip\r\nContent-Length: %zu\r\n\r\n", packed.len);
		buf_add(b, packed.data, packed.len);
		break;
	default:
		buf_addf(b, "Content-Length: %zu\r\n\r\n%s", strlen(text), text);
	}
	buf_done(&packed);
}

static void put_request(struct rng *r, struct buf *b)
{
	const char *method = rng_below(r, 3) ? "GET" : PICK(r, methods);
	buf_addf(b, "%s ", method);
	put_target(r, b);
	buf_adds(b, rng_below(r, 20) ? " HTTP/1.1\r\n" : " HTTP/1.0\r\n");
	put_heads(r, b);
	if (strcmp(method, "POST") == 0 || rng_below(r, 20) == 0)
		put_body(r, b);
	else
		buf_adds(b, "\r\n");
}

static void damage(struct rng *r, struct buf *b)
{
	for (uint64_t n = 1 + rng_below(r, 4); n && b->len; n--) {
		size_t at = rng_below(r, b->len);
		switch (rng_below(r, 4)) {
		case 0:
			b->data[at] ^= 1 << rng_below(r, 8);
			break;
		case 1:
			b->len = at;
			break;
		case 2:
			b->data[at] = "\0\r\n :%&=\xff"[rng_below(r, 9)];
			break;
		default:
			put_noise(r, b, rng_below(r, 200));
		}
	}
}

/* --- many ---------------------------------------------------------------------------------------- */

struct sender {
	const struct world *w;
	struct rng rng;
	long requests;
	_Atomic long *left;
	long answers[6];
	struct buf fault; /* the request whose answer was one */
	pthread_t thread;
};

/* A 5xx that no input may cause. */
static bool is_fault(unsigned status)
{
	return status >= 500 && status != 503 && status != 505;
}

static void send_pieces(struct rng *r, int fd, const struct buf *b)
{
	size_t at = 0;
	while (at < b->len) {
		size_t n = rng_below(r, 4) ? b->len - at : 1 + rng_below(r, b->len - at);
		if (!say_bytes(fd, b->data + at, n))
			return;
		at += n;
	}
}

static void ask_once(struct sender *s)
{
	struct buf request = { 0 }, answer = { 0 };
	struct rng *r = &s->rng;
	for (uint64_t n = rng_below(r, 10) ? 1 : 3; n; n--) /* pipelined */
		put_request(r, &request);
	if (rng_below(r, 100) < ODD)
		damage(r, &request);
	int fd = client(s->w);
	send_pieces(r, fd, &request);
	/* Most wait a while for an answer; some wait for the end, some not at all. */
	if (rng_below(r, 10))
		hear(fd, &answer, rng_below(r, 200) ? 15 : 1000);
	unsigned status = status_of(buf_cstr(&answer));
	s->answers[status / 100 % 6]++;
	if (is_fault(status) && !s->fault.len)
		buf_addf(&s->fault, "%.*s\n=> %.200s", (int)request.len, request.data, answer.data);
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

static long resident_kb(void)
{
	struct buf b = { 0 };
	long kb = 0;
	ck_assert_int_eq(fs_read_at(AT_FDCWD, "/proc/self/smaps_rollup", 1 << 16, &b, NULL), 0);
	const char *at = strstr(buf_cstr(&b), "\nRss:");
	kb = at ? strtol(at + 5, NULL, 10) : 0;
	buf_done(&b);
	return kb;
}

static void run(const struct world *w, uint64_t seed, long n, long answers[6])
{
	struct sender senders[CLIENTS] = { 0 };
	_Atomic long left = n;
	for (int i = 0; i < CLIENTS; i++) {
		senders[i].w = w;
		senders[i].rng.state = seed + i * 77 + 1;
		senders[i].left = &left;
		pthread_create(&senders[i].thread, NULL, ask_many, &senders[i]);
	}
	for (int i = 0; i < CLIENTS; i++) {
		pthread_join(senders[i].thread, NULL);
		ck_assert_msg(!senders[i].fault.len, "%s", buf_cstr(&senders[i].fault));
		for (int k = 0; k < 6; k++)
			answers[k] += senders[i].answers[k];
	}
}

/* Waits until only the asking client is connected. */
static void settle(const struct world *w)
{
	for (int i = 0; i < 500 && (measured(w, "cresset_http_open_connections") > 1 ||
				    measured(w, "cresset_http_bodies_bytes") > 0);
	     i++)
		poll(NULL, 0, 20);
	ck_assert(measured(w, "cresset_http_bodies_bytes") == 0);
}

START_TEST(nothing_breaks)
{
	const char *wanted = getenv("CRESSET_HTTP_REQUESTS"), *said = getenv("CRESSET_HTTP_SEED");
	long n = wanted ? strtol(wanted, NULL, 10) : 4000, answers[6] = { 0 };
	uint64_t seed = said ? strtoull(said, NULL, 10) : (uint64_t)time(NULL) * 2 + 1;
	struct world w;
	world_start(&w, (struct server_opts){ .query_ns = 200 * MS,
					      .header_ns = 300 * MS,
					      .body_ns = 300 * MS,
					      .idle_ns = 300 * MS,
					      .memory_bytes = 32 << 20 });
	run(&w, seed, n / 2, answers);
	settle(&w);
	long before_kb = resident_kb();
	run(&w, seed + 1000, n - n / 2, answers);
	settle(&w);
	long grown_kb = resident_kb() - before_kb;
	fprintf(stderr,
		"seed %llu: %ld requests: no answer %ld, 2xx %ld, 4xx %ld, 5xx %ld; grown by %ld "
		"KiB\n",
		(unsigned long long)seed, n, answers[0], answers[2], answers[4], answers[5],
		grown_kb);
	ck_assert_msg(answers[2] > n / 10 && answers[4] > n / 10, "hardly any are answered");
#ifndef __SANITIZE_ADDRESS__
	ck_assert_msg(grown_kb < 8192, "grown by %ld KiB", grown_kb);
#endif
	ck_assert_int_eq(status(&w, "GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n"), 200);
	world_stop(&w);
}
END_TEST

UNIT_MAIN("server_fuzz", nothing_breaks)
