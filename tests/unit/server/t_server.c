// tier: test
/* What a client can do to the server, by raw bytes that no library would send. */
#include "unit.h"

#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "profile/profile.h"
#include "raw_http.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <zstd.h>

#define HOST "Host: 127.0.0.1\r\n"

/* --- responses ------------------------------------------------------------------------------------- */

START_TEST(responses)
{
	struct world w;
	world_start(&w, (struct server_opts){ 0 });
	char *a = fetch(&w, "GET /api/v1/top?q=samples&fmt=csv HTTP/1.1\r\n" HOST "\r\n");
	ck_assert_int_eq(status_of(a), 200);
	ck_assert_ptr_nonnull(strstr(a, "60.0000,60.0000,12,12,"));
	ck_assert_ptr_nonnull(strstr(a, "\r\nX-Content-Type-Options: nosniff\r\n"));
	ck_assert_ptr_nonnull(strstr(a, "\r\nContent-Security-Policy: default-src 'none'"));
	ck_assert_ptr_null(strstr(a, "Access-Control"));
	free(a);
	ck_assert_int_eq(status(&w, "HEAD / HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n"), 200);
	ck_assert_int_eq(status(&w, "GET /x HTTP/1.1\r\n" HOST "\r\n"), 404);
	ck_assert_int_eq(status(&w, "GET /api/v1/../v1/types HTTP/1.1\r\n" HOST "\r\n"), 404);
	ck_assert_int_eq(status(&w, "GET /page.js%00.css HTTP/1.1\r\n" HOST "\r\n"), 400);
	ck_assert_int_eq(status(&w, "GET /api/v1/top?q=a%ff HTTP/1.1\r\n" HOST "\r\n"), 400);
	ck_assert_int_eq(status(&w, "GET /api/v1/top?q=a&q=b HTTP/1.1\r\n" HOST "\r\n"), 400);
	a = fetch(&w, "DELETE /api/v1/types HTTP/1.1\r\n" HOST "\r\n");
	ck_assert_int_eq(status_of(a), 405);
	ck_assert_ptr_nonnull(strstr(a, "\r\nAllow: GET, HEAD\r\n"));
	free(a);
	world_stop(&w);
}
END_TEST

START_TEST(pipelined_requests_get_responses_in_order)
{
	static const char request[] = "GET /healthz HTTP/1.1\r\n" HOST "\r\n"
				      "GET /api/v1/top?q=samples&fmt=csv HTTP/1.1\r\n" HOST "\r\n"
				      "GET /none HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n";
	struct world w;
	struct buf b = { 0 };
	world_start(&w, (struct server_opts){ 0 });
	int fd = client(&w);
	ck_assert(say(fd, request));
	ck_assert(hear(fd, &b, 5000));
	const char *ok = strstr(buf_cstr(&b), "\r\n\r\nok\n"),
		   *csv = strstr(b.data, "self_percent");
	ck_assert_ptr_nonnull(ok);
	ck_assert_ptr_nonnull(csv);
	ck_assert(ok < csv && csv < strstr(b.data, "HTTP/1.1 404"));
	buf_done(&b);
	close(fd);
	world_stop(&w);
}
END_TEST

