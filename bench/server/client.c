#include "client.h"

#include "base/mem.h"
#include "batches.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* --- the server ------------------------------------------------------------------------------- */

static void run_server(const char *cresset, const char *dir, const char *const *more, int out)
{
	const char *args[16] = { cresset, "serve", "--data", dir, "--listen", "127.0.0.1:0" };
	size_t n = 6;
	while (*more && n < 15)
		args[n++] = *more++;
	dup2(out, 1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execv(cresset, (char **)args);
	_exit(127);
}

void served_start(struct served *s, const char *cresset, const char *dir, const char *const *more)
{
	char url[128];
	int ends[2];
	if (pipe(ends))
		bench_fail("pipe: %s", strerror(errno));
	s->pid = fork();
	if (s->pid == 0)
		run_server(cresset, dir, more, ends[1]);
	close(ends[1]);
	FILE *f = fdopen(ends[0], "r");
	const char *colon = f && fgets(url, sizeof url, f) ? strrchr(url, ':') : NULL;
	if (!colon)
		bench_fail("%s serve does not start", cresset);
	s->port = strtoul(colon + 1, NULL, 10);
	fclose(f);
}

uint64_t served_cpu_ns(const struct served *s)
{
	clockid_t clock;
	struct timespec t = { 0 };
	if (clock_getcpuclockid(s->pid, &clock) || clock_gettime(clock, &t))
		bench_fail("the server is gone");
	return (uint64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

uint64_t served_peak_bytes(const struct served *s)
{
	char path[64], line[256];
	unsigned long long kib = 0;
	snprintf(path, sizeof path, "/proc/%d/status", (int)s->pid);
	FILE *f = fopen(path, "r");
	while (f && fgets(line, sizeof line, f))
		if (!strncmp(line, "VmHWM:", 6))
			kib = strtoull(line + 6, NULL, 10);
	if (f)
		fclose(f);
	return kib << 10;
}

void served_stop(struct served *s)
{
	int status;
	kill(s->pid, SIGTERM);
	waitpid(s->pid, &status, 0);
}

/* --- requests --------------------------------------------------------------------------------- */

static bool connect_it(struct client *c)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(c->port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int one = 1;
	if (c->fd >= 0)
		return true;
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	if (connect(c->fd, (struct sockaddr *)&to, sizeof to) == 0)
		return true;
	client_done(c);
	return false;
}

void client_done(struct client *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

static bool send_all(int fd, const void *data, size_t len)
{
	for (const char *p = data; len;) {
		ssize_t n = send(fd, p, len, MSG_NOSIGNAL);
		if (n <= 0)
			return false;
		p += n;
		len -= n;
	}
	return true;
}

/* Until there are so many bytes, or the end of the head with want 0. */
static bool receive(int fd, struct buf *b, size_t want)
{
	while (want ? b->len < want : !strstr(buf_cstr(b), "\r\n\r\n")) {
		buf_reserve(b, 65536);
		ssize_t n = recv(fd, b->data + b->len, 65535, 0);
		if (n <= 0)
			return false;
		b->len += n;
	}
	return true;
}

static struct answered take_answer(struct client *c, struct buf *body)
{
	struct answered a = { 0 };
	struct buf b = { 0 };
	if (receive(c->fd, &b, 0)) {
		const char *head = buf_cstr(&b), *end = strstr(head, "\r\n\r\n");
		const char *length = strcasestr(head, "\r\ncontent-length:");
		size_t at = end + 4 - head, len = length ? strtoul(length + 17, NULL, 10) : 0;
		a.status = strtoul(head + 9, NULL, 10);
		a.has_retry_after = strcasestr(head, "\r\nretry-after:") != NULL;
		bool closes = strcasestr(head, "\r\nconnection: close") != NULL;
		if (!receive(c->fd, &b, at + len))
			a.status = 0;
		else if (body)
			buf_add(body, b.data + at, len);
		if (closes)
			client_done(c);
	}
	if (!a.status)
		client_done(c);
	buf_done(&b);
	return a;
}

struct answered client_post(struct client *c, const struct posted *p)
{
	char base[64] = "", head[512];
	if (!connect_it(c))
		return (struct answered){ 0 };
	if (p->base)
		snprintf(base, sizeof base, "X-Cresset-Base: %llu\r\n",
			 (unsigned long long)p->base);
	int n = snprintf(head, sizeof head,
			 "POST /v1development/profiles HTTP/1.1\r\nHost: 127.0.0.1\r\n"
			 "Content-Type: application/x-protobuf\r\nContent-Encoding: %s\r\n"
			 "X-Cresset-Agent: %024x%08x\r\nX-Cresset-Seq: %llu\r\n%s"
			 "Content-Length: %zu\r\n\r\n",
			 p->encoding, p->agent, p->host, (unsigned long long)p->sequence, base,
			 p->body->len);
	/* Who is refused before the body was read may see the connection end while it still sends: the answer is there all the same. */
	if (send_all(c->fd, head, n))
		send_all(c->fd, p->body->data, p->body->len);
	return take_answer(c, NULL);
}

unsigned client_get(struct client *c, const char *path, struct buf *body)
{
	char head[1024];
	int n = snprintf(head, sizeof head, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", path);
	if (!connect_it(c) || !send_all(c->fd, head, n))
		return 0;
	return take_answer(c, body).status;
}
