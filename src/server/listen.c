/* Opens the socket, finds the holder of a taken port, and accepts connections. */
#include "server/listen.h"

#include "base/err.h"
#include "base/parse.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
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

/* --- the holder of a port --------------------------------------------------------------------- */

enum {
	PORT_HOLDER_WORDS = 96,
	LINE_MOST = 512,
	LINES_MOST = 1 << 20, /* limit: lines read of a table; a holder beyond has no name */
	USER_NAME_BYTES = 51, /* of a name that is shown */
};

/* A line of a table. */
struct line {
	uint32_t address[4];
	unsigned n_words, port, state, uid;
	unsigned long inode;
};

/* An address is in words of 32 bits, in the byte order of this machine. */
static bool read_address(const char *text, struct line *l)
{
	size_t len = strlen(text);

	l->n_words = (unsigned)(len / 8);
	if (len != 8 && len != 32)
		return false;
	for (unsigned i = 0; i < l->n_words; i++)
		if (sscanf(text + 8 * i, "%8x", &l->address[i]) != 1)
			return false;
	return true;
}

static bool read_line(const char *text, struct line *l)
{
	char address[33];

	return sscanf(text,
		      " %*u: %32[0-9A-F]:%4x %*[0-9A-F]:%*x %2x %*x:%*x %*x:%*x %*x %u %*u %lu",
		      address, &l->port, &l->state, &l->uid, &l->inode) == 5 &&
	       read_address(address, l);
}

static bool is_any(const uint32_t *address, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (address[i])
			return false;
	return true;
}

static void split_address(const struct sockaddr *a, uint32_t address[4], unsigned *n,
			  unsigned *port)
{
	const struct sockaddr_in *v4 = (const void *)a;
	const struct sockaddr_in6 *v6 = (const void *)a;
	bool is_v4 = a->sa_family == AF_INET;

	*n = is_v4 ? 1 : 4;
	*port = ntohs(is_v4 ? v4->sin_port : v6->sin6_port);
	memset(address, 0, 4 * sizeof *address);
	if (is_v4)
		address[0] = v4->sin_addr.s_addr;
	else
		memcpy(address, &v6->sin6_addr, sizeof v6->sin6_addr);
}

/* Addresses of different kinds meet only where one of them is all addresses. Sockets that no
 * process has open are listed as root's. */
static bool is_in_the_way(const struct line *l, const struct sockaddr *a)
{
	uint32_t address[4];
	unsigned n, port;

	split_address(a, address, &n, &port);
	return l->port == port && l->inode &&
	       (is_any(l->address, l->n_words) || is_any(address, n) ||
		(l->n_words == n && memcmp(l->address, address, n * sizeof *address) == 0));
}

/* One that listens counts more than one that is connected. */
static void look(const char *table, const struct sockaddr *addr, struct line *best)
{
	FILE *f = fopen(table, "re");
	char text[LINE_MOST];
	struct line l;

	for (int i = 0; f && i < LINES_MOST && fgets(text, sizeof text, f); i++)
		if (read_line(text, &l) && is_in_the_way(&l, addr) &&
		    (!best->inode || (best->state != TCP_LISTEN && l.state == TCP_LISTEN)))
			*best = l;
	if (f)
		fclose(f);
}

/* Of the file alone: a name service may not respond, and the supervisor of up must not wait. */
static bool name_of(uid_t uid, char name[USER_NAME_BYTES])
{
	FILE *f = fopen("/etc/passwd", "re");
	const struct passwd *user = NULL;

	for (int i = 0; f && i < LINES_MOST && (user = fgetpwent(f)) && user->pw_uid != uid; i++)
		;
	bool is_known = user && user->pw_uid == uid;
	if (is_known)
		snprintf(name, USER_NAME_BYTES, "%s", user->pw_name);
	if (f)
		fclose(f);
	return is_known;
}

/* The user of the process that has a TCP port of this machine. Looks in /proc/net/tcp and tcp6
 * (proc(5)) for a socket that prevents a bind of addr, an address of AF_INET or AF_INET6. Writes "a
 * process of user alice" or, if none is found, "another program" to words, and returns them. */
static const char *port_holder(const struct sockaddr *addr, char words[PORT_HOLDER_WORDS])
{
	struct line best = { 0 };
	char name[USER_NAME_BYTES];

	look("/proc/net/tcp", addr, &best);
	look("/proc/net/tcp6", addr, &best);
	if (!best.inode)
		snprintf(words, PORT_HOLDER_WORDS, "another program");
	else if (name_of(best.uid, name))
		snprintf(words, PORT_HOLDER_WORDS, "a process of user %s", name);
	else
		snprintf(words, PORT_HOLDER_WORDS, "a process of user %u", best.uid);
	return words;
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