START_TEST(other_sites_get_nothing)
{
	struct world w;
	world_start(&w, (struct server_opts){ 0 });
	ck_assert_int_eq(status(&w, "GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n"), 421);
	ck_assert_int_eq(
		status(&w, "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\n\r\n"), 421);
	ck_assert_int_eq(status(&w, "GET /healthz HTTP/1.1\r\nHost: [::1]:80\r\n\r\n"), 200);
	ck_assert_int_eq(status(&w, "GET /healthz HTTP/1.1\r\nHost: localhost:1\r\n\r\n"), 200);
	ck_assert_int_eq(status(&w,
				"POST /api/v1/sql HTTP/1.1\r\n" HOST
				"Origin: http://evil.example\r\nContent-Length: 8\r\n\r\nSELECT 1"),
			 403);
	ck_assert_int_eq(status(&w,
				"POST /api/v1/sql HTTP/1.1\r\n" HOST
				"Origin: http://127.0.0.1\r\nContent-Length: 8\r\n\r\nSELECT 1"),
			 200);
	ck_assert_int_eq(status(&w,
				"GET /api/v1/status HTTP/1.1\r\n" HOST
				"Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n\r\n"),
			 403);
	ck_assert_int_eq(status(&w,
				"GET /healthz HTTP/1.1\r\n" HOST
				"Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n\r\n"),
			 200);
	ck_assert_int_eq(status(&w, "GET /api/v1/status HTTP/1.1\r\n" HOST
				    "Sec-Fetch-Site: same-origin\r\n\r\n"),
			 200);
	world_stop(&w);
}
END_TEST

START_TEST(only_loopback_is_listened_on)
{
	static const char *const addresses[] = { "0.0.0.0:0", "[::]:0", "10.1.2.3:0", "8.8.8.8:0" };
	struct profile *p = profile_new();
	struct server *s;
	for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++) {
		struct server_opts opts = { .listen = addresses[i], .path = "x", .file = p };
		struct err err = { 0 };
		ck_assert_int_lt(server_start(&opts, &s, &err), 0);
		ck_assert_ptr_nonnull(strstr(err.text, "other hosts could read all data"));
	}
	profile_free(p);
}
END_TEST

/* --- framing ------------------------------------------------------------------------------------- */

START_TEST(lengths_beyond_doubt)
{
	static const char *const heads[] = {
		"Content-Length: 8\r\nTransfer-Encoding: chunked\r\n",
		"Transfer-Encoding: chunked\r\nContent-Length: 8\r\n",
		"Content-Length: 8\r\nContent-Length: 8\r\n",
		"Content-Length: 8\r\nContent-Length: 9\r\n",
		"Transfer-Encoding: gzip\r\n",
		"Transfer-Encoding: gzip, chunked\r\n",
		"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
		"Content-Length: 8\r\n" HOST,
		"Content-Length: 8, 8\r\n",
		"Content-Length: +8\r\n",
		"Content-Length: -1\r\n",
		"Content-Length: 0x8\r\n",
		"Content-Length: 8 8\r\n",
	};
	struct world w;
	world_start(&w, (struct server_opts){ 0 });
	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
		char *request = xasprintf("POST /api/v1/sql HTTP/1.1\r\n" HOST
					  "%s\r\nSELECT 1GET /healthz HTTP/1.1\r\n" HOST "\r\n",
					  heads[i]);
		struct buf b = { 0 };
		int fd = client(&w);
		say(fd, request);
		ck_assert_msg(hear(fd, &b, 5000), "the connection stays open: %s", heads[i]);
		ck_assert_msg(status_of(buf_cstr(&b)) == 400 || status_of(b.data) == 413, "%s: %s",
			      heads[i], b.data);
		ck_assert_ptr_null(strstr(b.data, "\r\n\r\nok\n")); /* no second request was seen */
		buf_done(&b);
		close(fd);
		free(request);
	}
	world_stop(&w);
}
END_TEST

/* --- time ---------------------------------------------------------------------------------------- */

/* Sends a byte every 20 ms; returns after how many ms the connection ended. */
static uint64_t drip(int fd, const char *text, uint64_t max_ms)
{
	uint64_t start_ns = clock_mono_ns(), ms = 0;
	struct buf b = { 0 };
	while (ms < max_ms && say_bytes(fd, *text ? text : "x", 1) && !hear(fd, &b, 20)) {
		text += *text != 0;
		ms = (clock_mono_ns() - start_ns) / MS;
	}
	buf_done(&b);
	return ms;
}

