/* base/stream.h: messages and descriptors between two processes of ours, over a socket of theirs.
 *
 *     u32 type  u32 length  payload …          in the machine's byte order; a descriptor travels with the first byte of its message
 *
 * Nothing here waits: what cannot be written stays in `out` until stream_flush is called again. What the other side sends is not believed:
 * a message longer than max_bytes, a descriptor too many, or one that is missing, ends the stream with -EPROTO. */
#ifndef CRESSET_BASE_STREAM_H
#define CRESSET_BASE_STREAM_H

#include "base/buf.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STREAM_MAX_FDS = 4 }; /* received and not yet asked for */

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
	const void *payload; /* until the next call of anything */
	bool with_fd;
};

/* Takes over fd, a stream socket; max_bytes: of a payload that is received. */
void stream_open(struct stream *s, int fd, size_t max_bytes);
/* Closes and forgets everything. Fine for one that is not connected. */
void stream_close(struct stream *s);
static inline bool stream_is_open(const struct stream *s)
{
	return s->fd >= 0;
}

/* Queues a message; fd: -1, or a descriptor, which is copied. -EMFILE: it cannot be, and nothing is queued. */
int stream_put(struct stream *s, uint32_t type, const void *payload, size_t len, int fd);
static inline bool stream_has_more(const struct stream *s)
{
	return s->sent < s->out.len;
}
/* Writes what the socket takes. 0, or -errno: the other side is gone. */
int stream_flush(struct stream *s);

/* Reads what is there. 1: go on with stream_next; 0: nothing more will come; -EAGAIN: nothing now; or another -errno. */
int stream_read(struct stream *s);
/* 1: a message; 0: none is complete; -EPROTO. */
int stream_next(struct stream *s, struct stream_message *out);
/* The descriptor of the message that stream_next gave last, which is the caller's now; -1: none. */
int stream_take_fd(struct stream *s);

#endif
