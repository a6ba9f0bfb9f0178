/* CUPTI switched on and off. All of it but session_flush_now runs in the helper's thread. */
#include "gpu/inject/calls.h"
#include "gpu/inject/library.h"

#include <time.h>

#define LENGTH(a) (sizeof(a) / sizeof *(a))

/* What each wish enables. Graphs as a whole: their kernels one by one would cost the program what it has graphs for. */
static const struct {
	uint32_t want, kind;
} kinds[] = {
	{ RING_WANT_KERNELS, CUPTI_KIND_KERNEL }, { RING_WANT_KERNELS, CUPTI_KIND_GRAPH },
	{ RING_WANT_COPIES, CUPTI_KIND_MEMCPY },  { RING_WANT_COPIES, CUPTI_KIND_MEMCPY_PEER },
	{ RING_WANT_COPIES, CUPTI_KIND_MEMSET },  { RING_WANT_SYNCS, CUPTI_KIND_SYNC },
	{ RING_WANT_MEMORY, CUPTI_KIND_MEMORY },  { RING_WANT_ALL, CUPTI_KIND_OVERHEAD },
};

static const uint16_t stall_events[] = { CUPTI_RESOURCE_CONTEXT_CREATED,
					 CUPTI_RESOURCE_CONTEXT_GOING,
					 CUPTI_RESOURCE_MODULE_LOADED };

/* Only one thread at a time: the helper, or one of the program that ends a context. */
static bool enter_at_once(void)
{
	return !__atomic_exchange_n(&library.in_cupti, 1, __ATOMIC_ACQ_REL);
}
static void session_enter(void)
{
	struct timespec ms = { .tv_nsec = 1000000 };

	while (!enter_at_once())
		nanosleep(&ms, NULL);
}
static void session_leave(void)
{
	__atomic_store_n(&library.in_cupti, 0, __ATOMIC_RELEASE);
}

static bool can_switch_off(void)
{
	return library.version >= CUPTI_SWITCHES_OFF;
}

static int subscribe(void)
{
	struct ring_control *c = ring_control();
	struct cupti_subscriber_params params = { sizeof params, "cresset", c->other,
						  sizeof c->other };

	if (library.subscriber)
		return 0;
	if (library.cupti.Subscribe_v2)
		return library.cupti.Subscribe_v2(&library.subscriber, on_call, NULL, &params);
	return library.cupti.Subscribe(&library.subscriber, on_call, NULL);
}

static void switch_calls(bool on, uint32_t domain, const uint16_t *calls, size_t n)
{
	for (size_t i = 0; i < n; i++)
		library.cupti.EnableCallback(on, library.subscriber, domain, calls[i]);
}

static void switch_callbacks(bool on, uint32_t want)
{
	struct cupti *c = &library.cupti;

	if (want & RING_WANT_CALLS) {
		switch_calls(on, CUPTI_DOMAIN_RUNTIME, launch_calls_runtime,
			     LENGTH(launch_calls_runtime));
		switch_calls(on, CUPTI_DOMAIN_DRIVER, launch_calls_driver,
			     LENGTH(launch_calls_driver));
	}
	if (want & RING_WANT_CALLS && want & RING_WANT_COPIES) {
		switch_calls(on, CUPTI_DOMAIN_RUNTIME, copy_calls_runtime,
			     LENGTH(copy_calls_runtime));
		switch_calls(on, CUPTI_DOMAIN_DRIVER, copy_calls_driver, LENGTH(copy_calls_driver));
	}
	switch_calls(on, CUPTI_DOMAIN_RUNTIME, ending_calls_runtime, LENGTH(ending_calls_runtime));
	switch_calls(on, CUPTI_DOMAIN_DRIVER, ending_calls_driver, LENGTH(ending_calls_driver));
	if (want & RING_WANT_STALLS) {
		switch_calls(on, CUPTI_DOMAIN_RESOURCE, stall_events, LENGTH(stall_events));
		if (!(want & RING_WANT_CALLS)) { /* which say what contexts there are */
			switch_calls(on, CUPTI_DOMAIN_RUNTIME, launch_calls_runtime,
				     LENGTH(launch_calls_runtime));
			switch_calls(on, CUPTI_DOMAIN_DRIVER, launch_calls_driver,
				     LENGTH(launch_calls_driver));
		}
	}
	c->EnableCallback(on, library.subscriber, CUPTI_DOMAIN_STATE, CUPTI_STATE_FATAL);
}

