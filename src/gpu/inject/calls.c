/* Launches in the program's threads. A call only needs memory of its own thread: a few words of
 * thread-local memory in the thread's static block (so that the first access does not allocate),
 * and a lane. */
#include "gpu/inject/cupti_abi.h"
#include "gpu/inject/library.h"
#include "gpu/ring/sampler.h"

#include <stdint.h>

/* --- the probe -------------------------------------------------------------------------------- */

/* The statically defined probe cresset:launch(correlation, cbid, weight), in the format of
 * SystemTap's <sys/sdt.h> (https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation): a
 * note with the places of the probe, its semaphore and its arguments. The instruction is a nop of
 * five bytes, not one: kernels from 6.18 on then replace it by a call instead of a trap. */

/* Not 0 while a probe is attached. */
extern volatile uint16_t launch_semaphore __attribute__((visibility("hidden")));
__extension__ volatile uint16_t launch_semaphore __attribute__((section(".probes"), used));

#if defined(__x86_64__)
#define LAUNCH_PROBE_NOP  ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00"
#define LAUNCH_PROBE_ARGS "4@%%edi 4@%%esi 4@%%edx"
#define LAUNCH_PROBE_REGS(a, b, c) \
	register uint32_t a_ __asm__("edi") = (a), b_ __asm__("esi") = (b), c_ __asm__("edx") = (c)
#elif defined(__aarch64__)
#define LAUNCH_PROBE_NOP  "nop"
#define LAUNCH_PROBE_ARGS "4@x0 4@x1 4@x2"
#define LAUNCH_PROBE_REGS(a, b, c) \
	register uint32_t a_ __asm__("w0") = (a), b_ __asm__("w1") = (b), c_ __asm__("w2") = (c)
#endif

static inline void launch_probe(uint32_t correlation, uint32_t cbid, uint32_t weight)
{
	LAUNCH_PROBE_REGS(correlation, cbid, weight);
	__asm__ volatile("990: " LAUNCH_PROBE_NOP "\n"
			 ".pushsection .note.stapsdt, \"?\", \"note\"\n"
			 ".balign 4\n"
			 ".4byte 992f-991f, 994f-993f, 3\n"
			 "991: .asciz \"stapsdt\"\n"
			 "992: .balign 4\n"
			 "993: .8byte 990b, _.stapsdt.base, launch_semaphore\n"
			 ".asciz \"cresset\"\n"
			 ".asciz \"launch\"\n"
			 ".asciz \"" LAUNCH_PROBE_ARGS "\"\n"
			 "994: .balign 4\n"
			 ".popsection\n"
			 ".ifndef _.stapsdt.base\n"
			 ".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n"
			 ".weak _.stapsdt.base\n"
			 ".hidden _.stapsdt.base\n"
			 "_.stapsdt.base: .space 1\n"
			 ".size _.stapsdt.base, 1\n"
			 ".popsection\n"
			 ".endif\n"
			 :
			 : "r"(a_), "r"(b_), "r"(c_));
}

/* --- calls ------------------------------------------------------------------------------------ */

enum { TIMED_EVERY = 32 }; /* one call in this many is timed, and counts for all */

struct caller {
	struct ring_lane *lane;
	uint32_t ring; /* number of the ring that lane belongs to */
	bool shared;
	/* correlation id of the previous call: a driver call inside a runtime call has the same */
	uint32_t last;
	uint32_t window;
	uint32_t calls;
	void *context; /* of the previous call */
	struct launch_sampler sampler;
};
static _Thread_local struct caller caller;

static uint64_t coarse_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* A program attached to the probe takes the stack here: this function is its first frame. */
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

static bool launches_graph(uint32_t domain, uint32_t cbid)
{
	if (domain == CUPTI_DOMAIN_DRIVER)
		return is_one_of(cbid, graph_calls_driver, sizeof graph_calls_driver / 2);
	return is_one_of(cbid, graph_calls_runtime, sizeof graph_calls_runtime / 2);
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
	if (!library.graphs && launches_graph(domain, cbid))
		pc_sampling_forbid();
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
		pc_sampling_destroying(r->context);
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
