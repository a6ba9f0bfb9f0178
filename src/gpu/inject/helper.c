/* The library's thread. */
#include "gpu/inject/library.h"

#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool set_up(void)
{
	if (own_ring_is_taken())
		return false;
	library.buffers = map_private((size_t)BUFFERS * BUFFER_SIZE);
	library.names.slots = map_private(NAME_SLOTS * sizeof *library.names.slots);
	library.names.n_slots = NAME_SLOTS;
	if (!library.buffers || !library.names.slots)
		return false;
	struct ring_control *c = own_ring_make();

	if (!c)
		return false;
	library.names.ring = c;
	library.ring = c;
	c->state = RING_PARKED;
	c->features = RING_WANT_ANY;
	__atomic_store_n(&c->magic, RING_MAGIC, __ATOMIC_RELEASE);
	return true;
}

/* Sleeps until the agent rings, at most ns; 0: without a timeout. */
static void sleep_until_rung(uint32_t seen, uint64_t ns)
{
	struct timespec t = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

	syscall(SYS_futex, &ring_control()->bell, FUTEX_WAIT, seen, ns ? &t : NULL, NULL, 0);
}

static void write_window(bool open, uint32_t generation, uint32_t want)
{
	struct ring_window w = { .r = { .type = RING_WINDOW, .correlation = generation },
				 .time_ns = monotonic_ns(),
				 .open = open,
				 .want = want };
	write_here(&w.r, sizeof w);
}

static void say(enum ring_state state)
{
	__atomic_store_n(&ring_control()->state, state, __ATOMIC_RELEASE);
}

static bool wanted(uint64_t now)
{
	const struct ring_control *c = ring_control();
	uint64_t beat = __atomic_load_n(&c->heartbeat_ns, __ATOMIC_RELAXED);
	uint64_t until = __atomic_load_n(&c->deadline_ns, __ATOMIC_RELAXED);

	return __atomic_load_n(&c->want, __ATOMIC_RELAXED) & RING_WANT_ANY && now < until &&
	       (now < beat || now - beat < RING_AGENT_GONE_MS * 1000000ull);
}

/* The shorter of a tick and the rest of the window. A driver that does not yet identify the GPUs is
 * queried often, to get a response before anything runs there. */
static uint64_t pause_ns(uint64_t now, bool knows_devices)
{
	uint64_t until = __atomic_load_n(&ring_control()->deadline_ns, __ATOMIC_RELAXED);
	uint64_t tick =
		(library.stalls || !knows_devices ? RING_STALL_TICK_MS : RING_TICK_MS) * 1000000ull;

	return until > now && until - now < tick ? until - now : tick;
}

static void end_window(uint32_t generation)
{
	struct ring_control *c = ring_control();
	uint64_t from = monotonic_ns();

	devices_tell();
	__atomic_store_n(&library.window, 0, __ATOMIC_RELEASE);
	pc_sampling_close();
	session_close();
	write_window(false, generation, 0);
	c->closed_ns = monotonic_ns();
	c->helper_ns += c->closed_ns - from;
}

/* A window for stalls only ends when they are no longer sampled. */
static bool is_of_use(uint32_t want)
{
	return library.stalls || want & ~(uint32_t)(RING_WANT_STALLS | RING_WANT_CALLS);
}

/* Runs a window to its end. */
static void run_window(uint32_t generation)
{
	struct ring_control *c = ring_control();
	uint32_t asked = __atomic_load_n(&c->want, __ATOMIC_RELAXED), code = 0;
	uint32_t want = asked & RING_WANT_ANY;
	uint64_t from = monotonic_ns();
	enum ring_part part = session_open(asked & (RING_WANT_ANY | RING_WANT_OFF_AFTER), &code);

	c->error_part = part;
	c->error_code = code;
	if (part) {
		session_close();
		c->helper_ns += monotonic_ns() - from;
		library.inert |= code != CUPTI_MULTIPLE_SUBSCRIBERS &&
				 code != CUPTI_OUT_OF_MEMORY && part != RING_PART_STAYS_ON;
		say(library.inert                        ? RING_INERT
		    : code == CUPTI_MULTIPLE_SUBSCRIBERS ? RING_BUSY
							 : RING_PARKED);
		return;
	}
	bool knows_devices = devices_tell();

	write_window(true, generation, want);
	if (want & RING_WANT_STALLS)
		pc_sampling_open();
	__atomic_store_n(&library.window, generation | 1u << 31, __ATOMIC_RELEASE);
	c->opened_ns = monotonic_ns();
	c->helper_ns += c->opened_ns - from;
	say(RING_OPEN);
	for (uint64_t now = c->opened_ns;; now = monotonic_ns()) {
		uint32_t bell = __atomic_load_n(&c->bell, __ATOMIC_ACQUIRE);

		if (!wanted(now) || library.inert || !is_of_use(want) ||
		    __atomic_load_n(&c->generation, __ATOMIC_ACQUIRE) != generation)
			break;
		sleep_until_rung(bell, pause_ns(now, knows_devices));
		uint64_t woken = monotonic_ns();

		knows_devices = knows_devices || devices_tell();
		session_flush(false);
		pc_sampling_run();
		c->helper_ns += monotonic_ns() - woken;
	}
	end_window(generation);
	say(library.inert ? RING_INERT : library.muted ? RING_MUTED : RING_PARKED);
}

/* Hands over pending records when the program ends; the agent can still read the ring after
 * that. */
static void at_exit(void)
{
	if (!library.ring || !library.window)
		return;
	pc_sampling_exit();
	session_flush_now(true);
}

void *helper_main(void *unused)
{
	(void)unused;
	prctl(PR_SET_NAME, "cresset-cuda");
	if (!set_up())
		return NULL;
	struct ring_control *c = ring_control();
	bool opened = false;

	for (;;) {
		uint32_t bell = __atomic_load_n(&c->bell, __ATOMIC_ACQUIRE);
		uint32_t generation = __atomic_load_n(&c->generation, __ATOMIC_ACQUIRE);

		if (generation == c->seen) {
			sleep_until_rung(bell, 0);
			continue;
		}
		if (!library.inert && wanted(monotonic_ns())) {
			if (!opened)
				atexit(at_exit);
			opened = true;
			run_window(generation);
		}
		__atomic_store_n(&c->seen, generation, __ATOMIC_RELEASE);
		if (__atomic_load_n(&c->detach, __ATOMIC_ACQUIRE))
			own_ring_release();
	}
}
