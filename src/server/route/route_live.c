/* GET /api/v1/live: a selector's totals of the last minute, whenever new data arrive. */
#include "base/err.h"
#include "query/selector.h"
#include "server/live.h"
#include "server/request.h"
#include "server/route/handlers.h"
#include "server/server_state.h"

#include <errno.h>

enum { FULL_RETRY_S = 30 };

void handle_live(struct request *r)
{
	struct err err = { 0 };
	struct selector *s = NULL;
	const char *text = request_param(r, "q");
	int rc = text ? selector_parse(text, &s, &err)
		      : err_set(&err, EINVAL, "parameter q is missing: a selector, like cpu");
	selector_free(s);
	if (rc < 0) {
		reply_failure(r, &err);
		return;
	}
	if (!live_add(r->server->live, r, text)) {
		err_set(&err, EBUSY, "too many live subscribers");
		err_hint(&err, "poll /api/v1/range instead");
		reply_error(r, 429, &err);
		r->reply.retry_after_s = FULL_RETRY_S;
		return;
	}
	r->reply.status = 200;
	r->reply.type = "text/event-stream";
}
