// tier: test
/* agent/symbols_thread.c against servers that are away, refuse, fail in the middle, or are killed: a table arrives in the end, or its names are found
 * here; a server that refuses is not asked again. */
#include "real_server.h"
#include "shell.h"

#include "agent/symbols_upload.h"
#include "base/log.h"
#include "symbol/symbol_table.h"

#include <glob.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

/* --- a server that follows a script ------------------------------------------------------------ */

#define STATUS(words) "HTTP/1.1 " words "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
#define THERE         STATUS("200 OK")
#define CREATED       STATUS("201 Created")
#define ABSENT        STATUS("404 Not Found")

enum { ALL = 1 << 30, TURNS_MAX = 8, REQUEST_MAX = 8192 };

/* The next request, how much of its body is read, and the answer. */
struct turn {
	char method; /* its first letter; 0: end of the script */
	const char *answer;
	size_t takes;
};

struct stub {
	int fd;
	uint16_t port;
	pthread_t thread;
	const struct turn *script;
	atomic_uint turns; /* that are over */
	atomic_bool is_wrong, ends;
	struct symbols_thread *_Atomic asker;
	const char *tokens[TURNS_MAX]; /* set before the turn's answer; NULL: none */
};

static void wait_ms(int64_t ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

/* Reads a request up to its body. Returns the length of the part of the body that came with it. */
static size_t read_head(int fd, char *text)
{
	size_t n = 0;
	char *body = NULL;

	while (!body && n < REQUEST_MAX - 1) {
		ssize_t got = recv(fd, text + n, REQUEST_MAX - 1 - n, 0);
		if (got <= 0)
			break;
		n += (size_t)got;
		text[n] = '\0';
		body = strstr(text, "\r\n\r\n");
	}
	return body ? n - (size_t)(body + 4 - text) : 0;
}

static void read_body(int fd, const char *head, size_t has, size_t takes)
{
	const char *said = strcasestr(head, "\r\nContent-Length:");
	size_t len = said ? strtoul(said + 17, NULL, 10) : 0;
	char bytes[4096];

	if (strcasestr(head, "\r\nExpect:") && takes)
		send(fd, "HTTP/1.1 100 Continue\r\n\r\n", 25, MSG_NOSIGNAL);
	for (len = len < takes ? len : takes; has < len;) {
		ssize_t got =
			recv(fd, bytes, len - has < sizeof bytes ? len - has : sizeof bytes, 0);
		if (got <= 0)
			return;
		has += (size_t)got;
	}
}

static void serve_one(struct stub *s, int fd)
{
	const struct turn *turn = &s->script[atomic_load(&s->turns)];
	char head[REQUEST_MAX] = "";
	size_t has = read_head(fd, head);

	if (!turn->method || *head != turn->method) {
		atomic_store(&s->is_wrong, true);
		return;
	}
	read_body(fd, head, has, turn->takes);
	const char *token = s->tokens[atomic_load(&s->turns) % TURNS_MAX];
	if (token)
		symbols_thread_set_token(atomic_load(&s->asker), token);
	send(fd, turn->answer, strlen(turn->answer), MSG_NOSIGNAL);
	atomic_fetch_add(&s->turns, 1);
}

static void *stub_run(void *ctx)
{
	struct stub *s = ctx;

	while (!atomic_load(&s->ends)) {
		if (poll(&(struct pollfd){ .fd = s->fd, .events = POLLIN }, 1, 20) <= 0)
			continue;
		int fd = accept(s->fd, NULL, NULL);
		serve_one(s, fd);
		close(fd);
	}
	return NULL;
}

static void stub_start(struct stub *s, uint16_t port, const struct turn *script)
{
	struct sockaddr_in a = { AF_INET, htons(port), { htonl(INADDR_LOOPBACK) }, { 0 } };

	*s = (struct stub){ .port = port, .script = script };
	s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(setsockopt(s->fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int)), 0);
	ck_assert_int_eq(bind(s->fd, (struct sockaddr *)&a, sizeof a), 0);
	ck_assert_int_eq(listen(s->fd, 8), 0);
	ck_assert_int_eq(pthread_create(&s->thread, NULL, stub_run, s), 0);
}

