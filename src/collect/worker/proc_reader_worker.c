/* The worker's side: performs one read after the other. */
#include "collect/worker/helper.h"
#include "collect/worker/proc_reader.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/stream.h"
#include "collect/proc/mapped_file.h"
#include "collect/proc/page_state.h"
#include "collect/proc/process_context.h"
#include "collect/proc/process_memory.h"
#include "collect/worker/far_device.h"
#include "gpu/device/agent_name.h"
#include "gpu/ring/ring_find.h"
#include "symbol/lines.h"

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

/* Appends a line if the caller needs it. Returns whether it was appended. */
static bool add_line(struct buf *to, char *line, size_t len)
{
	size_t before = to->len;
	struct proc_map m;

	buf_add(to, line, len);
	buf_add(to, "\n", 1);
	if (proc_map_parse(line, &m) && (m.executable || process_context_is_mapping(m.name)))
		return true;
	to->len = before;
	return false;
}

/* *others: the number of lines that the caller does not need. Returns 1 if there are more lines. */
static int take_lines(int from, struct buf *to, uint64_t *others)
{
	struct lines *lines = xcalloc(1, sizeof *lines);
	char *line;
	size_t len;
	int rc;

	lines->fd = from;
	for (int n = 0; (rc = lines_next(lines, &line, &len, NULL)) > 0; n++) {
		if (n >= PROC_MAPS_MAX_LINES || to->len >= PROC_READER_MAX_MAPS)
			break;
		*others += !add_line(to, line, len);
	}
	free(lines);
	return rc;
}

static int in_memory(const struct buf *b)
{
	int fd = memfd_create("cresset-maps", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (pwrite(fd, b->data, b->len, 0) == (ssize_t)b->len)
		return fd;
	close(fd);
	return -ENOSPC;
}

/* The text goes into a file in memory: it may be megabytes. */
static int read_maps(struct asked *a)
{
	struct buf text = { 0 };
	char path[32];

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/maps", a->ask->pid);
	int from = open(path, O_RDONLY | O_CLOEXEC);
	if (from < 0)
		return -errno;
	int rc = take_lines(from, &text, &a->answer->value);
	a->answer->is_cut = rc > 0;
	a->fd = rc < 0 ? rc : in_memory(&text);
	buf_done(&text);
	close(from);
	return a->fd < 0 ? a->fd : 0;
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
	return device_is_far(a->ask->pid, major(st->st_dev), minor(st->st_dev)) ? -EXDEV : 0;
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

static int read_pages(struct asked *a)
{
	uint64_t addresses[PAGE_STATES_MAX];
	size_t n = page_addresses_parse(a->text, addresses);

	return page_states_read(a->ask->pid, addresses, n, room(a, n));
}

static int (*const kinds[READ_KINDS])(struct asked *a) = {
	[READ_MEMORY] = read_memory,   [READ_MAPS] = read_maps,
	[READ_OPEN] = open_mapping,    [READ_PROGRAM] = open_program,
	[READ_CONTEXT] = read_context, [READ_FIND_CONTEXT] = find_context,
	[READ_AGENT] = agent_fits,     [READ_RING] = find_ring,
	[READ_PAGES] = read_pages,
};

struct worker {
	struct stream stream;
	int schedstat; /* proc(5), /proc/PID/schedstat; -1: this kernel has none */
};

/* Times of this process so far. */
struct spent {
	uint64_t mono_ns, cpu_ns, queued_ns, sleeps;
};

static uint64_t queued_ns(int schedstat)
{
	char text[96];
	ssize_t n = schedstat < 0 ? -1 : pread(schedstat, text, sizeof text - 1, 0);
	unsigned long long cpu_ns, ns;

	text[n > 0 ? n : 0] = '\0';
	return sscanf(text, "%llu %llu", &cpu_ns, &ns) == 2 ? ns : 0;
}

static struct spent spent_so_far(const struct worker *w)
{
	struct rusage u = { 0 };

	getrusage(RUSAGE_SELF, &u);
	return (struct spent){ clock_mono_ns(), clock_thread_ns(), queued_ns(w->schedstat),
			       (uint64_t)u.ru_nvcsw };
}

static void put_spent(const struct worker *w, const struct spent *before, struct read_answer *head)
{
	struct spent now = spent_so_far(w);
	uint64_t mono_ns = now.mono_ns - before->mono_ns,
		 not_asleep_ns = now.cpu_ns - before->cpu_ns + now.queued_ns - before->queued_ns;

	head->cpu_ns = now.cpu_ns - before->cpu_ns;
	head->slept = now.sleeps != before->sleeps;
	if (head->slept && mono_ns > not_asleep_ns)
		head->slept_us = (uint32_t)((mono_ns - not_asleep_ns) / 1000);
}

static void answer(struct worker *w, const struct read_ask *ask, const char *text)
{
	struct read_answer head = { .serial = ask->serial };
	struct asked a = { .ask = ask, .text = text, .answer = &head, .fd = -1 };
	struct spent before = spent_so_far(w);
	struct buf b = { 0 };

	head.rc = ask->kind < READ_KINDS ? kinds[ask->kind](&a) : -EINVAL;
	put_spent(w, &before, &head);
	buf_add(&b, &head, sizeof head);
	buf_add(&b, a.data.data, head.rc ? 0 : a.data.len);
	stream_put(&w->stream, READ_ANSWER, b.data, b.len, head.rc ? -1 : a.fd);
	if (a.fd >= 0)
		close(a.fd); /* may block, too */
	buf_done(&b);
	buf_done(&a.data);
}

static void take_ask(struct worker *w, const struct stream_message *m)
{
	struct read_ask ask;

	if (m->type != READ_ASK || m->len < sizeof ask)
		return;
	memcpy(&ask, m->payload, sizeof ask);
	char *text = xstrndup((const char *)m->payload + sizeof ask, m->len - sizeof ask);
	answer(w, &ask, text);
	free(text);
}

void proc_reader_worker_serve(int fd)
{
	struct worker w = { .schedstat = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC) };
	uint32_t pid = getpid();
	struct stream *s = &w.stream;
	struct stream_message m;
	int rc = 1;

	stream_open(s, fd, sizeof(struct read_ask) + READ_MAX_TEXT);
	stream_put(s, READ_HELLO, &pid, sizeof pid, -1);
	stream_flush(s);
	while (rc > 0 || rc == -EAGAIN) {
		struct pollfd p = { .fd = fd,
				    .events = POLLIN | (stream_has_more(s) ? POLLOUT : 0) };

		poll(&p, 1, -1);
		rc = stream_read(s);
		while (stream_next(s, &m) > 0)
			take_ask(&w, &m);
		if (stream_flush(s))
			break;
	}
	stream_close(s);
	if (w.schedstat >= 0)
		close(w.schedstat);
}
