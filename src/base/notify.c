/* Sends a datagram to the socket in NOTIFY_SOCKET. */
#include "base/notify.h"

#include <stddef.h>
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
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t to_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&to, to_len)) {
		close(fd);
		return -1;
	}
	return fd;
}

void notify_tell(int fd, const char *state)
{
	if (fd >= 0)
		(void)!write(fd, state, strlen(state));
}

void notify_init(const char *state)
{
	int fd = notify_open();

	notify_tell(fd, state);
	if (fd >= 0)
		close(fd);
}