static void stub_stop(struct stub *s)
{
	atomic_store(&s->ends, true);
	pthread_join(s->thread, NULL);
	close(s->fd);
}

/* --- uploaders --------------------------------------------------------------------------------- */

struct world {
	struct symbols_thread *thread;
	uint8_t id[64];
	size_t len;
	int fd;
};

static void world_init(struct world *w, uint16_t port)
{
	char url[64];
	const struct symbols_thread_opts opts = { .url = url };
	glob_t g = { 0 };

	log_set_level(LOG_QUIET);
	ck_assert_int_eq(glob("/lib/*-linux-gnu/libc.so.6", 0, NULL, &g), 0);
	w->fd = open(g.gl_pathv[0], O_RDONLY | O_CLOEXEC);
	globfree(&g);
	int len = elf_build_id(w->fd, w->id, sizeof w->id);
	ck_assert_int_gt(len, 0);
	w->len = (size_t)len;
	snprintf(url, sizeof url, "http://127.0.0.1:%u", port);
	ck_assert_int_eq(symbols_thread_start(&opts, &w->thread, NULL), 0);
	symbols_thread_set_peer(w->thread, true);
}

static void world_done(struct world *w)
{
	symbols_thread_stop(w->thread);
	close(w->fd);
}

static enum symbols_state state(struct world *w)
{
	return symbols_thread_state(w->thread, w->id, w->len);
}

static bool give(struct world *w)
{
	return symbols_thread_give(w->thread, w->id, w->len, w->fd, "/lib/libc.so.6");
}

static void until_free(struct world *w)
{
	for (int i = 0; i < 1000 && !symbols_thread_is_free(w->thread); i++)
		wait_ms(20);
	ck_assert(symbols_thread_is_free(w->thread));
}

/* Gives a table again until its state is known, as the sending process does. A new token ends the pause after a failure. */
static enum symbols_state give_until_known(struct world *w)
{
	for (int i = 0; i < 1000 && state(w) == SYMBOLS_UNKNOWN; i++) {
		if (!give(w))
			symbols_thread_set_token(w->thread, "");
		wait_ms(20);
	}
	return state(w);
}

/* --- faults ------------------------------------------------------------------------------------ */

static const struct fault {
	struct turn script[TURNS_MAX];
	enum symbols_state then;
} faults[] = {
	/* The server fails for a while. */
	{ { { 'H', ABSENT, 0 },
	    { 'P', STATUS("500 Internal Server Error"), ALL },
	    { 'H', STATUS("502 Bad Gateway"), 0 },
	    { 'H', ABSENT, 0 },
	    { 'P', STATUS("503 Service Unavailable"), ALL },
	    { 'H', ABSENT, 0 },
	    { 'P', CREATED, ALL } },
	  SYMBOLS_THERE },
	/* Too large, or invalid: never tried again. */
	{ { { 'H', ABSENT, 0 }, { 'P', STATUS("413 Content Too Large"), ALL } }, SYMBOLS_NONE },
	{ { { 'H', ABSENT, 0 }, { 'P', STATUS("413 Content Too Large"), 0 } }, SYMBOLS_NONE },
	{ { { 'H', ABSENT, 0 }, { 'P', STATUS("400 Bad Request"), ALL } }, SYMBOLS_NONE },
	/* Another agent was first. */
	{ { { 'H', ABSENT, 0 }, { 'P', STATUS("409 Conflict"), ALL } }, SYMBOLS_THERE },
	/* A truncated answer says nothing; the next request finds out what was meant. */
	{ { { 'H', "HTTP/1.1 2", 0 },
	    { 'H', ABSENT, 0 },
	    { 'P', "HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n{\"new\"", ALL },
	    { 'H', THERE, 0 } },
	  SYMBOLS_THERE },
	/* No answer at all, also before the whole table has arrived. */
	{ { { 'H', "", 0 },
	    { 'H', ABSENT, 0 },
	    { 'P', "", 1000 },
	    { 'H', ABSENT, 0 },
	    { 'P', "", ALL },
	    { 'H', ABSENT, 0 },
	    { 'P', CREATED, ALL } },
	  SYMBOLS_THERE },
	/* No HTTP. */
	{ { { 'H', "SSH-2.0-OpenSSH_9.9\r\n", 0 }, { 'H', ABSENT, 0 }, { 'P', CREATED, ALL } },
	  SYMBOLS_THERE },
};

