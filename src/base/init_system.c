/* Reads LISTEN_PID and LISTEN_FDS, and sends datagrams to the socket in NOTIFY_SOCKET. */
#include "base/init_system.h"

#include "base/clock.h"
#include "base/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { FIRST_FD = 3, MAX_FDS = 1024 };

static uint64_t number_in(const char *name)
{
	const char *text = getenv(name);
	uint64_t n;

	return text && parse_u64(text, &n) == 0 ? n : 0;
}

static bool has_option(int fd, int option, int value)
{
	int is;
	socklen_t len = sizeof is;

	return getsockopt(fd, SOL_SOCKET, option, &is, &len) == 0 && is == value;
}

static bool is_listening(int fd)
{
	return has_option(fd, SO_ACCEPTCONN, 1) && has_option(fd, SO_PROTOCOL, IPPROTO_TCP);
}

/* Returns how many descriptors are for this process, and removes the variables. */
static uint64_t take_count(void)
{
	uint64_t pid = number_in("LISTEN_PID"), n = number_in("LISTEN_FDS");

	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	return pid == (uint64_t)getpid() ? n : 0;
}

void init_socket_close(void)
{
	uint64_t n = take_count();

	for (int fd = FIRST_FD; n && fd < FIRST_FD + MAX_FDS; fd++, n--)
		close(fd);
}

int init_socket_take(struct err *err)
{
	uint64_t n = take_count();

	if (!n)
		return 0;
	if (n > 1)
		return err_set(err, EINVAL, "the init system passes more than one socket");
	if (!is_listening(FIRST_FD))
		return err_set(err, EINVAL,
			       "the init system passes something other than a listening TCP "
			       "socket");
	int flags = fcntl(FIRST_FD, F_GETFL);
	if (fcntl(FIRST_FD, F_SETFD, FD_CLOEXEC) || flags < 0 ||
	    fcntl(FIRST_FD, F_SETFL, flags | O_NONBLOCK))
		return err_set(err, errno, "the socket that the init system passes: %s",
			       strerror(errno));
	return FIRST_FD;
}

int notify_open(void)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t len = path ? strlen(path) : 0;

	if (len < 2 || len >= sizeof to.sun_path || (*path != '/' && *path != '@'))
		return -1;
	memcpy(to.sun_path, path, len);
	if (*path == '@')
		to.sun_path[0] = '\0'; /* abstract socket */
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t to_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&to, to_len)) {
		close(fd);
		return -1;
	}
	return fd;
}

int notify_tell(int fd, const char *state)
{
	uint64_t end_ns = clock_mono_ns() + NOTIFY_WAIT_MS * 1000000ull, now_ns;
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	while (fd >= 0 && write(fd, state, strlen(state)) < 0 && errno == EAGAIN) {
		now_ns = clock_mono_ns();
		if (now_ns >= end_ns)
			return -EAGAIN;
		poll(&p, 1, (int)((end_ns - now_ns) / 1000000) + 1);
	}
	return 0;
}

int notify_init(const char *state)
{
	int fd = notify_open(), rc = notify_tell(fd, state);

	if (fd >= 0)
		close(fd);
	return rc;
}
