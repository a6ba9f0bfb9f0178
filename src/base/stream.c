/* Frames messages in both directions, and passes one descriptor with a message by SCM_RIGHTS. */
#include "base/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	READ_BYTES = 64 << 10,
	KEEP_BYTES = 256 << 10, /* larger buffers are freed when they are empty */
	WITH_FD = 1u << 31,     /* flag in a type */
};

struct header {
	uint32_t type, len;
};

void stream_open(struct stream *s, int fd, size_t max_bytes)
{
	*s = (struct stream){ .fd = fd, .max_bytes = max_bytes };
}

void stream_close(struct stream *s)
{
	if (s->fd >= 0)
		close(s->fd);
	for (size_t i = 0; i < s->fds.n; i++)
		close(s->fds.v[i].fd);
	while (s->n_got)
		close(s->got[--s->n_got]);
	buf_done(&s->in);
	buf_done(&s->out);
	vec_done(&s->fds);
	*s = (struct stream){ .fd = -1 };
}

static void give_back(struct buf *b)
{
	if (b->cap > KEEP_BYTES)
		buf_done(b);
	else
		buf_clear(b);
}

/* --- out -------------------------------------------------------------------------------------- */

int stream_put(struct stream *s, uint32_t type, const void *payload, size_t len, int fd)
{
	struct header h = { type | (fd >= 0 ? WITH_FD : 0), len };
	int copy = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;

	if (fd >= 0 && copy < 0)
		return -EMFILE;
	if (copy >= 0)
		vec_push(&s->fds, ((struct stream_fd){ s->out.len, copy }));
	buf_add(&s->out, &h, sizeof h);
	buf_add(&s->out, payload, len);
	return 0;
}

/* Returns the bytes up to the next descriptor, or from it to the one after. */
static size_t piece_bytes(const struct stream *s, bool *with_fd)
{
	size_t end = s->out.len, i = 0;

	*with_fd = s->fds.n && s->fds.v[0].at == s->sent;
	if (*with_fd)
		i = 1;
	if (i < s->fds.n)
		end = s->fds.v[i].at;
	return end - s->sent;
}

static ssize_t send_piece(struct stream *s)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .head = { .cmsg_len = CMSG_LEN(sizeof(int)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS } };
	bool with_fd;
	struct iovec iov = { s->out.data + s->sent, piece_bytes(s, &with_fd) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (with_fd) {
		memcpy(CMSG_DATA(&control.head), &s->fds.v[0].fd, sizeof(int));
		msg.msg_control = &control;
		msg.msg_controllen = sizeof control;
	}
	ssize_t n = sendmsg(s->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n > 0 && with_fd) {
		close(s->fds.v[0].fd);
		memmove(s->fds.v, s->fds.v + 1, --s->fds.n * sizeof *s->fds.v);
	}
	return n;
}

int stream_flush(struct stream *s)
{
	while (stream_has_more(s)) {
		ssize_t n = send_piece(s);

		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		s->sent += n > 0 ? n : 0;
	}
	s->sent = 0;
	give_back(&s->out);
	return 0;
}

/* --- in --------------------------------------------------------------------------------------- */

static int keep_fds(struct stream *s, const struct msghdr *msg)
{
	int rc = msg->msg_flags & MSG_CTRUNC ? -EPROTO : 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR((struct msghdr *)msg, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		for (size_t i = 0; c->cmsg_type == SCM_RIGHTS && i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
			if (s->n_got < STREAM_MAX_FDS) {
				s->got[s->n_got++] = fd;
				continue;
			}
			close(fd);
			rc = -EPROTO;
		}
	}
	return rc;
}

/* Removes consumed bytes, so that the buffer is no larger than a message and a read. */
static void compact(struct stream *s)
{
	size_t left = s->in.len - s->taken;

	if (s->taken && left)
		memmove(s->in.data, s->in.data + s->taken, left);
	s->in.len = left;
	s->taken = 0;
	if (!left)
		give_back(&s->in);
}

int stream_read(struct stream *s)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(STREAM_MAX_FDS * sizeof(int))];
	} control;

	compact(s);
	buf_reserve(&s->in, READ_BYTES);
	struct iovec iov = { s->in.data + s->in.len, READ_BYTES };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof control };
	ssize_t n = recvmsg(s->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	s->in.len += n;
	int rc = keep_fds(s, &msg);
	return rc ? rc : n > 0;
}

int stream_next(struct stream *s, struct stream_message *out)
{
	size_t left = s->in.len - s->taken;
	struct header h;

	if (left < sizeof h)
		return 0;
	memcpy(&h, s->in.data + s->taken, sizeof h);
	bool with_fd = h.type & WITH_FD;
	if (h.len > s->max_bytes || (with_fd && !s->n_got))
		return -EPROTO;
	if (left < sizeof h + h.len)
		return 0;
	*out = (struct stream_message){ .type = h.type & ~WITH_FD,
					.len = h.len,
					.payload = s->in.data + s->taken + sizeof h,
					.with_fd = with_fd };
	s->taken += sizeof h + h.len;
	return 1;
}

int stream_take_fd(struct stream *s)
{
	if (!s->n_got)
		return -1;
	int fd = s->got[0];
	memmove(s->got, s->got + 1, --s->n_got * sizeof *s->got);
	return fd;
}