static void check_fault(const struct fault *f)
{
	uint32_t turns = 0;
	struct stub s;
	struct world w;

	while (turns < TURNS_MAX && f->script[turns].method)
		turns++;
	stub_start(&s, free_port(), f->script);
	world_init(&w, s.port);
	ck_assert_int_eq(state(&w), SYMBOLS_UNKNOWN);
	ck_assert_int_eq(give_until_known(&w), f->then);
	until_free(&w);
	ck_assert(give(&w)); /* its state is known: no request */
	until_free(&w);
	ck_assert_int_eq(state(&w), f->then);
	world_done(&w);
	stub_stop(&s);
	ck_assert(!atomic_load(&s.is_wrong));
	ck_assert_uint_eq(atomic_load(&s.turns), turns);
}

START_TEST(a_table_bears_what_a_server_does)
{
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
		check_fault(&faults[i]);
}
END_TEST

/* The server is away at first. */
START_TEST(a_server_that_is_away_gets_it_later)
{
	static const struct turn script[] = { { 'H', ABSENT, 0 }, { 'P', CREATED, ALL }, { 0 } };
	uint16_t port = free_port();
	struct stub s;
	struct world w;

	world_init(&w, port);
	ck_assert(give(&w));
	for (int i = 0; i < 1000 && !symbols_thread_is_free(w.thread); i++) {
		symbols_thread_set_token(w.thread, "");
		wait_ms(20);
	}
	ck_assert(symbols_thread_is_free(w.thread)); /* the try has failed */
	ck_assert_int_eq(state(&w), SYMBOLS_UNKNOWN);
	stub_start(&s, port, script);
	ck_assert_int_eq(give_until_known(&w), SYMBOLS_THERE);
	world_done(&w);
	stub_stop(&s);
	ck_assert(!atomic_load(&s.is_wrong));
}
END_TEST

/* A server that keeps no tables is not asked for any other; a new token may have the right to write. */
static void check_none(const struct turn *script)
{
	static const uint8_t other[] = { 1, 2, 3, 4 };
	struct stub s;
	struct world w;

	stub_start(&s, free_port(), script);
	world_init(&w, s.port);
	ck_assert_int_eq(give_until_known(&w), SYMBOLS_NONE);
	until_free(&w);
	ck_assert_int_eq(symbols_thread_state(w.thread, other, sizeof other), SYMBOLS_NONE);
	symbols_thread_set_token(w.thread, "another");
	ck_assert_int_eq(symbols_thread_state(w.thread, other, sizeof other), SYMBOLS_UNKNOWN);
	world_done(&w);
	stub_stop(&s);
	ck_assert(!atomic_load(&s.is_wrong));
}

START_TEST(a_server_without_storage_is_not_retried)
{
	static const struct turn scripts[][3] = {
		{ { 'H', ABSENT, 0 }, { 'P', ABSENT, ALL } },
		{ { 'H', STATUS("403 Forbidden"), 0 } },
		{ { 'H', STATUS("405 Method Not Allowed"), 0 } },
	};

	for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
		check_none(scripts[i]);
}
END_TEST

