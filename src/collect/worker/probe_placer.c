#include "collect/worker/probe_placer.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/stream.h"
#include "base/vec.h"
#include "collect/worker/helper.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

struct asked {
	uint32_t serial;
	uint64_t since_ns; /* when it was sent, or when the one before it got its response */
};
struct probe_placer {
	struct helper *helper;
	struct stream worker;
	VEC(struct asked) asked; /* in order */
	VEC(struct probe_done) done;
	uint32_t next_serial;
	struct probe_deaths deaths;
	bool is_lost, is_detached;
};

struct probe_placer *probe_placer_new(struct helper *helper)
{
	struct probe_placer *p = xcalloc(1, sizeof *p);

	p->helper = helper;
	p->worker.fd = -1;
	return p;
}

void probe_placer_free(struct probe_placer *p)
{
	if (!p)
		return;
	if (stream_is_open(&p->worker))
		helper_end(p->helper, HELPER_PROBE, HELPER_LEFT, &p->worker);
	vec_done(&p->asked);
	vec_done(&p->done);
	free(p);
}

/* --- requests --------------------------------------------------------------------------------- */

static void send_program(struct probe_placer *p, uint32_t side, int program)
{
	stream_put(&p->worker, PROBE_PROGRAM, &side, sizeof side, program);
}

static int start_worker(struct probe_placer *p, const struct probe_wish *wish)
{
	int fd = probe_deaths_may_start(&p->deaths, clock_mono_ns())
			 ? helper_start(p->helper, HELPER_PROBE)
			 : -EPIPE;

	if (fd < 0)
		return fd;
	stream_open(&p->worker, fd, sizeof(struct probe_done));
	send_program(p, PROBE_AT_RETURN, wish->return_program);
	send_program(p, PROBE_AT_ENTRY, wish->entry_program);
	return 0;
}

static int send_wish(struct probe_placer *p, const struct probe_wish *wish, uint32_t serial)
{
	const struct probe_place_head h = {
		serial,
		wish->is_multi,
		{ [PROBE_AT_RETURN] = wish->n_returns, [PROBE_AT_ENTRY] = wish->n_entries },
	};
	struct buf b = { 0 };

	buf_add(&b, &h, sizeof h);
	buf_add(&b, wish->returns, wish->n_returns * sizeof *wish->returns);
	buf_add(&b, wish->entries, wish->n_entries * sizeof *wish->entries);
	int rc = stream_put(&p->worker, PROBE_PLACE, b.data, b.len, wish->file);
	buf_done(&b);
	return rc ? rc : stream_flush(&p->worker);
}

int probe_placer_place(struct probe_placer *p, const struct probe_wish *wish, uint32_t *serial)
{
	if (p->is_detached || wish->n_entries > PROBE_MAX_PLACES ||
	    wish->n_returns > PROBE_MAX_PLACES)
		return -EINVAL;
	int rc = stream_is_open(&p->worker) ? 0 : start_worker(p, wish);
	if (rc)
		return rc;
	p->next_serial += 1 + (p->next_serial == UINT32_MAX);
	rc = send_wish(p, wish, p->next_serial);
	if (rc && rc != -EPIPE) /* that is seen when the answer is read */
		return rc;
	*serial = p->next_serial;
	vec_push(&p->asked, ((struct asked){ *serial, clock_mono_ns() }));
	return 0;
}

/* --- answers ---------------------------------------------------------------------------------- */

static void worker_died(struct probe_placer *p)
{
	helper_end(p->helper, HELPER_PROBE, HELPER_DIED, &p->worker);
	probe_deaths_add(&p->deaths, clock_mono_ns());
	p->asked.n = p->done.n = 0;
	p->is_lost = true;
}

static bool take_placed(struct probe_placer *p, const struct stream_message *m)
{
	struct probe_done done;

	if (m->len != sizeof done || !p->asked.n)
		return false;
	memcpy(&done, m->payload, sizeof done);
	if (done.serial != p->asked.v[0].serial)
		return false;
	memmove(p->asked.v, p->asked.v + 1, --p->asked.n * sizeof *p->asked.v);
	if (p->asked.n)
		p->asked.v[0].since_ns = clock_mono_ns();
	vec_push(&p->done, done);
	return true;
}

/* Reads what is there. Returns whether the worker said that everything is detached. */
static bool receive(struct probe_placer *p)
{
	bool is_good = stream_is_open(&p->worker), is_detached = false;
	struct stream_message m;
	int rc = 1;

	if (!is_good)
		return false;
	is_good = stream_flush(&p->worker) == 0;
	while (is_good && rc > 0) {
		rc = stream_read(&p->worker);
		while (is_good && stream_next(&p->worker, &m) > 0) {
			is_detached |= m.type == PROBE_DETACHED;
			is_good = m.type == PROBE_DETACHED || take_placed(p, &m);
		}
	}
	if (!is_good || rc != -EAGAIN)
		worker_died(p);
	return is_detached;
}

bool probe_placer_take(struct probe_placer *p, struct probe_done *out)
{
	receive(p);
	if (!p->done.n)
		return false;
	*out = p->done.v[0];
	memmove(p->done.v, p->done.v + 1, --p->done.n * sizeof *p->done.v);
	return true;
}

bool probe_placer_take_lost(struct probe_placer *p)
{
	bool is_lost = p->is_lost;

	p->is_lost = false;
	return is_lost;
}

/* --- waits ------------------------------------------------------------------------------------ */

uint64_t probe_placer_waits_ns(const struct probe_placer *p)
{
	return p->asked.n ? clock_mono_ns() - p->asked.v[0].since_ns : 0;
}

static void wait_until(struct probe_placer *p, uint64_t end_ns)
{
	uint64_t now_ns = clock_mono_ns(), left_ns = now_ns < end_ns ? end_ns - now_ns : 0;
	struct pollfd fd = { .fd = p->worker.fd,
			     .events = POLLIN | (stream_has_more(&p->worker) ? POLLOUT : 0) };
	struct timespec left = { left_ns / 1000000000, left_ns % 1000000000 };

	ppoll(&fd, 1, &left, NULL);
}

void probe_placer_wait(struct probe_placer *p, uint64_t max_ns)
{
	uint64_t end_ns = clock_mono_ns() + max_ns;

	while (p->asked.n && stream_is_open(&p->worker) && clock_mono_ns() < end_ns) {
		wait_until(p, end_ns);
		receive(p);
	}
}

bool probe_placer_detach(struct probe_placer *p, uint64_t max_ns)
{
	uint64_t end_ns = clock_mono_ns() + max_ns;
	bool is_done = !stream_is_open(&p->worker);

	if (!p->is_detached && !is_done)
		stream_put(&p->worker, PROBE_DETACH, NULL, 0, -1);
	p->is_detached = true;
	for (;;) {
		is_done = is_done || receive(p) || !stream_is_open(&p->worker);
		if (is_done || clock_mono_ns() >= end_ns)
			return is_done;
		wait_until(p, end_ns);
	}
}
