#include "store/kept.h"

#include "store/catalog.h"
#include "store/store_state.h"

void store_kept_of(const struct catalog *c, int64_t now_ns, struct store_kept *out)
{
	*out = (struct store_kept){ .asked = *catalog_asked(c), .from_ns = catalog_kept_from(c) };
	/* By age whole days go. */
	int64_t by_age_ns = now_ns - out->asked.retention_ns;
	out->is_short = out->asked.retention_ns > 0 && out->from_ns > by_age_ns;
}

void store_get_kept(struct store *s, struct store_kept *out)
{
	pthread_mutex_lock(&s->lock);
	store_kept_of(s->catalog, store_now_ns(s), out);
	out->held_ns = s->clock.hold_ns;
	out->age_ns = store_age_ns(s);
	pthread_mutex_unlock(&s->lock);
}