/* The old token is refused just after the new one was set: that is no reason to wait. */
START_TEST(a_refusal_of_the_previous_token_does_not_count)
{
	static const struct turn script[] = { { 'H', ABSENT, 0 },
					      { 'P', STATUS("403 Forbidden"), ALL },
					      { 'H', STATUS("403 Forbidden"), 0 },
					      { 'H', ABSENT, 0 },
					      { 'P', CREATED, ALL },
					      { 0 } };
	struct stub s;
	struct world w;

	stub_start(&s, free_port(), script);
	world_init(&w, s.port);
	symbols_thread_set_token(w.thread, "first");
	s.tokens[1] = "second";
	s.tokens[2] = "third";
	atomic_store(&s.asker, w.thread);
	for (int i = 0; i < 1000 && state(&w) == SYMBOLS_UNKNOWN; i++) {
		give(&w);
		wait_ms(20);
	}
	ck_assert_int_eq(state(&w), SYMBOLS_THERE);
	world_done(&w);
	stub_stop(&s);
	ck_assert(!atomic_load(&s.is_wrong));
	ck_assert_uint_eq(atomic_load(&s.turns), 5);
}
END_TEST

/* The same token set again is not a new one. */
START_TEST(a_refusal_of_this_token_stays_when_it_is_set_again)
{
	static const struct turn script[] = { { 'H', STATUS("403 Forbidden"), 0 }, { 0 } };
	static const uint8_t other[] = { 1, 2, 3, 4 };
	struct stub s;
	struct world w;

	stub_start(&s, free_port(), script);
	world_init(&w, s.port);
	symbols_thread_set_token(w.thread, "only");
	s.tokens[0] = "only";
	atomic_store(&s.asker, w.thread);
	ck_assert(give(&w));
	until_free(&w);
	ck_assert_int_eq(symbols_thread_state(w.thread, other, sizeof other), SYMBOLS_NONE);
	world_done(&w);
	stub_stop(&s);
}
END_TEST

/* --- kill -9 ----------------------------------------------------------------------------------- */

enum { KILLS = 6 };

static void until_it_answers(uint16_t port)
{
	shell_do("for i in $(seq 200); do curl -sS -m 5 http://127.0.0.1:%u/healthz 2>/dev/null && "
		 "exit 0; sleep 0.05; done; exit 1",
		 port);
}

/* A server killed in the middle has the whole table or none; the next server says which. */
START_TEST(a_server_that_is_killed_has_all_or_nothing)
{
	uint16_t port = free_port();
	char dir[32];
	struct world w;

	temp_dir(dir);
	for (int i = 0; i < KILLS; i++) {
		shell_do("rm -rf %s/data", dir);
		pid_t server = server_start_on(dir, port, "16M");

		until_it_answers(port);
		world_init(&w, port);
		ck_assert(give(&w));
		wait_ms(i * 7);
		kill(server, SIGKILL);
		ck_assert_int_eq(waitpid(server, NULL, 0), server);
		server = server_start_on(dir, port, "16M");
		ck_assert_int_eq(give_until_known(&w), SYMBOLS_THERE);
		char *said = shell("curl -sS http://127.0.0.1:%u/metrics | awk "
				   "'/^cresset_symbols_(tables|unreadable_total)\\{/ { printf "
				   "\"%%s \", $2 }'",
				   port);
		ck_assert_str_eq(said, "1 0 ");
		free(said);
		world_done(&w);
		server_end(server);
	}
	shell_do("rm -rf %s", dir);
}
END_TEST

UNIT_MAIN("symbols_thread", a_table_bears_what_a_server_does, a_server_that_is_away_gets_it_later,
	  a_server_without_storage_is_not_retried, a_refusal_of_the_previous_token_does_not_count,
	  a_refusal_of_this_token_stays_when_it_is_set_again,
	  a_server_that_is_killed_has_all_or_nothing)
