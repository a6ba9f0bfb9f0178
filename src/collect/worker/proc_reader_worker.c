/* The worker's side: performs one read after the other. */
#include "collect/worker/proc_reader.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/stream.h"
#include "collect/proc/mapped_file.h"
#include "collect/proc/process_context.h"
#include "collect/proc/process_memory.h"
#include "collect/worker/far_device.h"
#include "gpu/device/agent_name.h"
#include "gpu/ring/ring_find.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { PIECE = 64 << 10 };

struct asked {
	const struct read_ask *ask;
	const char *text;
	struct read_answer *answer;
	struct buf data;
	int fd; /* -1: none */
};

/* Returns space for a response of that length. */
static void *room(struct asked *a, size_t len)
{
	buf_reserve(&a->data, len);
	a->data.len = len;
	return a->data.data;
}

static int read_memory(struct asked *a)
{
	uint32_t len = a->ask->len;

	if (len > READ_MAX_DATA)
		return -EINVAL;
	return process_memory_read(a->ask->pid, a->ask->addr, room(a, len), len);
}

static int copy_all(int from, int to)
{
	char *piece = xmalloc(PIECE);
	ssize_t n = 0;
	int rc = 0;

	while (!rc && (n = read(from, piece, PIECE)) > 0)
		if (write(to, piece, n) != n)
			rc = -ENOSPC;
	free(piece);
	return n < 0 ? -errno : rc;
}

/* The text goes into a file in memory: it may be megabytes. */
static int read_maps(struct asked *a)
{
	char path[32];

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/maps", a->ask->pid);
	int from = open(path, O_RDONLY | O_CLOEXEC);
	if (from < 0)
		return -errno;
	a->fd = memfd_create("cresset-maps", MFD_CLOEXEC);
	int rc = a->fd < 0 ? -errno : copy_all(from, a->fd);
	if (!rc && lseek(a->fd, 0, SEEK_SET))
		rc = -errno;
	close(from);
	return rc;
}

/* Answers with a file that the caller can read without waiting. */
static int give_file(struct asked *a, int fd, const struct stat *st)
{
	struct read_answer *answer = a->answer;

	if (fd < 0)
		return fd;
	a->fd = fd;
	answer->dev = st->st_dev;
	answer->ino = st->st_ino;
	answer->size = st->st_size;
	answer->mtime_ns = st->st_mtim.tv_sec * 1000000000ll + st->st_mtim.tv_nsec;
	answer->mode = st->st_mode;
	answer->uid = st->st_uid;
	return device_is_far(getpid(), major(st->st_dev), minor(st->st_dev)) ? -EXDEV : 0;
}

static int open_mapping(struct asked *a)
{
	const struct read_ask *k = a->ask;
	struct stat st;
	const struct mapped_file f = {
		.pid = k->pid,
		.start = k->start,
		.end = k->end,
		.pgoff = k->pgoff,
		.path = a->text,
		.build_id = k->build_id,
		.build_id_len = k->build_id_len <= BUILD_ID_MAX ? k->build_id_len : 0,
		.maj = k->maj,
		.min = k->min,
		.ino = k->ino,
	};

	return give_file(a, mapped_file_open_mapping(&f, &st), &st);
}

static int open_program(struct asked *a)
{
	struct stat st;
	char path[32];

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/exe", a->ask->pid);
	return give_file(a, plain_file_open(path, &st), &st);
}

static int read_context(struct asked *a)
{
	return process_context_read(a->ask->pid, a->ask->addr,
				    room(a, sizeof(struct process_context)));
}

static int find_context(struct asked *a)
{
	a->answer->value = process_context_find(a->ask->pid);
	return 0;
}

static int agent_fits(struct asked *a)
{
	return agent_name_fits((pid_t)a->ask->pid);
}

static int take_nth(void *ctx, int fd, struct err *err)
{
	struct asked *a = ctx;

	if (a->answer->value++ < a->ask->addr)
		return err_set(err, ENOENT, "another one");
	a->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return a->fd < 0 ? -errno : 0;
}

static int find_ring(struct asked *a)
{
	return ring_find((pid_t)a->ask->pid, a->text, (int)a->ask->len, take_nth, a, NULL);
}

static int (*const kinds[READ_KINDS])(struct asked *a) = {
	[READ_MEMORY] = read_memory,   [READ_MAPS] = read_maps,
	[READ_OPEN] = open_mapping,    [READ_PROGRAM] = open_program,
	[READ_CONTEXT] = read_context, [READ_FIND_CONTEXT] = find_context,
	[READ_AGENT] = agent_fits,     [READ_RING] = find_ring,
};

static uint64_t count_sleeps(void)
{
	struct rusage u;

	return getrusage(RUSAGE_SELF, &u) ? 0 : (uint64_t)u.ru_nvcsw;
}

static void answer(struct stream *s, const struct read_ask *ask, const char *text)
{
	struct read_answer head = { .serial = ask->serial };
	struct asked a = { .ask = ask, .text = text, .answer = &head, .fd = -1 };
	uint64_t begin_ns = clock_thread_ns(), sleeps = count_sleeps();
	struct buf b = { 0 };

	head.rc = ask->kind < READ_KINDS ? kinds[ask->kind](&a) : -EINVAL;
	head.cpu_ns = clock_thread_ns() - begin_ns;
	head.slept = count_sleeps() != sleeps;
	buf_add(&b, &head, sizeof head);
	buf_add(&b, a.data.data, head.rc ? 0 : a.data.len);
	stream_put(s, READ_ANSWER, b.data, b.len, head.rc ? -1 : a.fd);
	if (a.fd >= 0)
		close(a.fd); /* may block, too */
	buf_done(&b);
	buf_done(&a.data);
}

static void take_ask(struct stream *s, const struct stream_message *m)
{
	struct read_ask ask;

	if (m->type != READ_ASK || m->len < sizeof ask)
		return;
	memcpy(&ask, m->payload, sizeof ask);
	char *text = xstrndup((const char *)m->payload + sizeof ask, m->len - sizeof ask);
	answer(s, &ask, text);
	free(text);
}

void proc_reader_worker_serve(int fd)
{
	uint32_t pid = getpid();
	struct stream s;
	struct stream_message m;
	int rc = 1;

	stream_open(&s, fd, sizeof(struct read_ask) + READ_MAX_TEXT);
	stream_put(&s, READ_HELLO, &pid, sizeof pid, -1);
	stream_flush(&s);
	while (rc > 0 || rc == -EAGAIN) {
		struct pollfd p = { .fd = fd,
				    .events = POLLIN | (stream_has_more(&s) ? POLLOUT : 0) };

		poll(&p, 1, -1);
		rc = stream_read(&s);
		while (stream_next(&s, &m) > 0)
			take_ask(&s, &m);
		if (stream_flush(&s))
			break;
	}
	stream_close(&s);
}
