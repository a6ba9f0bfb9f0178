/* Sends a datagram to the socket in NOTIFY_SOCKET. */
#include "base/notify.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

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
