/* Processes with the GPU library but without a ring. They are polled at growing intervals until
 * the ring opens or a deadline passes. */
#include "collect/gpu/gpu_time_state.h"

#include "base/err.h"
#include "base/vec.h"
#include "gpu/ring/ring_look.h"

#include <errno.h>
#include <signal.h>

enum {
	LOOK_FIRST_NS = 2000000,
	LOOK_SLOWEST_NS = 500000000,
	MAX_HOPES = 1024,
};

void gpu_pending_rings_done(struct gpu_pending_rings *h)
{
	vec_done(&h->all);
}

bool gpu_pending_rings_has(const struct gpu_pending_rings *h, uint32_t pid)
{
	for (size_t i = 0; i < h->all.n; i++)
		if (h->all.v[i].pid == pid)
			return true;
	return false;
}

void gpu_pending_rings_add(struct gpu_pending_rings *h, uint32_t pid, uint64_t from_ns)
{
	struct gpu_pending_ring hope = { .pid = pid,
					 .next_ns = from_ns,
					 .pause_ns = LOOK_FIRST_NS,
					 .until_ns = from_ns +
						     GPU_TIME_FOUND_WITHIN_S * 1000000000ull };

	if (h->all.n < MAX_HOPES)
		vec_push(&h->all, hope);
}

/* Returns whether its owner gave it back; the owner may attach it again. */
static bool was_given_back(uint32_t pid, uint64_t now_ns)
{
	struct ring_look look;
	struct err err;

	return ring_look(pid, now_ns, &look, &err) == 0 && look.detached;
}

/* Returns whether the ring may still come. An always-on collector waits for another agent to
 * finish, however long that takes. */
static bool may_come(const struct gpu_pending_rings *h, const struct gpu_pending_ring *hope, int rc,
		     uint64_t now_ns)
{
	bool is_soon = now_ns < hope->until_ns && (rc == -ENOENT || rc == -EPROTO || rc == -EBUSY);

	return (is_soon || hope->is_detached || (rc == -EBUSY && h->is_always)) &&
	       kill(hope->pid, 0) == 0;
}

/* Nothing was missed of a process that is gone. Children that inherit the library's mapping never
 * show a ring. */
static bool is_worth_telling(const struct gpu_pending_rings *h, const struct gpu_pending_ring *hope,
			     int rc)
{
	return kill(hope->pid, 0) == 0 && !(rc == -ENOENT && h->is_always);
}

static uint64_t longer_pause(const struct gpu_pending_rings *h, const struct gpu_pending_ring *hope,
			     int rc)
{
	if (hope->is_detached)
		return GPU_HOPES_DETACHED_NS;
	if (rc == -EBUSY && h->is_always)
		return GPU_HOPES_AGAIN_NS;
	return hope->pause_ns * 2 < LOOK_SLOWEST_NS ? hope->pause_ns * 2 : LOOK_SLOWEST_NS;
}

/* Returns true when there is no reason to poll again. */
static bool try_one(struct gpu_pending_rings *h, struct gpu_pending_ring *hope, uint64_t now_ns)
{
	struct err err = { 0 };
	int rc = h->open(h->ctx, hope->pid, now_ns, &err);

	hope->is_busy = rc == -EBUSY;
	hope->is_detached = rc == -ENOENT && was_given_back(hope->pid, now_ns);
	if (rc && may_come(h, hope, rc, now_ns)) {
		hope->pause_ns = longer_pause(h, hope, rc);
		hope->next_ns = now_ns + hope->pause_ns;
		return false;
	}
	if (rc && is_worth_telling(h, hope, rc))
		h->give_up(h->ctx, hope->pid, err.text);
	return true;
}

void gpu_pending_rings_look(struct gpu_pending_rings *h, uint64_t now_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < h->all.n; i++) {
		struct gpu_pending_ring hope = h->all.v[i];

		if (now_ns < hope.next_ns || !try_one(h, &hope, now_ns))
			h->all.v[kept++] = hope;
	}
	h->all.n = kept;
}

void gpu_pending_rings_drop(struct gpu_pending_rings *h, uint32_t pid)
{
	size_t kept = 0;

	for (size_t i = 0; i < h->all.n; i++)
		if (h->all.v[i].pid != pid)
			h->all.v[kept++] = h->all.v[i];
	h->all.n = kept;
}

uint64_t gpu_pending_rings_next_ns(const struct gpu_pending_rings *h)
{
	uint64_t next_ns = UINT64_MAX;

	for (size_t i = 0; i < h->all.n; i++)
		if (h->all.v[i].next_ns < next_ns)
			next_ns = h->all.v[i].next_ns;
	return next_ns;
}

void gpu_pending_rings_end(struct gpu_pending_rings *h)
{
	for (size_t i = 0; i < h->all.n && !h->is_always; i++)
		if (h->all.v[i].is_busy)
			h->give_up(h->ctx, h->all.v[i].pid, "another agent reads its ring");
		else if (h->all.v[i].is_detached)
			h->give_up(h->ctx, h->all.v[i].pid, "it is detached");
	vec_clear(&h->all);
}
