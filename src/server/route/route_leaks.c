/* /api/v1/leaks: stacks with memory in use that grows. */
#include "base/buf.h"
#include "base/err.h"
#include "query/plan.h"
#include "server/answer.h"
#include "server/query_params.h"
#include "server/request.h"
#include "server/route/handlers.h"

#include <errno.h>

enum { LEAKS_DEFAULT = 30, OLDER_DEFAULT = AGE_1H };

static int answer_leaks(struct query_params *a, int older, uint64_t top_n, struct err *err)
{
	struct query_leaks leaks;
	struct buf b = { 0 };
	int rc = query_leaks(&a->q, (enum age)older, &leaks, err);

	if (rc == 0) {
		query_leaks_json(&leaks, top_n, &b);
		reply_body(a->r, "application/json", &b);
	}
	query_leaks_done(&leaks);
	buf_done(&b);
	if (rc == -ENODATA) /* the query is valid, but there are too few snapshots */
		err->code = ENOENT;
	return rc;
}

void handle_leaks(struct request *r)
{
	struct query_params a = { .r = r };
	struct err err = { 0 };
	uint64_t top_n = 0;
	int older = OLDER_DEFAULT;
	int rc = request_u64(r, "n", LEAKS_DEFAULT, UINT32_MAX, &top_n, &err);

	if (rc == 0 && request_param(r, "older"))
		rc = request_word(r, "older", query_older_words, &older, &err);
	if (rc == 0)
		rc = query_params_query(&a, r, &err);
	if (rc == 0)
		rc = answer_leaks(&a, older, top_n, &err);
	if (rc < 0)
		reply_failure(r, &err);
	query_params_done(&a);
}
