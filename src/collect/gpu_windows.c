#include "collect/gpu_windows.h"

void gpu_windows_init(struct gpu_windows *w, double budget, uint32_t seed,
		      const struct ring_state_now *before, uint64_t now_ns)
{
	*w = (struct gpu_windows){ 0 };
	window_init(&w->governor, budget, seed, now_ns);
	w->governor.spent = (struct window_cost){ before->busy_ns, before->helper_ns,
						  before->overhead_ns, before->probes };
	w->at_ns = window_plan(&w->governor, now_ns, &w->until_ns);
}

static uint64_t between(uint64_t ns, uint64_t from_ns, uint64_t to_ns)
{
	return ns < from_ns ? from_ns : ns < to_ns ? ns : to_ns;
}

/* The one that was asked for is over, or never was. */
static void end(struct gpu_windows *w, const struct ring_state_now *now, uint64_t now_ns)
{
	const struct window_cost spent = { now->busy_ns, now->helper_ns,
					   now->overhead_ns + w->reading_ns, now->probes };
	uint64_t closed_ns = between(now->closed_ns, w->asked_ns, now_ns);
	uint64_t opened_ns = between(now->opened_ns, w->asked_ns, closed_ns);

	if (!now->error_part)
		window_done(&w->governor, opened_ns, closed_ns, &spent);
	w->is_given_up |= now->state == RING_INERT || now->error_part == RING_PART_STAYS_ON;
	w->at_ns =
		window_plan(&w->governor, now->error_part ? now_ns + GPU_WINDOWS_AGAIN_NS : now_ns,
			    &w->until_ns);
	w->asked_ns = 0;
}

static void ask(struct gpu_windows *w, struct ring_reader *ring, uint32_t want,
		uint32_t stacks_per_s, uint64_t now_ns)
{
	struct err err = { 0 };

	if (ring_again(ring, now_ns, &err)) { /* somebody records it */
		w->at_ns = window_plan(&w->governor, now_ns + GPU_WINDOWS_AGAIN_NS, &w->until_ns);
		return;
	}
	w->until_ns += now_ns - w->at_ns; /* this is late, the window as long */
	w->at_ns = w->asked_ns = now_ns;
	ring_window(ring, want | RING_WANT_OFF_AFTER, stacks_per_s, now_ns, w->until_ns);
}

void gpu_windows_run(struct gpu_windows *w, struct ring_reader *ring,
		     const struct ring_state_now *now, uint32_t want, uint32_t stacks_per_s,
		     uint64_t now_ns)
{
	bool is_answered = now->generation_seen == now->generation_asked;

	if (w->asked_ns &&
	    (is_answered || now_ns > w->until_ns + GPU_WINDOWS_LATE_S * 1000000000ull)) {
		end(w, now, now_ns);
		ring_rest(ring);
	}
	if (!w->asked_ns && !w->is_given_up && now_ns >= w->at_ns)
		ask(w, ring, want, stacks_per_s, now_ns);
}
