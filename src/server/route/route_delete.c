/* DELETE /api/v1/series: deletes the series that a selector takes, permanently. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json/json.h"
#include "profile/profile.h"
#include "query/selector.h"
#include "server/ingest/senders.h"
#include "server/query_params.h"
#include "server/request.h"
#include "server/route/handlers.h"
#include "server/tenant.h"
#include "store/codec/store.h"

#include <errno.h>

enum { BUSY_RETRY_S = 10 };

/* series[i]: the selector takes series i as a whole. n: number of all series. */
struct chosen {
	struct request *r;
	bool *series;
	uint32_t n, found;
};

static int choose(struct query_params *a, struct chosen *c, struct err *err)
{
	const struct profile *p = a->catalog;
	struct selector_match *m = selector_match_new(a->selector, p);
	int rc = 0;
	c->n = p->series.series.n;
	c->series = arena_zalloc(&a->r->arena, c->n + 1);
	for (uint32_t i = 0; i < c->n && rc == 0; i++) {
		enum selector_answer answer = selector_match_series(m, i);
		if (answer != SELECTS_NOTHING && answer != SELECTS_ALL)
			rc = err_set(err, EINVAL,
				     "only whole series can be deleted, by type and labels");
		c->series[i] = answer == SELECTS_ALL;
		c->found += c->series[i];
	}
	selector_match_free(m);
	return rc;
}

/* Ends the lease before it returns: a view would keep the data that must be deleted. */
static int find(void *ctx, struct store_choice *out, struct err *err)
{
	struct chosen *c = ctx;
	struct query_params a;
	int rc = query_params_source(&a, c->r, err);
	if (rc == 0)
		rc = query_params_selector(&a, "match", err);
	if (rc == 0 && !a.selector)
		rc = err_set(err, EINVAL, "parameter match is missing: a selector");
	if (rc == 0)
		rc = choose(&a, c, err);
	query_params_done(&a);
	if (rc < 0)
		c->found = 0;
	*out = (struct store_choice){ c->series, c->n };
	return rc;
}

static void reply_deleted(struct request *r, const struct chosen *c, uint64_t rows)
{
	struct buf b = { 0 };
	struct json j = json_to(&b);
	json_obj(&j);
	json_key_u64(&j, "series", c->found);
	json_key_u64(&j, "rows", rows);
	json_end(&j);
	buf_addc(&b, '\n');
	reply_body(r, "application/json", &b);
}

void handle_delete(struct request *r)
{
	struct store *s = tenant_store(r->tenant);
	struct chosen c = { .r = r };
	struct err err = { 0 };
	uint64_t rows = 0;
	if (!s) {
		err_set(&err, EPERM, "the data is read-only: nothing can be deleted");
		reply_error(r, 403, &err);
		return;
	}
	int rc = store_delete_chosen(s, find, &c, &rows, &err);
	if (rc < 0 && !c.found) {
		reply_failure(r, &err);
		return;
	}
	senders_drop_keys(&r->tenant->senders);
	if (rc == 0) {
		reply_deleted(r, &c, rows);
		return;
	}
	reply_error(r, 503, &err); /* a retry continues from here */
	r->reply.retry_after_s = BUSY_RETRY_S;
}
