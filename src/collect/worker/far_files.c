/* Requests copies from the worker, and answers from the ones that are complete. */
#include "collect/worker/far_files.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/cpu_budget.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/stream.h"
#include "base/vec.h"
#include "collect/proc/mapped_file.h"
#include "collect/worker/helper.h"
#include "collect/worker/left_alone.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_ASKED = 256, FAR_DEATHS = 3 };

struct asked {
	struct far_open_head head;
	char *path;
};
struct far_files {
	struct helper *helper;
	struct stream worker;
	VEC(struct asked) asked;   /* in order */
	VEC(struct far_file) done; /* taken up to n_taken */
	size_t n_taken;
	uint32_t next_serial;
	uint64_t progress_ns;   /* last message, or first request */
	struct left_alone left; /* devices */
	struct map deaths;      /* of workers, by device of the file that they read */
	struct allowance waits;
};

struct far_files *far_files_new(struct helper *helper)
{
	struct far_files *f = xcalloc(1, sizeof *f);

	f->helper = helper;
	f->worker.fd = -1;
	f->waits = (struct allowance){ .share = 100, .most_ns = 200000000 };
	return f;
}

void far_files_free(struct far_files *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->asked.n; i++)
		free(f->asked.v[i].path);
	for (size_t i = f->n_taken; i < f->done.n; i++)
		if (f->done.v[i].fd >= 0)
			close(f->done.v[i].fd);
	vec_done(&f->asked);
	vec_done(&f->done);
	left_alone_done(&f->left);
	map_done(&f->deaths);
	stream_close(&f->worker);
	free(f);
}

/* --- requests --------------------------------------------------------------------------------- */

static uint64_t device_key(const struct far_open_head *h)
{
	return (uint64_t)h->maj << 32 | h->min;
}

static bool is_left_alone(struct far_files *f, const struct far_open_head *h)
{
	return left_alone_has(&f->left, device_key(h), clock_mono_ns(), false);
}

static bool has_worker(struct far_files *f)
{
	int fd = stream_is_open(&f->worker) ? -1 : helper_start(f->helper, HELPER_FAR);

	if (fd >= 0)
		stream_open(&f->worker, fd, sizeof(struct far_file_head));
	return stream_is_open(&f->worker);
}

static void send_ask(struct far_files *f, const struct asked *a)
{
	struct buf b = { 0 };

	buf_add(&b, &a->head, sizeof a->head);
	buf_add(&b, a->path, strlen(a->path));
	stream_put(&f->worker, FAR_OPEN, b.data, b.len, -1);
	stream_flush(&f->worker);
	buf_done(&b);
}

uint32_t far_files_ask(struct far_files *f, const struct mapped_file *file)
{
	struct asked a = { .head = { .pid = file->pid,
				     .maj = file->maj,
				     .min = file->min,
				     .ino = file->ino,
				     .start = file->start,
				     .end = file->end,
				     .pgoff = file->pgoff,
				     .build_id_len = file->build_id_len } };

	if (file->build_id_len)
		memcpy(a.head.build_id, file->build_id, file->build_id_len);
	if (f->asked.n >= MAX_ASKED || is_left_alone(f, &a.head) || !has_worker(f))
		return 0;
	if (!f->asked.n)
		f->progress_ns = clock_mono_ns();
	f->next_serial += 1 + (f->next_serial == UINT32_MAX);
	a.head.serial = f->next_serial;
	a.path = xstrndup(file->path, FAR_MAX_PATH);
	vec_push(&f->asked, a);
	send_ask(f, &a);
	return a.head.serial;
}

/* --- responses -------------------------------------------------------------------------------- */

static void drop_asked(struct far_files *f, size_t i)
{
	free(f->asked.v[i].path);
	memmove(f->asked.v + i, f->asked.v + i + 1, (--f->asked.n - i) * sizeof *f->asked.v);
}

