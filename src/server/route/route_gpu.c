/* /api/v1/gpu-idle: when GPUs were idle, what ended that, and what the processes that use them did
 * in the meantime. */
#include "base/buf.h"
#include "base/err.h"
#include "format/table/table.h"
#include "query/gpu/gpu_idle.h"
#include "server/answer.h"
#include "server/query_params.h"
#include "server/request.h"
#include "server/route/handlers.h"

#include <errno.h>
#include <stdlib.h>

struct idle_ask {
	uint64_t top_n;
	int format; /* enum table_format */
	struct gpu_idle_opts opts;
};

static int ask_threshold(const struct request *r, double *out, struct err *err)
{
	const char *word = request_param(r, "threshold");
	char *end = NULL;
	double v = word ? strtod(word, &end) : 0;
	if (!word)
		return 0;
	if (end == word || *end || !(v > 0 && v <= 1))
		return err_set(err, EINVAL,
			       "parameter threshold: %s is not a share above 0, up to 1", word);
	*out = v;
	return 0;
}

static int ask_idle(struct query_params *a, struct request *r, struct idle_ask *out,
		    struct err *err)
{
	struct query_range_words words = { request_param(r, "from"), request_param(r, "to"),
					   "parameter from", "parameter to" };
	int rc = request_u64(r, "n", TOP_DEFAULT, UINT32_MAX, &out->top_n, err);
	if (rc == 0)
		rc = request_word(r, "fmt", table_words, &out->format, err);
	if (rc == 0)
		rc = ask_threshold(r, &out->opts.threshold, err);
	if (rc == 0)
		rc = query_params_source(a, r, err);
	if (rc == 0)
		rc = query_params_selector(a, "q", err);
	if (rc == 0)
		rc = query_span_parse(&a->span, &words, &a->q, err);
	if (rc == 0)
		rc = gpu_idle_ask_type(&a->q, err);
	return rc == 0 ? query_params_filters(a, err) : rc;
}

static int write_idle(const struct gpu_idle *idle, const struct idle_ask *ask, struct buf *b,
		      struct err *err)
{
	const struct table_opts table = { .top_n = (uint32_t)ask->top_n, .utf8 = true };
	if (ask->format == TABLE_JSON)
		return gpu_idle_json(idle, table.top_n, b, err);
	if (ask->format == TABLE_TEXT)
		return gpu_idle_text(idle, &table, b, err);
	gpu_idle_csv(idle, table.top_n, b);
	return 0;
}

static int answer_idle(struct query_params *a, const struct idle_ask *ask, struct err *err)
{
	struct gpu_idle idle = { 0 };
	struct buf b = { 0 };
	int rc = gpu_idle_query(&a->q, &ask->opts, &idle, err);
	if (rc == 0)
		rc = write_idle(&idle, ask, &b, err);
	gpu_idle_done(&idle);
	if (rc == 0)
		reply_body(a->r, table_types[ask->format], &b);
	buf_done(&b);
	if (rc == -ENODATA) /* the query is valid, but there is no data */
		err->code = ENOENT;
	return rc;
}

void handle_gpu_idle(struct request *r)
{
	struct query_params a = { .r = r };
	struct idle_ask ask = { 0 };
	struct err err = { 0 };
	int rc = ask_idle(&a, r, &ask, &err);
	if (rc == 0)
		rc = answer_idle(&a, &ask, &err);
	if (rc < 0)
		reply_failure(r, &err);
	query_params_done(&a);
}
