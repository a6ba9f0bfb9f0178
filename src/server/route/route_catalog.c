/* /api/v1/types, labels, values, series: the contents of a source. */
#include "base/buf.h"
#include "base/err.h"
#include "query/answer_json.h"
#include "query/catalog.h"
#include "server/query_params.h"
#include "server/request.h"
#include "server/route/handlers.h"

#include <errno.h>

typedef int list_fn(struct query_params *a, struct buf *b, struct err *err);

static void list(struct request *r, list_fn *fn)
{
	struct query_params a;
	struct err err = { 0 };
	struct buf b = { 0 };
	int rc = query_params_source(&a, r, &err);
	if (rc == 0)
		rc = query_params_selector(&a, "match", &err);
	if (rc == 0)
		rc = fn(&a, &b, &err);
	if (rc == 0)
		reply_body(r, "application/json", &b);
	else
		reply_failure(r, &err);
	buf_done(&b);
	query_params_done(&a);
}

static int list_types(struct query_params *a, struct buf *b, struct err *err)
{
	(void)err;
	types_json(a->catalog, a->selector, b);
	return 0;
}

static int list_labels(struct query_params *a, struct buf *b, struct err *err)
{
	struct catalog_texts texts = { 0 };
	(void)err;
	catalog_labels(a->catalog, a->selector, &texts);
	texts_json(&texts, b);
	catalog_texts_done(&texts);
	return 0;
}

static int list_values(struct query_params *a, struct buf *b, struct err *err)
{
	struct catalog_texts texts = { 0 };
	const char *name = request_param(a->r, "name");
	if (!name)
		return err_set(err, EINVAL, "parameter name is missing: a label");
	if (!catalog_has_label(a->catalog, name))
		return query_no_label(a->catalog, name, err);
	catalog_values(a->catalog, a->selector, name, &texts);
	texts_json(&texts, b);
	catalog_texts_done(&texts);
	return 0;
}

static int list_series(struct query_params *a, struct buf *b, struct err *err)
{
	struct catalog_texts texts = { 0 };
	(void)err;
	catalog_series(a->catalog, a->selector, &texts);
	texts_json(&texts, b);
	catalog_texts_done(&texts);
	return 0;
}

void handle_types(struct request *r)
{
	list(r, list_types);
}

void handle_labels(struct request *r)
{
	list(r, list_labels);
}

void handle_values(struct request *r)
{
	list(r, list_values);
}

void handle_series(struct request *r)
{
	list(r, list_series);
}