static void fail(struct far_files *f, size_t i)
{
	vec_push(&f->done, (struct far_file){ .serial = f->asked.v[i].head.serial, .fd = -1 });
	drop_asked(f, i);
}

static bool take_file(struct far_files *f, const struct stream_message *m)
{
	struct far_file_head h;
	struct far_file file = { .fd = m->with_fd ? stream_take_fd(&f->worker) : -1 };

	if (m->len != sizeof h || !f->asked.n)
		return false;
	memcpy(&h, m->payload, sizeof h);
	if (h.serial != f->asked.v[0].head.serial)
		return false;
	file.serial = h.serial;
	file.is_copy = h.is_copy;
	file.st.st_dev = h.dev;
	file.st.st_ino = h.ino;
	file.st.st_size = h.size;
	file.st.st_mtim = (struct timespec){ h.mtime_ns / 1000000000, h.mtime_ns % 1000000000 };
	vec_push(&f->done, file);
	drop_asked(f, 0);
	return true;
}

/* Whether the device must be left alone: it has blocked the worker, or workers have died over its
 * files more than once. */
static bool is_to_blame(struct far_files *f, uint64_t device, enum helper_end how)
{
	const uint32_t *deaths = map_get(&f->deaths, device);
	uint32_t n = (deaths ? *deaths : 0) + 1;

	if (how == HELPER_STUCK)
		return true;
	map_put(&f->deaths, device, n);
	return n >= FAR_DEATHS;
}

/* Leaves alone the device that ended the worker, and starts another worker for the rest. */
static void begin_again(struct far_files *f, enum helper_end how)
{
	uint64_t device = f->asked.n ? device_key(&f->asked.v[0].head) : 0;

	helper_end(f->helper, HELPER_FAR, how, &f->worker);
	if (f->asked.n && is_to_blame(f, device, how))
		left_alone_add(&f->left, device, clock_mono_ns(), FAR_LEFT_ALONE_NS);
	for (size_t i = 0; i < f->asked.n;) {
		if (is_left_alone(f, &f->asked.v[i].head) || !has_worker(f))
			fail(f, i);
		else
			send_ask(f, &f->asked.v[i++]);
	}
	f->progress_ns = clock_mono_ns();
}

static void run(struct far_files *f)
{
	struct stream_message m;
	bool is_good = true;
	int rc;

	if (!stream_is_open(&f->worker))
		return;
	do {
		rc = stream_read(&f->worker);
		while (is_good && stream_next(&f->worker, &m) > 0) {
			f->progress_ns = clock_mono_ns();
			is_good = m.type == FAR_GOES_ON || take_file(f, &m);
		}
	} while (rc > 0 && is_good);
	is_good = is_good && rc == -EAGAIN && stream_flush(&f->worker) == 0;
	if (!is_good)
		begin_again(f, HELPER_DIED);
	else if (f->asked.n && clock_mono_ns() > f->progress_ns + FAR_STALL_NS)
		begin_again(f, HELPER_STUCK);
}

bool far_files_take(struct far_files *f, struct far_file *out)
{
	if (f->n_taken == f->done.n) {
		vec_clear(&f->done);
		f->n_taken = 0;
		run(f);
	}
	if (f->n_taken == f->done.n)
		return false;
	*out = f->done.v[f->n_taken++];
	return true;
}

void far_files_wait(struct far_files *f, uint32_t wait_ms)
{
	uint64_t begin_ns = clock_mono_ns();
	struct pollfd p = { .fd = f->worker.fd, .events = POLLIN };

	if (!f->asked.n || allowance_left(&f->waits, begin_ns) < (int64_t)wait_ms * 1000000)
		return;
	for (uint64_t now_ns = begin_ns; f->asked.n && now_ns < begin_ns + wait_ms * 1000000ull;
	     now_ns = clock_mono_ns()) {
		poll(&p, 1, wait_ms);
		run(f);
		p.fd = f->worker.fd;
	}
	allowance_spend(&f->waits, clock_mono_ns() - begin_ns);
}
