/* store/clock_watch.h: whether the wall clock is to be believed when something is deleted by its age.
 *
 * Each look compares wall time with the time since boot, which nobody can set. When one has moved by more than an hour against the other, the
 * clock was set: nothing is deleted by age for the next day of uptime. The last look is kept in meta.db, so a clock that was set while no
 * writer ran is noticed, too. Across a boot there is nothing to compare with: a machine that was off for up to a day is believed. */
#ifndef CRESSET_STORE_CLOCK_WATCH_H
#define CRESSET_STORE_CLOCK_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#define CLOCK_WATCH_HOUR_NS 3600000000000ll
#define CLOCK_WATCH_HOLD_NS (24 * CLOCK_WATCH_HOUR_NS)

struct clock_watch {
	int64_t wall_ns, boot_ns; /* at the last look; wall_ns 0: there was none */
	int64_t hold_ns;          /* how long nothing is deleted by age, of uptime; 0: it is */
	int64_t unset_ns; /* what the clock would show had nobody set it, while it is not believed; else 0 */
};

/* wall_ns: Unix time, boot_ns: time since boot, of now. True: the clock was set since the last look; *moved_ns: by how much. */
bool clock_watch_look(struct clock_watch *w, int64_t wall_ns, int64_t boot_ns, int64_t *moved_ns);

#endif
