/* /api/v1/diff: what changed from one side (a, afrom, ato: before) to another (b, bfrom, bto). What is not said of b is as on a. */
#include "format/diff_table.h"
#include "server/answer.h"
#include "server/ask.h"
#include "server/handlers.h"

#include <errno.h>

static const char *const norm_words[] = { "share", "rate", "abs", NULL };

struct diff_ask {
	struct ask older;       /* with the selector a */
	struct selector *newer; /* b; NULL: as a */
	struct query q_newer;
	int format, norm;
	uint64_t n;
};

static int ask_older(struct diff_ask *d, struct request *r, struct err *err)
{
	struct query_range_words words = { request_param(r, "afrom"), request_param(r, "ato"),
					   "parameter afrom", "parameter ato" };
	struct ask *a = &d->older;
	uint32_t others;
	int rc = ask_source(a, r, err);
	if (rc == 0 && !request_param(r, "a"))
		rc = err_set(err, EINVAL, "parameter a is missing: a selector, like cpu");
	if (rc == 0)
		rc = ask_selector(a, "a", err);
	if (rc == 0)
		rc = query_span_parse(&a->span, &words, &a->q, err);
	if (rc == 0)
		rc = query_ask_type(&a->q, &others, err);
	return rc == 0 ? ask_filters(a, err) : rc;
}

static int ask_newer(struct diff_ask *d, struct request *r, struct err *err)
{
	struct query_range_words words = { request_param(r, "bfrom"), request_param(r, "bto"),
					   "parameter bfrom", "parameter bto" };
	const char *text = request_param(r, "b");
	if (text && selector_parse(text, &d->newer, err) < 0)
		return err_prefix(err, "parameter b");
	return query_ask_older(&d->older.q, &d->older.span, &words, d->newer, &d->q_newer, err);
}

static int ask_diff(struct diff_ask *d, struct request *r, struct err *err)
{
	int rc = request_word(r, "fmt", table_words, &d->format, err);
	if (rc == 0)
		rc = request_word(r, "norm", norm_words, &d->norm, err);
	if (rc == 0)
		rc = request_u64(r, "n", TOP_DEFAULT, UINT32_MAX, &d->n, err);
	if (rc == 0)
		rc = ask_older(d, r, err);
	return rc == 0 ? ask_newer(d, r, err) : rc;
}

static void reply_diff(const struct diff_ask *d, const struct query_sides *sides, struct request *r)
{
	const char *a = request_param(r, "a"), *b = request_param(r, "b");
	struct diff_table table = {
		.diff = sides->diff,
		.newer = { b ? b : a, d->older.catalog, sides->newer.tree,
			   query_seconds(&d->q_newer) },
		.older = { a, d->older.catalog, sides->older.tree, query_seconds(&d->older.q) },
	};
	struct table_opts opts = { .top_n = d->n, .utf8 = true };
	struct buf out = { 0 };
	if (d->format == TABLE_CSV)
		diff_table_csv(&table, &opts, &out);
	else if (d->format == TABLE_TEXT)
		diff_table_text(&table, &opts, &out);
	else
		diff_table_json(&table, &opts, &out);
	reply_body(r, table_types[d->format], &out);
}

void handle_diff(struct request *r)
{
	struct diff_ask d = { .older.r = r };
	struct query_sides sides = { 0 };
	struct err err = { 0 };
	int rc = ask_diff(&d, r, &err);
	if (rc == 0) {
		struct diff_opts opts = { .norm = d.norm, .confidence = 0.95 };
		rc = query_diff(&d.q_newer, &d.older.q, &opts, &sides, &err);
	}
	if (rc == 0)
		reply_diff(&d, &sides, r);
	else
		reply_failure(r, &err);
	query_sides_done(&sides);
	selector_free(d.newer);
	ask_done(&d.older);
}