START_TEST(a_byte_at_a_time_is_cut)
{
	struct world w;
	world_start(&w, (struct server_opts){ .header_ns = 300 * MS, .body_ns = 500 * MS });
	int fd = client(&w);
	uint64_t ms = drip(fd, "GET /healthz HTTP/1.1\r\nX-Slow: ", 5000);
	close(fd);
	ck_assert_msg(ms >= 250 && ms < 3000, "a header: %lu ms", (unsigned long)ms);
	fd = client(&w);
	say(fd, "POST /api/v1/sql HTTP/1.1\r\n" HOST "Content-Length: 10000\r\n\r\n");
	ms = drip(fd, "SELECT ", 5000);
	close(fd);
	ck_assert_msg(ms >= 400 && ms < 3000, "a body: %lu ms", (unsigned long)ms);
	ck_assert(measured(&w, "cresset_http_late_total") >= 2);
	world_stop(&w);
}
END_TEST

START_TEST(silent_clients_are_cut)
{
	struct world w;
	struct buf b = { 0 };
	world_start(&w, (struct server_opts){ .header_ns = 200 * MS, .idle_ns = 300 * MS });
	int quiet = client(&w), idle = client(&w);
	say(idle, "GET /healthz HTTP/1.1\r\n" HOST "\r\n");
	free(answer_of(idle));
	ck_assert(hear(quiet, &b, 3000));
	ck_assert(hear(idle, &b, 3000));
	ck_assert_int_eq(b.len, 0);
	close(quiet);
	close(idle);
	world_stop(&w);
}
END_TEST

/* --- bodies -------------------------------------------------------------------------------------- */

START_TEST(bodies_that_are_too_large)
{
	struct world w;
	struct buf b = { 0 };
	world_start(&w, (struct server_opts){ .body_ns = 2000 * MS });
	int fd = client(&w);
	say(fd, "POST /api/v1/sql HTTP/1.1\r\n" HOST
		"Expect: 100-continue\r\nContent-Length: 5000000\r\n\r\n");
	ck_assert(hear(fd, &b, 5000));
	ck_assert_int_eq(status_of(buf_cstr(&b)), 413); /* without a 100 before it */
	buf_done(&b);
	close(fd);
	ck_assert_int_eq(status(&w, "POST /api/v1/sql HTTP/1.1\r\n" HOST
				    "Content-Length: 99999999999999999999999\r\n\r\n"),
			 413);
	ck_assert_int_eq(
		status(&w, "GET /healthz HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc"), 400);
	world_stop(&w);
}
END_TEST

/* Endless chunks: none are kept, and the connection ends. */
START_TEST(chunks_without_end)
{
	struct world w;
	char chunk[16 + 65536];
	world_start(&w, (struct server_opts){ .memory_bytes = 8 << 20 });
	int fd = client(&w), head = sprintf(chunk, "%x\r\n", 65534);
	memset(chunk + head, ' ', 65534);
	memcpy(chunk + head + 65534, "\r\n", 2);
	say(fd, "POST /api/v1/sql HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n");
	int sent = 0;
	while (sent < 1000 && say_bytes(fd, chunk, head + 65536))
		sent++;
	ck_assert_int_lt(sent, 300);
	close(fd);
	for (int i = 0; i < 100 && measured(&w, "cresset_http_bodies_bytes") != 0; i++)
		poll(NULL, 0, 20);
	ck_assert(measured(&w, "cresset_http_bodies_bytes") == 0);
	world_stop(&w);
}
END_TEST

#define HALF "POST /api/v1/sql HTTP/1.1\r\n" HOST "Content-Length: 700000\r\n"

