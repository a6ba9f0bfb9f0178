/* The program's threads at a launch. Everything a call needs is its thread's own: four words of thread-local memory
 * that lie in the thread's static block (so that the first touch does not allocate), and a lane. */
#include "gpu/inject/calls.h"
#include "gpu/inject/launch_probe.h"
#include "gpu/inject/library.h"
#include "gpu/sampler.h"

LAUNCH_PROBE_SEMAPHORE;

enum { TIMED_EVERY = 32 }; /* one of so many calls is timed, and counts for all */

struct caller {
	struct ring_lane *lane;
	uint32_t ring; /* the number of the one that lane is of */
	bool shared;
	uint32_t
		last; /* correlation id of the call before: the driver's call inside the runtime's has the same */
	uint32_t window;
	uint32_t calls;
	void *context; /* of the call before */
	struct launch_sampler sampler;
};
static _Thread_local struct caller caller;

static uint64_t coarse_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* Who attached to the probe takes the stack at it: this is the function that he sees first. */
static __attribute__((noinline)) uint32_t sample(struct caller *me, const struct ring_control *c,
						 uint32_t correlation, uint32_t cbid)
{
	uint32_t per_s = __atomic_load_n(&c->stacks_per_s, __ATOMIC_RELAXED);
	uint32_t weight = launch_sample(&me->sampler, per_s, thread_id(), per_s ? coarse_ns() : 0);

	if (weight) {
		launch_probe(correlation, cbid, weight);
		ring_lane_add(&me->lane->probes, me->shared, 1);
	}
	return weight;
}

static void record_call(struct caller *me, void *ring, uint32_t domain, uint32_t cbid,
			uint32_t correlation)
{
	struct ring_call call = {
		.r = { .type = RING_CALL, .correlation = correlation },
		.tid = thread_id(),
		.cbid = cbid,
		.domain = domain,
	};
	if (launch_semaphore)
		call.weight = sample(me, ring, correlation, cbid);
	ring_write(ring, me->lane, me->shared, &call.r, sizeof call);
	ring_lane_add(&me->lane->calls, me->shared, 1);
}

static bool is_one_of(uint32_t cbid, const uint16_t *calls, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (calls[i] == cbid)
			return true;
	return false;
}

static bool ends_context(uint32_t domain, uint32_t cbid)
{
	if (domain == CUPTI_DOMAIN_DRIVER)
		return is_one_of(cbid, ending_calls_driver, sizeof ending_calls_driver / 2);
	return is_one_of(cbid, ending_calls_runtime, sizeof ending_calls_runtime / 2);
}

static void on_api(uint32_t domain, uint32_t cbid, const struct cupti_call *call)
{
	struct caller *me = &caller;
	void *ring = __atomic_load_n(&library.ring, __ATOMIC_ACQUIRE);
	uint32_t window = __atomic_load_n(&library.window, __ATOMIC_ACQUIRE);

	if (call->site != CUPTI_SITE_ENTER || !ring || !window)
		return;
	if (ends_context(domain, cbid)) {
		session_flush_now(true);
		return;
	}
	if (me->window == window && me->last == call->correlation)
		return;
	if (library.stalls && (me->context != call->context || me->window != window)) {
		me->context = call->context;
		pc_sampling_seen(call->context, call->context_id);
	}
	me->window = window;
	me->last = call->correlation;
	if (me->ring != library.number) {
		me->ring = library.number;
		me->lane = ring_lane_take(ring, RING_LANE_CALL, thread_id(), &me->shared);
	}
	if (++me->calls % TIMED_EVERY) {
		record_call(me, ring, domain, cbid, call->correlation);
		return;
	}
	uint64_t from = monotonic_ns();

	record_call(me, ring, domain, cbid, call->correlation);
	ring_lane_add(&me->lane->busy_ns, me->shared, (monotonic_ns() - from) * TIMED_EVERY);
}

static void on_resource(uint32_t cbid, const struct cupti_resource *r)
{
	const struct cupti_module *m = r->descriptor;

	if (!library.ring || !library.window)
		return;
	if (cbid == CUPTI_RESOURCE_CONTEXT_CREATED)
		pc_sampling_created(r->context);
	else if (cbid == CUPTI_RESOURCE_CONTEXT_GOING)
		pc_sampling_going(r->context);
	else if (cbid == CUPTI_RESOURCE_MODULE_LOADED && m)
		cubins_loaded(m->cubin, m->size);
}

void on_call(void *user, uint32_t domain, uint32_t cbid, const void *data)
{
	(void)user;
	if (domain == CUPTI_DOMAIN_DRIVER || domain == CUPTI_DOMAIN_RUNTIME)
		on_api(domain, cbid, data);
	else if (domain == CUPTI_DOMAIN_RESOURCE)
		on_resource(cbid, data);
	else if (domain == CUPTI_DOMAIN_STATE && cbid == CUPTI_STATE_FATAL) {
		struct ring_control *c = __atomic_load_n(&library.ring, __ATOMIC_ACQUIRE);

		if (c)
			c->error_part = RING_PART_FATAL;
		library.inert = true;
	}
}
