/* /api/v1/gpu-idle: when GPUs had nothing to do, what ended that, and what the processes that use them did meanwhile. */
#include "query/gpu_idle.h"
#include "server/answer.h"
#include "server/ask.h"
#include "server/handlers.h"

#include <errno.h>

/* Of owners' samples, what a selector does not say is the type that says most. */
static int settle_type(struct ask *a, struct err *err)
{
	uint32_t others, best = gpu_idle_type(a->catalog);
	const struct selector *s = a->selector;
	bool is_free = !s || (!selector_type_text(s) && best != GPU_IDLE_TYPE_NONE &&
			      selector_takes_type(s, a->catalog, best));
	a->q.type = best;
	return is_free ? 0 : query_ask_type(&a->q, &others, err);
}

static int ask_idle(struct ask *a, struct request *r, uint64_t *top_n, struct err *err)
{
	struct query_range_words words = { request_param(r, "from"), request_param(r, "to"),
					   "parameter from", "parameter to" };
	int rc = request_u64(r, "n", TOP_DEFAULT, UINT32_MAX, top_n, err);
	if (rc == 0)
		rc = ask_source(a, r, err);
	if (rc == 0)
		rc = ask_selector(a, "q", err);
	if (rc == 0)
		rc = query_span_parse(&a->span, &words, &a->q, err);
	if (rc == 0)
		rc = settle_type(a, err);
	return rc == 0 ? ask_filters(a, err) : rc;
}

static int answer_idle(struct ask *a, uint64_t top_n, struct err *err)
{
	static const struct gpu_idle_opts defaults = { 0 };
	struct gpu_idle idle = { 0 };
	struct buf b = { 0 };
	int rc = gpu_idle_query(&a->q, &defaults, &idle, err);
	if (rc == 0)
		rc = gpu_idle_json(&idle, top_n, &b, err);
	gpu_idle_done(&idle);
	if (rc == 0)
		reply_body(a->r, "application/json", &b);
	buf_done(&b);
	if (rc == -ENODATA) /* asked well, and there is none */
		err->code = ENOENT;
	return rc;
}

void handle_gpu_idle(struct request *r)
{
	struct ask a = { .r = r };
	struct err err = { 0 };
	uint64_t top_n = 0;
	int rc = ask_idle(&a, r, &top_n, &err);
	if (rc == 0)
		rc = answer_idle(&a, top_n, &err);
	if (rc < 0)
		reply_failure(r, &err);
	ask_done(&a);
}