START_TEST(bodies_share_a_budget)
{
	struct world w;
	struct buf b = { 0 };
	world_start(&w, (struct server_opts){ .memory_bytes = 4 << 20 }); /* 1 MiB of bodies */
	int first = client(&w), second = client(&w);
	say(first, HALF "\r\nSELECT");
	while (measured(&w, "cresset_http_bodies_bytes") < 700000)
		poll(NULL, 0, 10);
	say(second, HALF "Expect: 100-continue\r\n\r\n");
	ck_assert(hear(second, &b, 5000));
	ck_assert_int_eq(status_of(buf_cstr(&b)), 503);
	ck_assert_ptr_nonnull(strstr(b.data, "\r\nRetry-After: 1\r\n"));
	ck_assert(measured(&w, "cresset_http_refused_total{limit=\"bodies\"}") == 1);
	close(first);
	close(second);
	while (measured(&w, "cresset_http_bodies_bytes") > 0)
		poll(NULL, 0, 10);
	second = client(&w);
	buf_clear(&b);
	say(second, HALF "Expect: 100-continue\r\n\r\n");
	hear(second, &b, 1000);
	ck_assert_int_eq(status_of(buf_cstr(&b)), 100);
	buf_done(&b);
	close(second);
	world_stop(&w);
}
END_TEST

/* Sends a body as it is, labelled with this encoding. */
static unsigned post(const struct world *w, const char *encoding, const void *data, size_t len)
{
	char *head = xasprintf("POST /api/v1/sql HTTP/1.1\r\n" HOST
			       "Content-Encoding: %s\r\nContent-Length: %zu\r\n\r\n",
			       encoding, len);
	int fd = client(w);
	say(fd, head);
	say_bytes(fd, data, len);
	char *answer = answer_of(fd);
	unsigned n = status_of(answer);
	free(answer);
	free(head);
	close(fd);
	return n;
}

static size_t pack(const struct buf *plain, int window_log, char *out, size_t size)
{
	ZSTD_CCtx *z = ZSTD_createCCtx();
	ZSTD_CCtx_setParameter(z, ZSTD_c_windowLog, window_log);
	ZSTD_CCtx_setParameter(z, ZSTD_c_contentSizeFlag, 0);
	ZSTD_outBuffer to = { out, size, 0 };
	/* In two steps, so that the size is unknown when the frame header is written. */
	ZSTD_inBuffer from = { plain->data, plain->len / 2, 0 };
	ZSTD_compressStream2(z, &to, &from, ZSTD_e_flush);
	from.size = plain->len;
	while (ZSTD_compressStream2(z, &to, &from, ZSTD_e_end))
		;
	ZSTD_freeCCtx(z);
	return to.pos;
}

START_TEST(compressed_bodies)
{
	static char packed[1 << 20];
	struct world w;
	struct buf plain = { 0 }, gzip = { 0 };
	world_start(&w, (struct server_opts){ 0 });
	buf_adds(&plain, "SELECT count(*) FROM samples");
	fs_gzip(plain.data, plain.len, &gzip);
	ck_assert_int_eq(post(&w, "gzip", gzip.data, gzip.len), 200);
	ck_assert_int_eq(post(&w, "gzip", gzip.data, gzip.len - 5), 400);
	ck_assert_int_eq(post(&w, "zstd", gzip.data, gzip.len), 400);
	ck_assert_int_eq(post(&w, "br", gzip.data, gzip.len), 415);
	size_t n = pack(&plain, 10, packed, sizeof packed);
	ck_assert_int_eq(post(&w, "zstd", packed, n), 200);
	ck_assert_int_eq(post(&w, "zstd", packed, n - 3), 400);
	n = pack(&plain, 26, packed, sizeof packed); /* 64 MiB of memory for a few words */
	ck_assert_int_eq(post(&w, "zstd", packed, n), 413);
	buf_clear(&plain);
	buf_reserve(&plain, 100 << 20);
	memset(plain.data, ' ', plain.len = 100 << 20);
	buf_clear(&gzip);
	fs_gzip(plain.data, plain.len, &gzip);
	ck_assert_int_eq(post(&w, "gzip", gzip.data, gzip.len), 413);
	n = pack(&plain, 20, packed, sizeof packed);
	ck_assert_int_eq(post(&w, "zstd", packed, n), 413);
	ck_assert(measured(&w, "cresset_http_bodies_bytes") == 0);
	buf_done(&plain);
	buf_done(&gzip);
	world_stop(&w);
}
END_TEST

