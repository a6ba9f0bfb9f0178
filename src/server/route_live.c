/* GET /api/v1/live: the totals of the last minute of a selector, whenever something came. */
#include "server/ask.h"
#include "server/handlers.h"
#include "server/live.h"

#include <errno.h>

enum { FULL_RETRY_S = 30 };

static int check(struct request *r, struct err *err)
{
	struct selector *s = NULL;
	const char *text = request_param(r, "q");
	int rc = text ? selector_parse(text, &s, err)
		      : err_set(err, EINVAL, "parameter q is missing: a selector, like cpu");
	selector_free(s);
	return rc;
}

void handle_live(struct request *r)
{
	struct err err = { 0 };
	if (check(r, &err) < 0) {
		reply_failure(r, &err);
		return;
	}
	if (!live_add(r->server->live, r, request_param(r, "q"))) {
		err_set(&err, EBUSY, "too many wait for news already");
		err_hint(&err, "ask /api/v1/range now and then");
		reply_error(r, 429, &err);
		r->reply.retry_after_s = FULL_RETRY_S;
		return;
	}
	r->reply.status = 200;
	r->reply.type = "text/event-stream";
}
