/* The event loop of the unprivileged process: supervisor control, the collector's stream, and the
 * periodic work of the target. */
#include "agent/batch_receiver.h"

#include "agent/wire.h"
#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

enum { POLL_MS = 1000, HELD_POLL_MS = 50, LAST_POLL_MS = 10 };
/* Time for the last batch of a collector that exits; less when nothing more comes, as from one that
 * cannot exit. */
#define STOP_NS  1500000000ull
#define QUIET_NS 200000000ull

static void take_token(struct ingest_loop *t, int fd)
{
	if (t->ops.token)
		t->ops.token(t->ops.ctx, fd);
	else
		close(fd);
}

static void join(struct ingest_loop *t, int fd)
{
	batch_receiver_connect(&t->keeper, fd);
	if (!t->is_joined && t->ops.joined)
		t->ops.joined(t->ops.ctx);
	t->is_joined = true;
}

static void hear(struct ingest_loop *t)
{
	enum control what;
	int fd;

	while ((what = control_receive(t->control, &fd)) != CONTROL_NOTHING) {
		if (what == CONTROL_STREAM)
			join(t, fd);
		else if (what == CONTROL_TOKEN)
			take_token(t, fd);
		else if (what == CONTROL_STOP || what == CONTROL_GONE)
			t->is_over = true;
		if (what == CONTROL_GONE)
			return;
	}
}

/* Returns true when there is updates about names. */
static bool wait_for_work(struct ingest_loop *t, int timeout_ms)
{
	struct stream *s = &t->keeper.stream;
	struct pollfd fds[] = {
		{ .fd = t->control, .events = POLLIN },
		{ .fd = t->keeper.is_full ? -1 : s->fd,
		  .events = POLLIN | (stream_has_more(s) ? POLLOUT : 0) },
		{ .fd = t->names_fd, .events = POLLIN },
	};

	if (t->keeper.held_until_ns && timeout_ms > HELD_POLL_MS)
		timeout_ms = HELD_POLL_MS;
	poll(fds, 3, timeout_ms);
	if (fds[0].revents)
		hear(t);
	if (fds[2].revents)
		t->ops.names(t->ops.ctx);
	return fds[2].revents != 0;
}

/* -EPIPE: no collector is connected; the supervisor restarts it. */
static int work(struct ingest_loop *t, int timeout_ms, struct err *err)
{
	int rc = wait_for_work(t, timeout_ms) ? batch_receiver_name(&t->keeper, err) : 0;

	if (!rc)
		rc = batch_receiver_run(&t->keeper, err);
	if (rc && rc != -EPIPE)
		return rc;
	return t->ops.tend ? t->ops.tend(t->ops.ctx, err) : 0;
}

static bool has_data(const struct ingest_loop *t)
{
	struct pollfd stream = { .fd = t->keeper.stream.fd, .events = POLLIN };

	return poll(&stream, 1, 0) > 0;
}

/* Receives what is in the socket: the collector had to stop first. */
static int receive_last(struct ingest_loop *t, struct err *err)
{
	uint64_t now_ns = clock_mono_ns(), end_ns = now_ns + STOP_NS, quiet_ns = now_ns + QUIET_NS;
	int rc = 0;

	while (!rc && stream_is_open(&t->keeper.stream) && now_ns < end_ns && now_ns < quiet_ns) {
		if (has_data(t))
			quiet_ns = now_ns + QUIET_NS;
		rc = work(t, LAST_POLL_MS, err);
		now_ns = clock_mono_ns();
	}
	return rc;
}

int ingest_loop_run(struct ingest_loop *t, struct err *err)
{
	int rc = 0;

	control_send(t->control, CONTROL_READY, -1);
	while (!rc && !t->is_over)
		rc = work(t, POLL_MS, err);
	return rc ? rc : receive_last(t, err);
}
