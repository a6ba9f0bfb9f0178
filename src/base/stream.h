/* base/stream.h: messages and descriptors between two Cresset processes, over a socket.
 *
 *     u32 type  u32 length payload … in the machine's byte order; a descriptor travels with the
 *               first byte of its message
 *
 * Nothing here blocks: unwritten bytes stay in `out` until stream_flush is called again. The other
 * side is not trusted: a message longer than max_bytes, a surplus descriptor or a missing one ends
 * the stream with -EPROTO. */
#ifndef CRESSET_BASE_STREAM_H
#define CRESSET_BASE_STREAM_H

#include "base/buf.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STREAM_MAX_FDS = 4 }; /* received and not yet taken */

struct stream_fd {
	size_t at; /* in out: the first byte of its message */
	int fd;
};
struct stream {
	int fd; /* -1: not connected */
	size_t max_bytes;
	struct buf in, out;
	size_t taken, sent;        /* of in and out */
	VEC(struct stream_fd) fds; /* to be sent, by at */
	int got[STREAM_MAX_FDS];
	int n_got;
};

struct stream_message {
	uint32_t type;
	size_t len;
	const void *payload; /* valid until the next call of any function */
	bool with_fd;
};

/* Takes ownership of fd, a stream socket. max_bytes: limit of a received payload. */
void stream_open(struct stream *s, int fd, size_t max_bytes);
/* Closes the socket and clears everything. Fine if not connected. */
void stream_close(struct stream *s);
static inline bool stream_is_open(const struct stream *s)
{
	return s->fd >= 0;
}

/* Queues a message; fd: -1, or a descriptor, which is duplicated. -EMFILE: that failed, and nothing
 * is queued. */
int stream_put(struct stream *s, uint32_t type, const void *payload, size_t len, int fd);
static inline bool stream_has_more(const struct stream *s)
{
	return s->sent < s->out.len;
}
/* Writes as much as the socket accepts. Returns 0, or -errno if the other side is gone. */
int stream_flush(struct stream *s);

/* Reads available data. Returns 1: continue with stream_next; 0: end of the stream; -EAGAIN: no
 * data now; or another -errno. */
int stream_read(struct stream *s);
/* Returns 1 with a message, 0 if none is complete, or -EPROTO. */
int stream_next(struct stream *s, struct stream_message *out);
/* Returns the descriptor of the last message from stream_next, which the caller owns now; -1:
 * none. */
int stream_take_fd(struct stream *s);

#endif
