/* /api/v1/lanes: threads over time. */
#include "base/buf.h"
#include "base/err.h"
#include "query/lanes/lanes.h"
#include "query/selector.h"
#include "server/query_params.h"
#include "server/request.h"
#include "server/route/handlers.h"

#include <errno.h>

enum { LANES_PX = 1000, LANES_SHOWN = 50 }; /* defaults */

static int ask_number(struct request *r, const char *name, uint32_t otherwise, uint32_t max,
		      uint32_t *out, struct err *err)
{
	uint64_t n = otherwise;
	int rc = request_u64(r, name, otherwise, max, &n, err);
	if (rc == 0 && n < 1)
		rc = err_set(err, EINVAL, "parameter %s: 1 to %u", name, max);
	if (rc == 0)
		*out = (uint32_t)n;
	return rc;
}

static int answer_lanes(struct query_params *a, struct err *err)
{
	struct lanes_opts opts;
	struct query_lanes lanes;
	struct buf b = { 0 };
	int rc = ask_number(a->r, "px", LANES_PX, LANES_MAX_PX, &opts.px, err);
	if (rc == 0)
		rc = ask_number(a->r, "lanes", LANES_SHOWN, LANES_MAX, &opts.lanes, err);
	if (rc < 0)
		return rc;
	if (a->selector) /* waits are of other types */
		selector_take_all_types(a->selector);
	rc = query_lanes(&a->q, &opts, &lanes, err);
	if (rc < 0)
		return rc;
	lanes_json(&lanes, &b);
	query_lanes_done(&lanes);
	reply_body(a->r, "application/json", &b);
	return 0;
}

void handle_lanes(struct request *r)
{
	struct query_params a = { .r = r };
	struct err err = { 0 };
	int rc = query_params_query(&a, r, &err);
	if (rc == 0)
		rc = answer_lanes(&a, &err);
	if (rc < 0)
		reply_failure(r, &err);
	query_params_done(&a);
}
