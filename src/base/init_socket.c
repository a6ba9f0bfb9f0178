/* Reads LISTEN_PID and LISTEN_FDS. */
#include "base/init_socket.h"

#include "base/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
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
