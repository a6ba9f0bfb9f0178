/* When resident memory is read. */
#include "base/clock.h"
#include "collect/collect_state.h"

enum {
	/* A program may end soon after its start. */
	FIRST_NS = 20000000,
	EVERY_NS = 1000000000,
	SHARE = 100, /* of the time */
};
/* Each look of an always-on collector stores a row per stack. A snapshot stands for 300 s
 * (QUERY_STALE_NS). */
#define ALWAYS_FIRST_NS 10000000000ull
#define ALWAYS_EVERY_NS 60000000000ull
#define ALWAYS_SHARE    5000

static bool is_wanted(const struct collector *c)
{
	return sampler_events(c->sampler) & COLLECT_RSS;
}

/* Sets when to look next: the time doubles up to most_ns, or more if a look takes long. */
static void plan_next(struct collector *c, uint64_t begun_ns, uint64_t first_ns, uint64_t most_ns,
		      uint64_t share)
{
	uint64_t least_ns = (clock_mono_ns() - begun_ns) * share;
	uint64_t wait_ns = c->resident_wait_ns ? 2 * c->resident_wait_ns : first_ns;

	c->resident_wait_ns = wait_ns < most_ns ? wait_ns : most_ns;
	wait_ns = least_ns > c->resident_wait_ns ? least_ns : c->resident_wait_ns;
	c->next_resident_ns = begun_ns + wait_ns;
}

void collector_look_at_resident(struct collector *c)
{
	const uint64_t now_ns = clock_mono_ns();

	if (!is_wanted(c) || c->opts.sampler.is_always || now_ns < c->next_resident_ns)
		return;
	resolve_resident_look(c->resolver);
	plan_next(c, now_ns, FIRST_NS, EVERY_NS, SHARE);
}

void collector_cut_resident(struct collector *c)
{
	const uint64_t now_ns = clock_mono_ns();

	resolve_faults_unwatched(c->resolver, sampler_take_unwatched_faults(c->sampler), now_ns);
	if (!is_wanted(c) || !c->opts.sampler.is_always)
		return;
	if (now_ns < c->next_resident_ns) {
		resolve_resident_ended(c->resolver, now_ns);
		return;
	}
	resolve_resident_snapshot(c->resolver, now_ns);
	plan_next(c, now_ns, ALWAYS_FIRST_NS, ALWAYS_EVERY_NS, ALWAYS_SHARE);
}

void collector_end_resident(struct collector *c)
{
	resolve_faults_unwatched(c->resolver, sampler_take_unwatched_faults(c->sampler),
				 c->stopped_ns);
	if (is_wanted(c) && !c->opts.sampler.is_always)
		resolve_resident_finish(c->resolver, c->stopped_ns);
}
