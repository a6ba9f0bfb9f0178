/* store/kept.h: what a store keeps of what it was asked to keep. The last one who wrote it says in meta.db what that was, so that who only reads
 * knows, too. */
#ifndef CRESSET_STORE_KEPT_H
#define CRESSET_STORE_KEPT_H

#include <stdbool.h>
#include <stdint.h>

/* As in struct store_opts, none of them 0 but hot_ns: not at all. */
struct store_asked {
	int64_t retention_ns, detail_retention_ns, hot_ns;
	uint64_t disk_bytes;
};
struct store_kept {
	struct store_asked asked; /* all 0: nobody said */
	int64_t from_ns;          /* nothing before it is kept; INT64_MIN: nothing went yet */
	bool is_short;            /* days went before their time: the disk was full */
	/* Of a store that is open: for so long nothing is deleted by age, since the clock was set, 0: it is; and the moment that ages are
	 * counted from, 0: nothing is old. */
	int64_t held_ns, age_ns;
};
struct catalog;
/* At this moment. */
void store_kept_of(const struct catalog *c, int64_t now_ns, struct store_kept *out);

struct store;
void store_get_kept(struct store *s, struct store_kept *out);

#endif