/* Once for each process. The clock must be there before anything is enabled. */
static int register_callbacks(void)
{
	struct cupti *c = &library.cupti;

	if (library.registered)
		return 0;
	if (c->ActivityRegisterTimestampCallback)
		c->ActivityRegisterTimestampCallback(monotonic_ns);
	int rc = c->ActivityRegisterCallbacks(on_buffer_request, on_buffer_completed);

	if (rc)
		return rc;
	if (c->ActivityEnableAllSyncRecords)
		c->ActivityEnableAllSyncRecords(0);
	library.registered = true;
	return 0;
}

/* Kernels must be; of the rest a CUPTI may know less, and the window goes on without. */
static int enable(uint32_t want)
{
	for (size_t i = 0; i < LENGTH(kinds); i++) {
		uint32_t bit = 1u << i;

		if (!(kinds[i].want & want) || library.enabled & bit)
			continue;
		int rc = library.cupti.ActivityEnable(kinds[i].kind);

		if (!rc)
			library.enabled |= bit;
		else if (kinds[i].kind == CUPTI_KIND_KERNEL || rc == CUPTI_OUT_OF_MEMORY)
			return rc;
	}
	return 0;
}

enum ring_part session_open(uint32_t want, uint32_t *code)
{
	enum ring_part part = RING_PART_NONE;

	session_enter();
	if (!library.found) {
		part = locate_cupti(&library.cupti, &library.version);
		ring_control()->cupti_version = library.version;
		library.found = !part;
		*code = part == RING_PART_TOO_OLD ? library.version : 0;
	}
	if (!part && want & RING_WANT_OFF_AFTER && !library.enabled && !can_switch_off()) {
		part = RING_PART_STAYS_ON;
		*code = library.version;
	}
	if (!part && (*code = subscribe()))
		part = RING_PART_SUBSCRIBE;
	if (!part && (*code = register_callbacks()))
		part = RING_PART_CALLBACKS;
	if (!part) {
		if (library.muted) /* what it recorded meanwhile */
			library.cupti.ActivityFlushAll(CUPTI_FLUSH_FORCED);
		__atomic_store_n(&library.muted, 0, __ATOMIC_RELEASE);
		switch_callbacks(true, want);
		if ((*code = enable(want)))
			part = RING_PART_ENABLE;
	}
	session_leave();
	return part;
}

void session_flush(bool forced)
{
	session_enter();
	library.cupti.ActivityFlushAll(forced ? CUPTI_FLUSH_FORCED : 0);
	session_leave();
}

void session_flush_now(bool forced)
{
	if (!enter_at_once())
		return;
	library.cupti.ActivityFlushAll(forced ? CUPTI_FLUSH_FORCED : 0);
	session_leave();
}

static void disable(void)
{
	for (size_t i = 0; i < LENGTH(kinds); i++)
		if (library.enabled & 1u << i)
			library.cupti.ActivityDisable(kinds[i].kind);
	library.enabled = 0;
}

void session_close(void)
{
	struct cupti *c = &library.cupti;

	if (!library.found)
		return;
	session_enter();
	if (library.subscriber)
		switch_callbacks(false, RING_WANT_ANY);
	if (library.enabled && can_switch_off())
		disable();
	if (library.registered)
		c->ActivityFlushAll(CUPTI_FLUSH_FORCED);
	if (library.enabled)
		__atomic_store_n(&library.muted, 1, __ATOMIC_RELEASE);
	/* Others can have it between two windows, where coming back does no harm. */
	if (library.subscriber && library.version >= CUPTI_RESUBSCRIBES) {
		c->Unsubscribe(library.subscriber);
		library.subscriber = NULL;
	}
	session_leave();
}
