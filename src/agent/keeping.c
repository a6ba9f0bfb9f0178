/* The store process. */
#include "agent/control.h"
#include "agent/keeper.h"
#include "agent/up.h"
#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

enum { POLL_MS = 1000 };
/* Of CPU time, and how often: soon again while there is more to do. */
#define MAINTAIN_BUDGET_NS 20000000
#define MAINTAIN_EVERY_NS  10000000000ull
#define MAINTAIN_SOON_NS   1000000000ull
/* For the last batch of a collector that ends, too. */
#define STOP_NS            1500000000ull

struct keeping {
	int control;
	struct store *store;
	struct keeper keeper;
	uint64_t maintain_ns;
	bool is_over;
};

static void hear(struct keeping *k)
{
	enum control what;
	int fd;

	while ((what = control_receive(k->control, &fd)) != CONTROL_NOTHING) {
		if (what == CONTROL_STREAM)
			keeper_connect(&k->keeper, fd);
		else if (what == CONTROL_STOP || what == CONTROL_GONE)
			k->is_over = true;
		if (what == CONTROL_GONE)
			return;
	}
}

static int maintain(struct keeping *k, struct err *err)
{
	uint64_t now_ns = clock_mono_ns();

	if (now_ns < k->maintain_ns)
		return 0;
	int more = store_maintain(k->store, MAINTAIN_BUDGET_NS, err);
	k->maintain_ns = now_ns + (more > 0 ? MAINTAIN_SOON_NS : MAINTAIN_EVERY_NS);
	return more < 0 && more != -ENOSPC ? more : 0; /* who stores says when the disk is full */
}

static void wait_for_work(struct keeping *k, int timeout_ms)
{
	struct stream *s = &k->keeper.stream;
	struct pollfd fds[] = {
		{ .fd = k->control, .events = POLLIN },
		{ .fd = k->keeper.is_full ? -1 : s->fd,
		  .events = POLLIN | (stream_has_more(s) ? POLLOUT : 0) },
	};

	poll(fds, 2, timeout_ms);
	if (fds[0].revents)
		hear(k);
}

/* -EPIPE: there is no collector, which another process sees to. */
static int work(struct keeping *k, int timeout_ms, struct err *err)
{
	wait_for_work(k, timeout_ms);
	int rc = keeper_run(&k->keeper, err);
	return rc && rc != -EPIPE ? rc : maintain(k, err);
}

/* The collector was told first: what it sent last is in the socket. */
static int finish(struct keeping *k, struct err *err)
{
	uint64_t end_ns = clock_mono_ns() + STOP_NS;
	int rc = 0;

	while (!rc && stream_is_open(&k->keeper.stream) && clock_mono_ns() < end_ns)
		rc = work(k, 10, err);
	return rc;
}

static int run(struct keeping *k, struct err *err)
{
	int rc = 0;

	control_send(k->control, CONTROL_READY, -1);
	while (!rc && !k->is_over)
		rc = work(k, POLL_MS, err);
	return rc ? rc : finish(k, err);
}

static int keep(struct keeping *k, const struct up_server *server, struct err *err)
{
	int rc = server->start ? server->start(server->ctx, k->store, err) : 0;

	if (rc)
		return rc;
	keeper_init(&k->keeper, k->store, &(struct name_files_opts){ 0 });
	rc = run(k, err);
	if (server->stop)
		server->stop(server->ctx);
	keeper_done(&k->keeper);
	return rc;
}

int keeping_run(const struct up_opts *opts, int control)
{
	struct keeping k = { .control = control };
	struct err err = { 0 };
	int rc = privileges_drop(opts->uid, opts->gid, &err);

	if (!rc)
		rc = store_open(opts->data_dir, &opts->store, &k.store, &err);
	if (!rc)
		rc = keep(&k, &opts->server, &err);
	if (rc)
		log_error(&err);
	int closed = store_close(k.store, &err);
	if (closed && !rc)
		log_error(&err);
	return rc ? rc : closed;
}
