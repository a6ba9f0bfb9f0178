/* Where kernels stall: CUPTI's PC sampling, in continuous mode, which leaves kernels as they run. It is switched on
 * context by context. One that is made while a window is open is begun with in the callback, as CUPTI's documentation
 * has it; of those that were there before, a launch tells, and the helper begins with them at its next tick.
 *
 *     FREE → SEEN → ON → FREE
 *                     ↘ GOING: it is being destroyed; nothing is asked of it any more
 *
 * Whoever calls CUPTI about a context holds the lock. Threads of the program take it only where they make or destroy a
 * context: at once or not at all for the one, and for the other after at most GOING_WAIT_MS. */
#include "gpu/inject/library.h"
#include "gpu/inject/pc_switch.h"

#include <time.h>

enum { CONTEXTS = 16, ROUNDS = 64, READER_WAITS = 25 /* of 2 ms */, GOING_WAIT_MS = 200 };
enum context_state { FREE, TAKEN, SEEN, ON, GOING };
struct context {
	struct pc_sampled at;
	uint32_t state;
};
static struct {
	struct context contexts[CONTEXTS];
	struct cupti_pcs *pcs; /* for what is handed over */
	uint32_t lock;
} sampling;

static bool lock_at_once(void)
{
	return !__atomic_exchange_n(&sampling.lock, 1, __ATOMIC_ACQ_REL);
}
static bool lock_within(unsigned ms)
{
	struct timespec one = { .tv_nsec = 1000000 };

	while (!lock_at_once())
		if (!ms--)
			return false;
		else
			nanosleep(&one, NULL);
	return true;
}
static void unlock(void)
{
	__atomic_store_n(&sampling.lock, 0, __ATOMIC_RELEASE);
}

