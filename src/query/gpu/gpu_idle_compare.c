/* Compares stacks in idle and busy time. */
#include "query/gpu/gpu_idle.h"

#include "base/err.h"
#include "profile/change/diff.h"

#include <errno.h>

#define CONFIDENCE 0.95

static int can_compare(const struct gpu_idle_device *d, struct err *err)
{
	if (d->idle_type == GPU_IDLE_TYPE_NONE)
		return err_set(err, ENODATA, "no CPU stacks: record wall as well");
	if (!d->owners.n)
		return err_set(err, ENODATA, "its processes are unknown");
	if (!d->idle.all.n)
		return err_set(err, ENODATA, "it was never idle");
	if (!d->busy.all.n)
		return err_set(err, ENODATA, "it was never busy");
	if (!d->idle_samples && !d->busy_samples)
		return err_set(err, ENODATA, "no samples of its processes");
	return 0;
}

int gpu_idle_compare(const struct gpu_idle *g, const struct gpu_idle_device *d,
		     struct gpu_idle_change *c, struct err *err)
{
	const struct diff_opts how = { DIFF_SHARE, CONFIDENCE, .is_strict = true };
	struct tree_opts opts = g->tree;
	*c = (struct gpu_idle_change){ 0 };
	int rc = can_compare(d, err);
	opts.with_spread = true;
	opts.merges_builds = false;
	opts.type = d->idle_type;
	rc = rc ? rc : tree_build(g->p, &opts, &c->idle, err);
	opts.type = d->busy_type;
	rc = rc ? rc : tree_build(g->p, &opts, &c->busy, err);
	if (rc)
		return rc;
	struct diff_side idle = { c->idle, interval_set_sum(&d->idle) / 1e9 },
			 busy = { c->busy, interval_set_sum(&d->busy) / 1e9 };
	return diff_build(idle, busy, &how, &c->diff, err);
}

void gpu_idle_change_done(struct gpu_idle_change *c)
{
	diff_free(c->diff);
	tree_free(c->idle);
	tree_free(c->busy);
	*c = (struct gpu_idle_change){ 0 };
}
