#include "collect/far_worker.h"

#include "base/mem.h"
#include "base/stream.h"
#include "collect/far_device.h"
#include "collect/far_wire.h"
#include "collect/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { PIECE = 256 << 10 };

static int new_file(void)
{
	int fd = open("/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return fd >= 0 ? fd : memfd_create("cresset-far", MFD_CLOEXEC);
}

static void goes_on(struct stream *s, uint32_t serial)
{
	stream_put(s, FAR_GOES_ON, &serial, sizeof serial, -1);
	stream_flush(s);
}

static bool copy_piece(int from, int to, char *piece, uint64_t at, int64_t *n)
{
	*n = pread(from, piece, PIECE, at);
	return *n >= 0 && pwrite(to, piece, *n, at) == *n;
}

/* -1: it cannot be read, is too large, or grows. */
static int copy_of(struct stream *s, uint32_t serial, int from, uint64_t size)
{
	char *piece = xmalloc(PIECE);
	int to = size <= FAR_MAX_BYTES ? new_file() : -1;
	uint64_t at = 0;
	int64_t n = 1;

	for (; to >= 0 && n > 0 && at < size; at += n) {
		if (!copy_piece(from, to, piece, at, &n)) {
			close(to);
			to = -1;
			break;
		}
		goes_on(s, serial);
	}
	free(piece);
	return to;
}

static void take_open(struct stream *s, const struct stream_message *m)
{
	struct far_open_head h;
	struct stat st;

	if (m->type != FAR_OPEN || m->len < sizeof h)
		return;
	memcpy(&h, m->payload, sizeof h);
	char *path = xstrndup((const char *)m->payload + sizeof h, m->len - sizeof h);
	const struct mapped_file f = {
		.pid = h.pid,
		.start = h.start,
		.end = h.end,
		.pgoff = h.pgoff,
		.path = path,
		.maj = h.maj,
		.min = h.min,
		.ino = h.ino,
		.build_id = h.build_id,
		.build_id_len = h.build_id_len <= BUILD_ID_MAX ? h.build_id_len : 0,
	};
	struct far_file_head head = { .serial = h.serial };
	int fd = mapped_file_open(&f, &st), copy = -1;
	if (fd >= 0) {
		goes_on(s, h.serial);
		head.is_copy = device_is_far(getpid(), major(st.st_dev), minor(st.st_dev));
		copy = head.is_copy ? copy_of(s, h.serial, fd, st.st_size) : dup(fd);
		head.dev = st.st_dev;
		head.ino = st.st_ino;
		head.size = st.st_size;
		head.mtime_ns = st.st_mtim.tv_sec * 1000000000ll + st.st_mtim.tv_nsec;
	}
	stream_put(s, FAR_FILE, &head, sizeof head, copy);
	stream_flush(s);
	if (copy >= 0)
		close(copy);
	if (fd >= 0)
		close(fd); /* which may wait, too */
	free(path);
}

void far_worker_serve(int fd)
{
	struct stream s;
	struct stream_message m;
	int rc = 1;

	stream_open(&s, fd, sizeof(struct far_open_head) + FAR_MAX_PATH);
	while (rc > 0 || rc == -EAGAIN) {
		struct pollfd p = { .fd = fd,
				    .events = POLLIN | (stream_has_more(&s) ? POLLOUT : 0) };

		poll(&p, 1, -1);
		rc = stream_read(&s);
		while (stream_next(&s, &m) > 0)
			take_open(&s, &m);
		if (stream_flush(&s))
			break;
	}
	stream_close(&s);
}
