/* POST /api/v1/open: converts a file in any known format to what the page's Import screen shows.
 * Nothing is retained. */
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "format/common/format.h"
#include "format/html/container.h"
#include "profile/profile.h"
#include "query/gpu/gpu_beside.h"
#include "query/part.h"
#include "server/query_params.h"
#include "server/request.h"
#include "server/route/handlers.h"

#include <errno.h>

#define CONTAINER_TYPE "application/vnd.cresset.report"

static unsigned status_of(int rc)
{
	switch (rc) {
	case -ENOTSUP:
		return 415;
	case -EFBIG:
	case -E2BIG:
	case -ENOMEM:
	case -ETIME:
		return 413;
	case -EBUSY:
	case -ECANCELED:
		return 503;
	}
	return 400;
}

static int may_go_on(void *ctx, uint64_t bytes, struct err *err)
{
	const struct guard *guard = ctx;
	int rc = guard_check(guard, err);
	return rc ? rc : guard_memory(guard, bytes, err);
}

/* Reading and writing share one time limit. */
static int open_body(struct request *r, struct profile *p, struct buf *gz, struct err *err)
{
	struct guard_limits limits = query_params_limits(r);
	struct guard guard = { &limits, clock_mono_ns() };
	struct format_write_opts opts = { .beside = query_gpu_beside };
	int rc = body_read_profile(r, p, &limits, err);
	if (rc < 0)
		return rc;
	query_default_frames(p, &opts.tree);
	const struct container_watch watch = { .may_go_on = may_go_on, .ctx = &guard };
	return container_write(p, &opts, &watch, gz, err);
}

void handle_open(struct request *r)
{
	struct profile *p = profile_new();
	struct buf gz = { 0 };
	struct err err = { 0 };
	int rc = open_body(r, p, &gz, &err);
	profile_free(p);
	if (rc == 0) {
		reply_body(r, CONTAINER_TYPE, &gz);
		return;
	}
	buf_done(&gz);
	if (rc == -ENOMEM || rc == -ETIME)
		err_hint(&err, "cresset flame FILE -o report.html makes the same page, without "
			       "this server's limits");
	reply_error(r, status_of(rc), &err);
}
