/* Messages between the supervisor and its processes: small datagrams over a socket pair, with
 * descriptors. */
#include "agent/wire.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control_room {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(sizeof(int))];
};

int control_pair(int fds[2])
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) ? -errno : 0;
}

int control_send(int fd, enum control what, int passed_fd)
{
	union control_room room = { .head = { .cmsg_len = CMSG_LEN(sizeof(int)),
					      .cmsg_level = SOL_SOCKET,
					      .cmsg_type = SCM_RIGHTS } };
	char byte = what;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (passed_fd >= 0) {
		memcpy(CMSG_DATA(&room.head), &passed_fd, sizeof passed_fd);
		msg.msg_control = &room;
		msg.msg_controllen = sizeof room;
	}
	return sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) == 1 ? 0 : -errno;
}

static bool has_fd(enum control what)
{
	return what == CONTROL_STREAM || what == CONTROL_TOKEN;
}

enum control control_receive(int fd, int *passed_fd)
{
	union control_room room;
	char byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &room,
			      .msg_controllen = sizeof room };
	ssize_t n = recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = n == 1 ? CMSG_FIRSTHDR(&msg) : NULL;
	int got = -1;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return CONTROL_NOTHING;
	if (n != 1)
		return CONTROL_GONE;
	if (c && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof got))
		memcpy(&got, CMSG_DATA(c), sizeof got);
	if (!has_fd(byte) || got < 0) {
		if (got >= 0)
			close(got);
		return has_fd(byte) ? CONTROL_NOTHING : (enum control)byte;
	}
	*passed_fd = got;
	return byte;
}
