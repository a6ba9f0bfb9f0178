#include "collect/gpu_hopes.h"

#include "collect/gpu_time.h"
#include "gpu/ring_look.h"

#include <errno.h>
#include <signal.h>

enum {
	LOOK_FIRST_NS = 2000000,
	LOOK_SLOWEST_NS = 500000000,
	MAX_HOPES = 1024,
};

void gpu_hopes_done(struct gpu_hopes *h)
{
	vec_done(&h->all);
}

bool gpu_hopes_has(const struct gpu_hopes *h, uint32_t pid)
{
	for (size_t i = 0; i < h->all.n; i++)
		if (h->all.v[i].pid == pid)
			return true;
	return false;
}

void gpu_hopes_add(struct gpu_hopes *h, uint32_t pid, uint64_t from_ns)
{
	struct gpu_hope hope = { .pid = pid,
				 .next_ns = from_ns,
				 .pause_ns = LOOK_FIRST_NS,
				 .until_ns = from_ns + GPU_TIME_FOUND_WITHIN_S * 1000000000ull };

	if (h->all.n < MAX_HOPES)
		vec_push(&h->all, hope);
}

/* By its owner, who may have it back. */
static bool was_given_back(uint32_t pid, uint64_t now_ns)
{
	struct ring_look look;
	struct err err;

	return ring_look(pid, now_ns, &look, &err) == 0 && look.detached;
}

/* What is always on waits until another agent is done, however long that takes. */
static bool may_come(const struct gpu_hopes *h, const struct gpu_hope *hope, int rc,
		     uint64_t now_ns)
{
	bool is_soon = now_ns < hope->until_ns && (rc == -ENOENT || rc == -EPROTO || rc == -EBUSY);

	return (is_soon || hope->is_detached || (rc == -EBUSY && h->is_always)) &&
	       kill(hope->pid, 0) == 0;
}

/* Of what is gone nothing was missed; children that have the library of their parent mapped never show a ring. */
static bool is_worth_telling(const struct gpu_hopes *h, const struct gpu_hope *hope, int rc)
{
	return kill(hope->pid, 0) == 0 && !(rc == -ENOENT && h->is_always);
}

static uint64_t longer_pause(const struct gpu_hopes *h, const struct gpu_hope *hope, int rc)
{
	if (hope->is_detached)
		return GPU_HOPES_DETACHED_NS;
	if (rc == -EBUSY && h->is_always)
		return GPU_HOPES_AGAIN_NS;
	return hope->pause_ns * 2 < LOOK_SLOWEST_NS ? hope->pause_ns * 2 : LOOK_SLOWEST_NS;
}

/* True when there is nothing more to hope for. */
static bool try_one(struct gpu_hopes *h, struct gpu_hope *hope, uint64_t now_ns)
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

void gpu_hopes_look(struct gpu_hopes *h, uint64_t now_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < h->all.n; i++) {
		struct gpu_hope hope = h->all.v[i];

		if (now_ns < hope.next_ns || !try_one(h, &hope, now_ns))
			h->all.v[kept++] = hope;
	}
	h->all.n = kept;
}

void gpu_hopes_drop(struct gpu_hopes *h, uint32_t pid)
{
	size_t kept = 0;

	for (size_t i = 0; i < h->all.n; i++)
		if (h->all.v[i].pid != pid)
			h->all.v[kept++] = h->all.v[i];
	h->all.n = kept;
}

uint64_t gpu_hopes_next_ns(const struct gpu_hopes *h)
{
	uint64_t next_ns = UINT64_MAX;

	for (size_t i = 0; i < h->all.n; i++)
		if (h->all.v[i].next_ns < next_ns)
			next_ns = h->all.v[i].next_ns;
	return next_ns;
}

void gpu_hopes_end(struct gpu_hopes *h)
{
	for (size_t i = 0; i < h->all.n && !h->is_always; i++)
		if (h->all.v[i].is_busy)
			h->give_up(h->ctx, h->all.v[i].pid, "another agent reads its ring");
		else if (h->all.v[i].is_detached)
			h->give_up(h->ctx, h->all.v[i].pid, "it is detached");
	vec_clear(&h->all);
}