/* --- limits on numbers --------------------------------------------------------------------------- */

START_TEST(connections_are_limited)
{
	enum { LIMIT = 8 };
	struct world w;
	int fds[LIMIT];
	world_start(&w, (struct server_opts){ .connections = LIMIT });
	for (int i = 0; i < LIMIT; i++) {
		fds[i] = client(&w);
		/* Once the first answer has arrived, so has the head of the second request. */
		say(fds[i], "GET /healthz HTTP/1.1\r\n" HOST "\r\n"
			    "POST /api/v1/sql HTTP/1.1\r\n" HOST
			    "Expect: 100-continue\r\nContent-Length: 8\r\n\r\n");
		struct buf heard = { 0 };
		while (!strstr(buf_cstr(&heard), "100 Continue"))
			ck_assert(!hear(fds[i], &heard, 100));
		buf_done(&heard);
	}
	struct buf b = { 0 };
	int more = client(&w);
	ck_assert(hear(more, &b, 5000));
	ck_assert_int_eq(status_of(buf_cstr(&b)), 503);
	buf_done(&b);
	close(more);
	say(fds[0], "SELECT 1"); /* those inside go on */
	char *answer = answer_of(fds[0]);
	ck_assert_int_eq(status_of(answer), 200);
	free(answer);
	for (int i = 0; i < LIMIT; i++)
		close(fds[i]);
	unsigned last = 0;
	for (int i = 0; i < 200 && last != 200; i++) {
		last = status(&w, "GET /healthz HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n");
		poll(NULL, 0, 10);
	}
	ck_assert_int_eq(last, 200);
	world_stop(&w);
}
END_TEST

/* As many silent connections as are allowed, and as many again once those are cut: other clients still get responses. */
START_TEST(silent_clients_do_not_block_others)
{
	enum { LIMIT = 32, SILENT = 3 * LIMIT, REQUESTS = 100 };
	struct world w;
	int fds[SILENT];
	unsigned answered = 0;
	world_start(&w, (struct server_opts){ .connections = LIMIT });
	for (int i = 0; i < SILENT; i++)
		fds[i] = client(&w);
	for (int i = 0; i < REQUESTS; i++) {
		close(fds[i % SILENT]);
		fds[i % SILENT] = client(&w);
		answered += status(&w, "GET /healthz HTTP/1.1\r\n" HOST
				       "Connection: close\r\n\r\n") == 200;
	}
	ck_assert_uint_ge(answered, REQUESTS - 1);
	for (int i = 0; i < SILENT; i++)
		close(fds[i]);
	world_stop(&w);
}
END_TEST

START_TEST(senders_are_limited)
{
	struct world w;
	unsigned refused = 0;
	world_start(&w, (struct server_opts){ .per_s = 2 }); /* and 10 at once */
	for (int i = 0; i < 20; i++) {
		char *a = fetch(&w, "GET /healthz HTTP/1.1\r\n" HOST "\r\n");
		unsigned n = status_of(a);
		ck_assert(n == (i < 10 ? 200 : n));
		ck_assert(n == 200 || (n == 429 && strstr(a, "\r\nRetry-After: 1\r\n")));
		refused += n == 429;
		free(a);
	}
	ck_assert_int_ge(refused, 5);
	world_stop(&w);
}
END_TEST

#define SLOW_SQL \
	"SELECT count(*) FROM samples a, samples b, samples c, samples d, samples e, samples f, " \
	"samples g, samples h, samples i, samples j, samples k, samples l, samples m, samples n, " \
	"samples o, samples p, samples q, samples r, samples s, samples t"

