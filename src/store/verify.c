/* After a stop that was none of ours (a crash, a power failure) days in their last form are read once: whether they are what was written. */
#include "store/store_state.h"

#include <errno.h>

/* One that was not looked at yet; it stays where it is meanwhile. */
static struct store_part *next_part(struct store *s)
{
	for (size_t i = 0; i < s->parts.n; i++) {
		struct store_part *sp = s->parts.v[i];
		if (!sp->to_verify)
			continue;
		sp->to_verify = false;
		if (sp->is_bad)
			continue;
		sp->pins++;
		return sp;
	}
	return NULL;
}

/* By a handle of its own, so that nobody waits. */
static int verify_part(const struct store *s, const struct store_part *sp, struct err *err)
{
	const struct part_opts opts = { .read_only = true,
					.cache_bytes = s->opts.memory_bytes / 64,
					.vfs = s->opts.vfs };
	struct part_info info;
	struct part *p;
	int rc = part_open(sp->path, sp->day_ns, &opts, &p, err);

	if (rc)
		return rc;
	part_get_info(p, &info);
	rc = info.sealed ? part_verify(p, err) : 0;
	part_close(p);
	return rc;
}

int store_verify_next(struct store *s, struct err *err)
{
	struct store_part *sp;
	int rc = 0;

	pthread_mutex_lock(&s->lock);
	sp = next_part(s);
	pthread_mutex_unlock(&s->lock);
	if (!sp)
		return 0;
	rc = verify_part(s, sp, err);
	pthread_mutex_lock(&s->lock);
	sp->pins--;
	s->stats.damaged_parts += rc == -EBADMSG;
	pthread_mutex_unlock(&s->lock);
	return rc == 0 || rc == -EBADMSG ? 1 : rc;
}
