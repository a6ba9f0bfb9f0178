/* The process that attaches probes (collect/worker/probe_placer.h). */
#include "base/clock.h"
#include "base/mem.h"
#include "base/stream.h"
#include "base/vec.h"
#include "collect/worker/helper.h"
#include "collect/worker/probe_placer.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

struct probe_worker {
	struct stream stream;
	int programs[PROBE_SIDES]; /* -1: not known yet */
	VEC(int) links;
};

/* Detaches what is beyond the first n links. */
static void detach_from(struct probe_worker *w, size_t n)
{
	while (w->links.n > n)
		close(w->links.v[--w->links.n]);
}

static int keep(struct probe_worker *w, int link)
{
	if (link >= 0)
		vec_push(&w->links, link);
	return link < 0 ? link : 0;
}

static int place_side(struct probe_worker *w, int file, bool is_multi, enum probe_side side,
		      const struct probe_place *places, uint32_t n)
{
	bool at_return = side == PROBE_AT_RETURN;
	int program = w->programs[side], rc = 0;

	if (is_multi)
		return n ? keep(w, probe_link_multi(program, file, places, n, at_return)) : 0;
	for (uint32_t i = 0; i < n && !rc; i++)
		rc = keep(w, probe_link_one(program, file, &places[i], at_return));
	return rc;
}

/* Attaches probes of returns first, so that no call is seen whose return cannot be. */
static int place(struct probe_worker *w, const struct probe_place_head *h,
		 const struct probe_place *places, int file)
{
	size_t before = w->links.n;
	int rc = 0;

	for (int side = 0; side < PROBE_SIDES && !rc; side++) {
		rc = place_side(w, file, h->is_multi, side, places, h->n[side]);
		places += h->n[side];
	}
	if (rc)
		detach_from(w, before);
	return rc;
}

static void take_place(struct probe_worker *w, const struct stream_message *m, int file)
{
	struct probe_place_head h;

	if (m->len < sizeof h)
		return;
	memcpy(&h, m->payload, sizeof h);
	size_t bytes = ((size_t)h.n[0] + h.n[1]) * sizeof(struct probe_place);
	struct probe_done done = { .serial = h.serial, .rc = -EINVAL };

	if (m->len == sizeof h + bytes) {
		struct probe_place *places = xmalloc(bytes + 1);
		uint64_t begin_ns = clock_mono_ns();

		memcpy(places, (const char *)m->payload + sizeof h, bytes);
		done.rc = place(w, &h, places, file);
		done.took_ns = clock_mono_ns() - begin_ns;
		free(places);
	}
	stream_put(&w->stream, PROBE_PLACED, &done, sizeof done, -1);
}

static void take_program(struct probe_worker *w, const struct stream_message *m, int fd)
{
	uint32_t side;

	if (m->len != sizeof side)
		return;
	memcpy(&side, m->payload, sizeof side);
	if (side < PROBE_SIDES)
		w->programs[side] = dup(fd);
}

static void take_message(struct probe_worker *w, const struct stream_message *m)
{
	int fd = m->with_fd ? stream_take_fd(&w->stream) : -1;

	if (m->type == PROBE_PROGRAM)
		take_program(w, m, fd);
	else if (m->type == PROBE_PLACE)
		take_place(w, m, fd);
	if (fd >= 0)
		close(fd);
	if (m->type != PROBE_DETACH)
		return;
	detach_from(w, 0);
	stream_put(&w->stream, PROBE_DETACHED, NULL, 0, -1);
}

void probe_worker_serve(int fd)
{
	struct probe_worker w = { .programs = { -1, -1 } };
	struct stream_message m;
	int rc = 1;

	stream_open(&w.stream, fd,
		    sizeof(struct probe_place_head) +
			    2 * PROBE_MAX_PLACES * sizeof(struct probe_place));
	while (rc > 0 || rc == -EAGAIN) {
		struct pollfd p = { .fd = fd,
				    .events = POLLIN | (stream_has_more(&w.stream) ? POLLOUT : 0) };

		poll(&p, 1, -1);
		rc = stream_read(&w.stream);
		while (stream_next(&w.stream, &m) > 0) {
			take_message(&w, &m);
			stream_flush(&w.stream);
		}
		if (stream_flush(&w.stream))
			break;
	}
	stream_close(&w.stream);
}