static uint32_t state_of(const struct context *c)
{
	return __atomic_load_n(&c->state, __ATOMIC_ACQUIRE);
}
static void set_state(struct context *c, uint32_t state)
{
	__atomic_store_n(&c->state, state, __ATOMIC_RELEASE);
}
static bool change_state(struct context *c, uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(&c->state, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

/* --- the end of it --- */

/* For all contexts, until the next window. */
static void give_up(int code)
{
	struct ring_control *c = ring_control_or_nowhere();

	c->stall_code = code;
	c->stall_part =
		code == CUPTI_OUT_OF_MEMORY ? RING_PART_STALLS_MEMORY
		: code == CUPTI_INSUFFICIENT_PRIVILEGES || code == CUPTI_VIRTUALIZED_PRIVILEGES
			? RING_PART_STALLS_DENIED
			: RING_PART_STALLS;
	__atomic_store_n(&library.stalls, 0, __ATOMIC_RELEASE);
}

/* --- samples --- */

/* The helper gives the reader time, which a thread of the program must not. */
static void wait_for_reader(void)
{
	const struct timespec pause = { .tv_nsec = 2000000 };
	bool shared;
	const struct ring_lane *lane =
		ring_lane_take(library.ring, RING_LANE_BUFFER, thread_id(), &shared);

	for (int i = 0; i < READER_WAITS; i++) {
		uint64_t tail = __atomic_load_n(&lane->tail, __ATOMIC_ACQUIRE);

		if (lane->head - tail < lane->size / 4)
			return;
		nanosleep(&pause, NULL);
	}
}

/* Hands over what there is. 0, or CUPTI's code. */
static int drain(struct context *c, bool is_helper)
{
	struct cupti_pcs *p = sampling.pcs;
	struct cupti_pc_get get = { .size = sizeof get, .context = c->at.context, .pcs = p };
	int rc = 0;

	for (int i = 0; !rc && i < ROUNDS && state_of(c) == ON; i++) {
		if (is_helper)
			wait_for_reader();
		pcs_clear(p);
		rc = library.cupti.PCSamplingGetData(&get);
		if (!rc || rc == CUPTI_OUT_OF_MEMORY)
			pcs_write(&c->at, p);
		if (!rc && p->hardware_full)
			rc = CUPTI_OUT_OF_MEMORY;
		if (!p->remaining)
			break;
	}
	return rc;
}

static void switch_off(struct context *c)
{
	pc_switch_off(&c->at);
	__atomic_fetch_sub(&ring_control_or_nowhere()->contexts, 1, __ATOMIC_RELAXED);
	set_state(c, FREE);
}

/* --- switching on --- */

/* Two threads may have seen the same context at the same time. */
static bool is_on_already(const struct context *c)
{
	for (int i = 0; i < CONTEXTS; i++)
		if (state_of(&sampling.contexts[i]) == ON &&
		    sampling.contexts[i].at.context == c->at.context)
			return true;
	return false;
}

/* Under the lock. */
static void begin(struct context *c)
{
	if (is_on_already(c)) {
		set_state(c, FREE);
		return;
	}
	int rc = pc_switch_on(&c->at);

	if (rc)
		give_up(rc);
	else
		__atomic_fetch_add(&ring_control_or_nowhere()->contexts, 1, __ATOMIC_RELAXED);
	if (rc || !change_state(c, SEEN, ON)) {
		if (!rc) /* it goes already */
			switch_off(c);
		set_state(c, FREE);
	}
}

/* --- contexts --- */

static struct context *find(const void *context)
{
	for (int i = 0; i < CONTEXTS; i++) {
		uint32_t state = state_of(&sampling.contexts[i]);

		if (state >= SEEN && sampling.contexts[i].at.context == context)
			return &sampling.contexts[i];
	}
	return NULL;
}

/* NULL when there are too many: those launch unsampled. */
static struct context *add(void *context, uint32_t id)
{
	for (int i = 0; i < CONTEXTS; i++) {
		struct context *c = &sampling.contexts[i];

		if (!change_state(c, FREE, TAKEN))
			continue;
		c->at.context = context;
		c->at.id = id ? id : (uint32_t)(i + 1) << 16;
		set_state(c, SEEN);
		return c;
	}
	return NULL;
}

void pc_sampling_seen(void *context, uint32_t id)
{
	if (context && library.stalls && !find(context))
		add(context, id);
}

void pc_sampling_created(void *context)
{
	if (!context || !library.stalls || find(context))
		return;
	struct context *c = add(context, 0);

	if (c && lock_at_once()) {
		if (library.stalls)
			begin(c);
		unlock();
	}
}

void pc_sampling_going(void *context)
{
	struct context *c = library.inert ? NULL : find(context);

	if (!c) /* or a child of fork, where CUPTI must not be asked */
		return;
	if (lock_within(GOING_WAIT_MS)) {
		if (state_of(c) == ON) {
			drain(c, false);
			switch_off(c);
		} else {
			set_state(c, FREE);
		}
		unlock();
	} else {
		set_state(c, GOING);
	}
}

/* --- windows --- */

void pc_sampling_open(void)
{
	struct ring_control *c = ring_control();

	c->stall_part = pc_has_functions() ? RING_PART_NONE : RING_PART_STALLS_ABSENT;
	c->stall_code = 0;
	if (c->stall_part)
		return;
	if (!sampling.pcs)
		sampling.pcs = pcs_make();
	if (!sampling.pcs) {
		give_up(CUPTI_OUT_OF_MEMORY);
		return;
	}
	cubins_open();
	cubins_announce();
	__atomic_store_n(&library.stalls, 1, __ATOMIC_RELEASE);
}

static void run_one(struct context *c)
{
	if (state_of(c) == GOING) {
		c->at.pcs = NULL; /* CUPTI may still write there: it stays */
		set_state(c, FREE);
		return;
	}
	if (state_of(c) == SEEN && library.stalls)
		begin(c);
	int rc = state_of(c) == ON ? drain(c, true) : 0;

	if (rc) { /* what it has is gone or wedged; only Disable helps */
		give_up(rc);
		switch_off(c);
	}
}

void pc_sampling_run(void)
{
	for (int i = 0; i < CONTEXTS; i++) {
		if (state_of(&sampling.contexts[i]) < SEEN || !lock_within(GOING_WAIT_MS))
			continue;
		run_one(&sampling.contexts[i]);
		unlock();
	}
	if (!library.stalls)
		pc_sampling_close();
}

static void close_one(struct context *c, bool is_helper)
{
	if (state_of(c) == ON) {
		drain(c, is_helper);
		switch_off(c);
	} else if (state_of(c) >= SEEN) {
		c->at.pcs = NULL;
		set_state(c, FREE);
	}
}

static void close_all(bool is_helper)
{
	__atomic_store_n(&library.stalls, 0, __ATOMIC_RELEASE);
	for (int i = 0; i < CONTEXTS; i++) {
		if (state_of(&sampling.contexts[i]) < SEEN || !lock_within(GOING_WAIT_MS))
			continue;
		close_one(&sampling.contexts[i], is_helper);
		unlock();
	}
}

void pc_sampling_close(void)
{
	close_all(true);
}

bool pc_sampling_leave(void)
{
	bool is_off = true;

	close_all(true);
	for (int i = 0; i < CONTEXTS; i++)
		is_off &= state_of(&sampling.contexts[i]) < SEEN;
	if (!is_off || !lock_within(GOING_WAIT_MS))
		return false;
	if (sampling.pcs)
		pcs_free(sampling.pcs);
	sampling.pcs = NULL;
	unlock();
	return true;
}

void pc_sampling_exit(void)
{
	if (library.stalls)
		close_all(false);
}
