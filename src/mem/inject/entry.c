/* Loading, and the library's thread: it sleeps until the agent rings, and while sampling looks for
 * objects that were loaded since.
 *
 * In a command that is recorded from its start, CRESSET_MEM_MEAN is set: the library then samples
 * from its constructor on, and parks if no agent comes within 10 s. */
#include "mem/inject/library.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	STACK_SIZE = 128 << 10,
	TICKS_PER_S = 1000 / LIVE_TICK_MS,
	CALM_S = 60, /* below a quarter of the rate for so long, the mean is halved */
	SETTLE_MS = 20,
};

static uint64_t monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* ms 0: without a timeout. */
static void sleep_until_rung(uint32_t seen, uint32_t ms)
{
	struct timespec t = { .tv_nsec = ms * 1000000l };

	syscall(SYS_futex, &mem_library.live->bell, FUTEX_WAIT, seen, ms ? &t : NULL, NULL, 0);
}

/* --- the rate --------------------------------------------------------------------------------- */

struct rate {
	uint64_t samples, base;
	uint32_t calm_s, ticks;
};

static void set_mean(uint64_t mean)
{
	__atomic_store_n(&mem_library.mean, mean, __ATOMIC_RELAXED);
	mem_library.live->mean_bytes = mean;
}

/* Once a second. A thread adopts the mean at its next sample. */
static void govern(struct rate *r)
{
	uint64_t now = __atomic_load_n(&mem_library.live->samples, __ATOMIC_RELAXED);
	uint64_t rate = now - r->samples;

	r->samples = now;
	r->calm_s = rate < LIVE_RATE_MAX / 4 ? r->calm_s + 1 : 0;
	if (rate > LIVE_RATE_MAX && mem_library.mean < 1ull << 40) {
		set_mean(mem_library.mean * 2);
	} else if (r->calm_s >= CALM_S && mem_library.mean > r->base) {
		set_mean(mem_library.mean / 2);
		r->calm_s = 0;
	}
}

/* --- sampling --------------------------------------------------------------------------------- */

static bool begin(void)
{
	struct live_control *c = mem_library.live;
	uint64_t wanted = __atomic_load_n(&c->mean_wanted, __ATOMIC_RELAXED);
	uint64_t from = monotonic_ns();

	table_clear();
	set_mean(wanted ? wanted : LIVE_MEAN_BYTES);
	bool is_done = slots_patch(true);
	__atomic_store_n(&c->state, LIVE_RUNNING, __ATOMIC_RELEASE);
	c->helper_ns += monotonic_ns() - from;
	return is_done;
}

/* Looks at all slots again after each load, and each second: the loader may have stored a real
 * address over ours, which it had looked up before. */
static void run(bool is_done)
{
	struct live_control *c = mem_library.live;
	struct rate rate = { .samples = c->samples, .base = mem_library.mean };
	uint64_t loads = slots_loads(), from;

	while (table_is_wanted()) {
		sleep_until_rung(__atomic_load_n(&c->bell, __ATOMIC_ACQUIRE), LIVE_TICK_MS);
		from = monotonic_ns();
		uint64_t now = slots_loads();
		bool is_second = ++rate.ticks % TICKS_PER_S == 0;
		if (now != loads || !is_done || is_second)
			is_done = slots_patch(true);
		loads = now;
		if (is_second)
			govern(&rate);
		c->helper_ns += monotonic_ns() - from;
	}
}

/* Slots of an object that is being loaded are not ready to be given back, or never got ours. */
static void park(void)
{
	struct timespec settle = { .tv_nsec = SETTLE_MS * 1000000l };

	for (int i = 0; !slots_patch(false) && i < TICKS_PER_S; i++)
		nanosleep(&settle, NULL);
	nanosleep(&settle, NULL);
	table_release();
	__atomic_store_n(&mem_library.live->state, LIVE_PARKED, __ATOMIC_RELEASE);
}

/* An allocator of a sanitizer stays alone. */
static bool make(void)
{
	if (!table_make())
		return false;
	struct live_control *c = mem_library.live;

	c->version = LIVE_VERSION;
	c->pid = getpid();
	c->size = LIVE_SIZE;
	c->mean_bytes = LIVE_MEAN_BYTES;
	c->refused = slots_has_sanitizer() ? LIVE_SANITIZER
		     : slots_resolve()     ? LIVE_NOT_REFUSED
					   : LIVE_NO_MALLOC;
	__atomic_store_n(&c->magic, LIVE_MAGIC, __ATOMIC_RELEASE);
	return !c->refused;
}

static _Noreturn void serve(void)
{
	struct live_control *c = mem_library.live;

	for (;;) {
		uint32_t bell = __atomic_load_n(&c->bell, __ATOMIC_ACQUIRE);

		if (!table_is_wanted()) {
			__atomic_store_n(&c->seen, bell, __ATOMIC_RELEASE);
			sleep_until_rung(bell, 0);
			continue;
		}
		run(begin());
		park();
	}
}

static void *helper_main(void *started)
{
	prctl(PR_SET_NAME, "cresset-mem");
	if (started) {
		run(false);
		park();
	} else if (!make()) {
		return NULL;
	}
	serve();
}

/* --- loading ---------------------------------------------------------------------------------- */

static bool start_thread(size_t stack, void *started)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (stack)
		pthread_attr_setstacksize(&attr, stack);
	bool ok = !pthread_create(&thread, &attr, helper_main, started);

	pthread_attr_destroy(&attr);
	return ok;
}

static uint64_t number_in(const char *variable)
{
	const char *text = getenv(variable);
	uint64_t n = 0;

	for (; text && *text >= '0' && *text <= '9'; text++)
		n = n * 10 + (uint64_t)(*text - '0');
	return n;
}

/* Returns whether the program is sampled from here on. */
static bool start_at_once(void)
{
	if (!getenv("CRESSET_MEM_MEAN") || !make())
		return false;
	struct live_control *c = mem_library.live;

	c->mean_wanted = number_in("CRESSET_MEM_MEAN");
	c->heartbeat_ns = monotonic_ns() + LIVE_AHEAD_MS * 1000000ull;
	__atomic_store_n(&c->want, 1, __ATOMIC_RELAXED);
	begin();
	return true;
}

__attribute__((constructor)) static void loaded(void)
{
	sigset_t all, before;

	mem_library.seed = number_in("CRESSET_MEM_SEED");
	void *started = start_at_once() ? &mem_library : NULL;

	if (!started && mem_library.live) /* refused */
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (!start_thread(STACK_SIZE, started) && !start_thread(0, started) && started)
		park();
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}
