/* query/time.h: moments as people type them.
 *
 *     2026-11-21T09:30:00Z   2026-11-21T10:30:00.250+01:00   RFC 3339; without a zone it is UTC
 *     2026-11-21 09:30   2026-11-21                          seconds, or the time of day, may be left out
 *     1763717400   1763717400.5   1763717400000              Unix time: seconds, or by its size ms, us or ns
 *     now   start   end                                      now; the first and the last moment there is anything of
 *     now-15m   start+10s   end-1h30m                        each with a duration behind (500ms 10s 15m 2h 7d) */
#ifndef CRESSET_QUERY_TIME_H
#define CRESSET_QUERY_TIME_H

#include "base/buf.h"
#include "base/err.h"

#include <stdint.h>

/* Unix time in ns. To find out the first and the last moment takes time: range is asked for both when one is needed; NULL: they are known. */
struct time_words {
	int64_t now_ns, start_ns, end_ns;
	void (*range)(void *ctx, int64_t *start_ns, int64_t *end_ns);
	void *ctx;
};

/* what: whose time it is, for the words ("option --from"). -EINVAL with words that name the column and the text there in the hint. */
int time_parse(const char *text, const struct time_words *words, const char *what, int64_t *out_ns,
	       struct err *err);

/* Appends RFC 3339 in UTC, with as many digits behind the second as it needs: 2026-11-21T09:30:00.25Z. */
void time_text(struct buf *b, int64_t ns);

#endif