static int ask_slowly(const struct world *w)
{
	char *request =
		xasprintf("POST /api/v1/sql HTTP/1.1\r\n" HOST "Content-Length: %zu\r\n\r\n%s",
			  strlen(SLOW_SQL), SLOW_SQL);
	int fd = client(w);
	say(fd, request);
	free(request);
	return fd;
}

START_TEST(queries_have_a_time)
{
	struct world w;
	world_start(&w, (struct server_opts){ .query_ns = 200 * MS });
	int fd = ask_slowly(&w);
	char *answer = answer_of(fd);
	ck_assert_int_eq(status_of(answer), 413);
	ck_assert_ptr_nonnull(strstr(answer, "\r\nRetry-After: 10\r\n"));
	free(answer);
	close(fd);
	world_stop(&w);
}
END_TEST

/* How many of n connections have been told to retry, by what has arrived so far. */
static int refused_of(const int *fds, struct buf *heard, int n)
{
	int refused = 0;

	for (int i = 0; i < n; i++) {
		hear(fds[i], &heard[i], 0);
		refused += status_of(buf_cstr(&heard[i])) == 429;
	}
	return refused;
}

/* Health is answered while all workers are busy. The number of waiting requests is limited, too. No work is done for a client that has left, not even
 * at the end. */
START_TEST(concurrent_queries_are_limited)
{
	enum { MANY = 80 };
	struct world w;
	struct buf heard[MANY] = { 0 };
	int fds[MANY];
	world_start(&w, (struct server_opts){ .queries = 1 });
	for (int i = 0; i < MANY; i++)
		fds[i] = ask_slowly(&w);
	ck_assert_int_eq(status(&w, "GET /healthz HTTP/1.1\r\n" HOST "\r\n"), 200);
	while (measured(&w, "cresset_http_refused_total{limit=\"busy\"}") < MANY - 66)
		poll(NULL, 0, 10);
	for (int turn = 0; turn < 1000 && refused_of(fds, heard, MANY) < MANY - 66; turn++)
		poll(NULL, 0, 10);
	ck_assert_int_ge(refused_of(fds, heard, MANY), MANY - 66);
	for (int i = 0; i < MANY; i++) {
		close(fds[i]);
		buf_done(&heard[i]);
	}
	uint64_t start_ns = clock_mono_ns();
	while (measured(&w, "cresset_http_waiting_queries") > 0)
		poll(NULL, 0, 10);
	ck_assert_uint_lt(clock_mono_ns() - start_ns, t_slow_ns(10000 * MS));
	world_stop(&w);
}
END_TEST

START_TEST(shutdown_does_not_wait)
{
	struct world w;
	world_start(&w, (struct server_opts){ 0 });
	int slow = ask_slowly(&w), idle = client(&w), half = client(&w);
	say(half, "POST /api/v1/sql HTTP/1.1\r\n" HOST "Content-Length: 100\r\n\r\nSEL");
	poll(NULL, 0, 100);
	uint64_t start_ns = clock_mono_ns();
	world_stop(&w);
	ck_assert_uint_lt(clock_mono_ns() - start_ns, t_slow_ns(3000 * MS));
	close(slow);
	close(idle);
	close(half);
}
END_TEST

/* --- a socket that another process has as well ------------------------------------------------ */

static int make_socket(uint16_t *port)
{
	struct sockaddr_in at;
	socklen_t len = sizeof at;
	struct err err = { 0 };
	int fd = server_listen(&(struct server_opts){ .listen = "127.0.0.1:0" }, &err);

	ck_assert_msg(fd > 0, "%s", err.text);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	*port = ntohs(at.sin_port);
	return fd;
}

static bool can_bind(uint16_t port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons(port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one), 0);
	bool can = bind(fd, (struct sockaddr *)&at, sizeof at) == 0;
	close(fd);
	return can;
}

