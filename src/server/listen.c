/* Opens the socket, and accepts connections. */
#include "server/listen.h"

#include "base/err.h"
#include "base/parse.h"
#include "server/port_holder.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { BACKLOG = 512, HOST_MAX = 63 };

/* --- addresses -------------------------------------------------------------------------------- */

/* Splits host[:port] or [host]:port; *port is "" if none exists. */
static bool split(const char *text, char host[HOST_MAX + 1], const char **port)
{
	const char *end = *text == '[' ? strchr(text, ']') : strrchr(text, ':');
	const char *from = text + (*text == '[');
	if (*text == '[' && (!end || (end[1] && end[1] != ':')))
		return false;
	if (!end)
		end = text + strlen(text);
	if (end - from > HOST_MAX)
		return false;
	memcpy(host, from, end - from);
	host[end - from] = '\0';
	end += *end == ']';
	*port = *end == ':' ? end + 1 : end;
	return true;
}

static bool parse_host(const char *host, uint16_t port, union listen_addr *out)
{
	memset(out, 0, sizeof *out);
	if (strcasecmp(host, "localhost") == 0)
		host = "127.0.0.1";
	if (inet_pton(AF_INET, host, &out->v4.sin_addr) == 1) {
		out->v4.sin_family = AF_INET;
		out->v4.sin_port = htons(port);
		return true;
	}
	if (inet_pton(AF_INET6, host, &out->v6.sin6_addr) != 1)
		return false;
	out->v6.sin6_family = AF_INET6;
	out->v6.sin6_port = htons(port);
	return true;
}

int listen_parse(const char *text, union listen_addr *out, struct err *err)
{
	char host[HOST_MAX + 1];
	const char *port_text;
	uint64_t port;
	if (!split(text, host, &port_text) || parse_u64(port_text, &port) < 0 ||
	    port > UINT16_MAX || !parse_host(host, port, out)) {
		err_set(err, EINVAL, "'%s' is not an address to listen on", text);
		err_hint(err, "like 127.0.0.1:7070 or [::1]:7070");
		return -EINVAL;
	}
	return 0;
}

bool listen_is_loopback(const union listen_addr *a)
{
	if (a->any.sa_family == AF_INET)
		return ntohl(a->v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
}

bool listen_host_is_loopback(const char *host)
{
	char name[HOST_MAX + 1];
	union listen_addr addr;
	const char *port;
	return split(host, name, &port) && parse_host(name, 0, &addr) && listen_is_loopback(&addr);
}

/* --- the socket ------------------------------------------------------------------------------- */

void listen_words(const union listen_addr *a, char words[LISTEN_WORDS])
{
	char host[INET6_ADDRSTRLEN];

	if (a->any.sa_family == AF_INET)
		snprintf(words, LISTEN_WORDS, "%s:%u",
			 inet_ntop(AF_INET, &a->v4.sin_addr, host, sizeof host),
			 ntohs(a->v4.sin_port));
	else
		snprintf(words, LISTEN_WORDS, "[%s]:%u",
			 inet_ntop(AF_INET6, &a->v6.sin6_addr, host, sizeof host),
			 ntohs(a->v6.sin6_port));
}

static int say_why(const union listen_addr *addr, int rc, struct err *err)
{
	char where[LISTEN_WORDS], holder[PORT_HOLDER_WORDS];

	listen_words(addr, where);
	if (rc != -EADDRINUSE)
		return err_set(err, -rc, "cannot listen on %s: %s", where, strerror(-rc));
	err_set(err, -rc, "cannot listen on %s: the port is in use by %s", where,
		port_holder(&addr->any, holder));
	return err_hint(err, "choose another with --listen");
}

static int bind_socket(int fd, const union listen_addr *addr)
{
	int one = 1;
	socklen_t len = addr->any.sa_family == AF_INET ? sizeof addr->v4 : sizeof addr->v6;

	return setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) < 0 ||
			       bind(fd, &addr->any, len) < 0 || listen(fd, BACKLOG) < 0
		       ? -errno
		       : 0;
}

int listen_socket(const union listen_addr *addr, struct err *err)
{
	int fd = socket(addr->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd == STDIN_FILENO) { /* closed before; 0 means none */
		fd = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		close(STDIN_FILENO);
	}
	int rc = fd < 0 ? -errno : bind_socket(fd, addr);
	if (rc == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return say_why(addr, rc, err);
}

int listen_address(int fd, union listen_addr *out, struct err *err)
{
	socklen_t len = sizeof *out;

	memset(out, 0, sizeof *out);
	if (getsockname(fd, &out->any, &len) < 0)
		return err_set(err, errno, "the listening socket: %s", strerror(errno));
	if (out->any.sa_family != AF_INET && out->any.sa_family != AF_INET6)
		return err_set(err, EINVAL, "the listening socket is not a TCP socket");
	return 0;
}

/* The previous process with this socket may have shut it down. */
int listener_open(struct listener *l, int fd, struct err *err)
{
	l->fd = fd;
	l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int rc = l->wake_fd < 0 || listen(fd, BACKLOG) < 0
			 ? err_set(err, errno, "cannot listen: %s", strerror(errno))
			 : listen_address(fd, &l->addr, err);
	if (rc)
		listener_close(l);
	return rc;
}

static void take_one(struct listener *l)
{
	union listen_addr from;
	socklen_t len = sizeof from;
	int one = 1, fd = accept4(l->fd, &from.any, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0) {
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
		l->take(l->ctx, fd, &from.any, len);
	} else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
		poll(NULL, 0, 50); /* the connection stays in the queue until another one ends */
	}
}

static void *take_all(void *ctx)
{
	struct listener *l = ctx;
	struct pollfd fds[] = { { .fd = l->wake_fd, .events = POLLIN },
				{ .fd = l->fd, .events = POLLIN } };
	while (poll(fds, 2, -1) >= 0 || errno == EINTR) {
		if (fds[0].revents)
			break;
		if (fds[1].revents)
			take_one(l);
	}
	return NULL;
}

int listener_start(struct listener *l, struct err *err)
{
	int rc = pthread_create(&l->thread, NULL, take_all, l);
	l->runs = rc == 0;
	return rc ? err_set(err, rc, "cannot start a thread: %s", strerror(rc)) : 0;
}

void listener_close(struct listener *l)
{
	uint64_t one = 1;
	if (l->runs && write(l->wake_fd, &one, sizeof one) == sizeof one)
		pthread_join(l->thread, NULL);
	l->runs = false;
	if (l->fd >= 0)
		close(l->fd);
	if (l->wake_fd >= 0)
		close(l->wake_fd);
	l->fd = l->wake_fd = -1;
}
