/* tests/unit/raw_http.h: a server in this process, and clients that write bytes. */
#ifndef CRESSET_TESTS_RAW_HTTP_H
#define CRESSET_TESTS_RAW_HTTP_H

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/input.h"
#include "base/mem.h"
#include "format/folded/folded.h"
#include "profile/profile.h"
#include "server/server.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

struct world {
	struct profile *p;
	struct server *server;
	uint16_t port;
};

#define MS UINT64_C(1000000)

static inline void world_start(struct world *w, struct server_opts opts)
{
	static const char text[] = "main;loop;read 12\nmain;loop;write 5\nmain;idle 3\n";
	struct input *in;
	struct err err = { 0 };
	signal(SIGPIPE, SIG_IGN);
	w->p = profile_new();
	ck_assert_int_eq(input_open_memory(text, sizeof text - 1, &in, &err), 0);
	ck_assert_int_eq(folded_read(in, profile_sink(w->p), &err), 0);
	input_close(in);
	opts.listen = "127.0.0.1:0";
	opts.path = "a.folded";
	opts.file = w->p;
	opts.per_s = opts.per_s ? opts.per_s : 1000000;
	ck_assert_msg(server_start(&opts, &w->server, &err) == 0, "%s", err.text);
	w->port = server_port(w->server);
}

static inline void world_stop(struct world *w)
{
	server_stop(w->server);
	profile_free(w->p);
}

static inline int client(const struct world *w)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(w->port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
	return fd;
}

static inline bool say_bytes(int fd, const void *data, size_t len)
{
	return send(fd, data, len, MSG_NOSIGNAL) == (ssize_t)len;
}
static inline bool say(int fd, const char *text)
{
	return say_bytes(fd, text, strlen(text));
}

/* Appends what arrives within that time; true: the other side has closed. */
static inline bool hear(int fd, struct buf *b, int ms)
{
	struct pollfd one = { .fd = fd, .events = POLLIN };
	char bytes[4096];
	while (poll(&one, 1, ms) > 0) {
		ssize_t n = recv(fd, bytes, sizeof bytes, 0);
		if (n <= 0)
			return true;
		buf_add(b, bytes, n);
	}
	return false;
}

/* The whole answer to a request that ends its connection, cut after its Content-Length if it has one; "" when there is none. */
static inline char *answer_of(int fd)
{
	struct buf b = { 0 };
	struct pollfd one = { .fd = fd, .events = POLLIN };
	char bytes[4096];
	for (;;) {
		const char *end = strstr(buf_cstr(&b), "\r\n\r\n");
		const char *length = strstr(buf_cstr(&b), "Content-Length: ");
		if (end && length &&
		    b.len >= (size_t)(end + 4 - b.data) + strtoul(length + 16, NULL, 10))
			break;
		ck_assert_msg(poll(&one, 1, 20000) > 0, "no answer after: %s", buf_cstr(&b));
		ssize_t n = recv(fd, bytes, sizeof bytes, 0);
		if (n <= 0)
			break;
		buf_add(&b, bytes, n);
	}
	return buf_steal(&b);
}

/* 0: there was no answer. */
static inline unsigned status_of(const char *answer)
{
	return strncmp(answer, "HTTP/1.1 ", 9) == 0 ? strtoul(answer + 9, NULL, 10) : 0;
}

/* One request on its own connection. */
static inline char *fetch(const struct world *w, const char *request)
{
	int fd = client(w);
	say(fd, request);
	char *answer = answer_of(fd);
	close(fd);
	return answer;
}
static inline unsigned status(const struct world *w, const char *request)
{
	char *answer = fetch(w, request);
	unsigned n = status_of(answer);
	free(answer);
	return n;
}

/* The value of a name in /metrics, labels included. */
static inline double measured(const struct world *w, const char *name)
{
	char *answer =
		fetch(w, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
	char *line = xasprintf("\n%s ", name);
	const char *at = strstr(answer, line);
	double v = at ? strtod(at + strlen(line), NULL) : -1;
	free(line);
	free(answer);
	return v;
}

#endif
