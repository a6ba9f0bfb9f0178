/* store/codec/clock_watch.h: decides whether the wall clock can be trusted for deletion by age.
 *
 * Each look compares wall time with the time since boot, which cannot be set. If they have drifted
 * apart by more than an hour, the clock was set, and nothing is deleted by age for the next day of
 * uptime. The last look is stored in meta.db, so a change while no writer ran is noticed as well.
 * Across a boot there is nothing to compare with: the clock of a machine that was off for up to a
 * day is trusted. */
#ifndef CRESSET_STORE_CODEC_CLOCK_WATCH_H
#define CRESSET_STORE_CODEC_CLOCK_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#define CLOCK_WATCH_HOUR_NS 3600000000000ll
#define CLOCK_WATCH_HOLD_NS (24 * CLOCK_WATCH_HOUR_NS)

struct clock_watch {
	int64_t wall_ns, boot_ns; /* at the last look; wall_ns 0: there was none */
	/* uptime for which deletion by age is still suspended; 0: it is not */
	int64_t hold_ns;
	/* the time if the clock had not been set, while it is not trusted; else 0 */
	int64_t unset_ns;
};

/* wall_ns: the Unix time now; boot_ns: the time since boot. Returns true if the clock was set since
 * the last look; *moved_ns: by how much. */
bool clock_watch_look(struct clock_watch *w, int64_t wall_ns, int64_t boot_ns, int64_t *moved_ns);

#endif