START_TEST(a_socket_outlives_its_servers)
{
	struct world w, between;
	int kept = make_socket(&between.port);

	world_start(&w, (struct server_opts){ .socket = fcntl(kept, F_DUPFD_CLOEXEC, 3) });
	ck_assert_uint_eq(w.port, between.port);
	ck_assert_int_eq(status(&w, "GET /healthz HTTP/1.1\r\n" HOST "\r\n"), 200);
	world_stop(&w);
	ck_assert(!can_bind(between.port));
	int early = client(&between);
	ck_assert(say(early, "GET /healthz HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n"));
	world_start(&w, (struct server_opts){ .socket = fcntl(kept, F_DUPFD_CLOEXEC, 3) });
	char *a = answer_of(early);
	ck_assert_int_eq(status_of(a), 200);
	free(a);
	close(early);
	world_stop(&w);
	close(kept);
	ck_assert(can_bind(between.port));
}
END_TEST

START_TEST(a_socket_that_was_shut_down_listens_again)
{
	struct world w;
	uint16_t port;
	int kept = make_socket(&port);

	ck_assert_int_eq(shutdown(kept, SHUT_RDWR), 0);
	world_start(&w, (struct server_opts){ .socket = fcntl(kept, F_DUPFD_CLOEXEC, 3) });
	ck_assert_int_eq(status(&w, "GET /healthz HTTP/1.1\r\n" HOST "\r\n"), 200);
	world_stop(&w);
	close(kept);
}
END_TEST

START_TEST(a_port_that_is_taken_has_a_holder)
{
	uint16_t port;
	char listen[32], user[32];
	struct err err = { 0 };
	int kept = make_socket(&port);
	const struct passwd *me = getpwuid(geteuid());

	snprintf(listen, sizeof listen, "127.0.0.1:%u", port);
	snprintf(user, sizeof user, "%u", (unsigned)geteuid());
	ck_assert_int_eq(server_listen(&(struct server_opts){ .listen = listen }, &err),
			 -EADDRINUSE);
	ck_assert_ptr_nonnull(strstr(err.text, listen));
	ck_assert_ptr_nonnull(strstr(err.text, "a process of user "));
	ck_assert_ptr_nonnull(strstr(err.text, me ? me->pw_name : user));
	close(kept);
}
END_TEST

/* --- files that are not read for names -------------------------------------------------------- */

static uint64_t count_unread(const void *ctx)
{
	return *(const uint64_t *)ctx;
}

START_TEST(files_that_are_not_read_are_counted)
{
	static const char request[] = "GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n";
	uint64_t n = 3;
	struct world w;
	world_start(&w, (struct server_opts){ .unread = { count_unread, &n } });
	ck_assert(measured(&w, "cresset_names_unread_files") == 3);
	n++;
	char *answer = fetch(&w, request);
	ck_assert_msg(strstr(answer, "\"unread_files\":4,") != NULL, "%s", answer);
	free(answer);
	world_stop(&w);
	world_start(&w, (struct server_opts){ 0 });
	answer = fetch(&w, request);
	ck_assert_msg(strstr(answer, "unread_files") == NULL, "%s", answer);
	free(answer);
	world_stop(&w);
}
END_TEST

UNIT_MAIN("server", responses, pipelined_requests_get_responses_in_order, other_sites_get_nothing,
	  only_loopback_is_listened_on, lengths_beyond_doubt, a_byte_at_a_time_is_cut,
	  silent_clients_are_cut, bodies_that_are_too_large, chunks_without_end,
	  bodies_share_a_budget, compressed_bodies, connections_are_limited,
	  silent_clients_do_not_block_others, senders_are_limited, queries_have_a_time,
	  concurrent_queries_are_limited, shutdown_does_not_wait, a_socket_outlives_its_servers,
	  a_socket_that_was_shut_down_listens_again, a_port_that_is_taken_has_a_holder,
	  files_that_are_not_read_are_counted)
