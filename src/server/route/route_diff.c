/* /api/v1/diff: changes from one side (a, afrom, ato: before) to another (b, bfrom, bto).
 * Parameters absent for b are as for a. */
#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "format/common/tree_bin.h"
#include "format/html/html.h"
#include "format/table/table.h"
#include "profile/change/diff.h"
#include "query/plan.h"
#include "query/selector.h"
#include "server/answer.h"
#include "server/query_params.h"
#include "server/request.h"
#include "server/route/handlers.h"

#include <errno.h>
#include <string.h>

static const char *const norm_words[] = { "share", "rate", "abs", NULL };
/* table_words, and formats that are no table. */
static const char *const diff_words[] = { "json", "csv", "text", "bin", "html", NULL };

struct diff_ask {
	struct query_params older; /* with the selector a */
	struct selector *newer;    /* b; NULL: as a */
	struct query q_newer;
	int format, norm;
	bool is_bin, is_html;
	struct answer_detail detail;
	uint64_t n;
};

static int ask_older(struct diff_ask *d, struct request *r, struct err *err)
{
	struct query_range_words words = { request_param(r, "afrom"), request_param(r, "ato"),
					   "parameter afrom", "parameter ato" };
	struct query_params *a = &d->older;
	uint32_t others;
	int rc = query_params_source(a, r, err);
	if (rc == 0 && !request_param(r, "a"))
		rc = err_set(err, EINVAL, "parameter a is missing: a selector, like cpu");
	if (rc == 0)
		rc = query_params_selector(a, "a", err);
	if (rc == 0)
		rc = query_span_parse(&a->span, &words, &a->q, err);
	if (rc == 0)
		rc = query_parse_type(&a->q, &others, err);
	if (rc == 0)
		rc = query_params_within(a, "awithin", &a->q, err);
	return rc == 0 ? query_params_filters(a, err) : rc;
}

static int ask_newer(struct diff_ask *d, struct request *r, struct err *err)
{
	struct query_range_words words = { request_param(r, "bfrom"), request_param(r, "bto"),
					   "parameter bfrom", "parameter bto" };
	const char *text = request_param(r, "b");
	if (text && selector_parse(text, &d->newer, err) < 0)
		return err_prefix(err, "parameter b");
	int rc = query_parse_older(&d->older.q, &d->older.span, &words, d->newer, &d->q_newer, err);
	return rc ? rc : query_params_within(&d->older, "bwithin", &d->q_newer, err);
}

static int ask_diff(struct diff_ask *d, struct request *r, struct err *err)
{
	const char *fmt = request_param(r, "fmt");
	d->is_bin = fmt && strcmp(fmt, "bin") == 0;
	d->is_html = fmt && strcmp(fmt, "html") == 0;
	int rc = d->is_bin ? answer_detail_get(r, &d->detail, err)
			   : request_word(r, "fmt", diff_words, &d->format, err);
	if (rc == 0)
		rc = request_word(r, "norm", norm_words, &d->norm, err);
	if (rc == 0)
		rc = request_u64(r, "n", TOP_DEFAULT, UINT32_MAX, &d->n, err);
	if (rc == 0)
		rc = ask_older(d, r, err);
	return rc == 0 ? ask_newer(d, r, err) : rc;
}

/* Both sides in one tree. */
static int overlay(const struct diff_ask *d, struct request *r, struct err *err)
{
	struct tree_bin_opts opts = { .norm = norm_words[d->norm],
				      .seconds = query_seconds(&d->older.q),
				      .seconds_b = query_seconds(&d->q_newer) };
	struct tree *t;
	int rc = query_overlay(&d->q_newer, &d->older.q, &t, err);
	if (rc < 0)
		return rc;
	if (d->detail.share > 0)
		tree_prune_share(t, d->detail.share, answer_zoom(&d->detail), NULL);
	answer_tree_bin(r, t, &opts);
	tree_free(t);
	return 0;
}

/* Both sides as a page in one file. */
static int page(const struct diff_ask *d, struct request *r, struct err *err)
{
	const struct profile *catalog = d->older.catalog;
	struct format_write_opts opts = { 0 };
	struct tree *t;
	struct out out;
	int rc = query_overlay(&d->q_newer, &d->older.q, &t, err);
	if (rc < 0)
		return rc;
	double before = query_seconds(&d->older.q), now = query_seconds(&d->q_newer);
	t->other_factor = d->norm == DIFF_SHARE            ? 0
			  : d->norm == DIFF_ABS || !before ? 1
							   : now / before;
	rc = answer_open(&out, err);
	if (rc == 0) {
		rc = html_write_diff(catalog, d->q_newer.type, t, NULL, &opts, &out, err);
		answer_close(r, "text/html; charset=utf-8", &out, rc, err);
		r->reply.policy = rc == 0 ? answer_html_policy(r) : NULL;
		rc = 0;
	}
	tree_free(t);
	return rc;
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

/* Function by function. */
static int table(const struct diff_ask *d, struct request *r, struct err *err)
{
	struct diff_opts opts = { .norm = d->norm,
				  .confidence = 0.95,
				  .is_strict = d->q_newer.tree.is_strict };
	struct query_sides sides;
	int rc = query_diff(&d->q_newer, &d->older.q, &opts, &sides, err);
	if (rc < 0)
		return rc;
	reply_diff(d, &sides, r);
	query_sides_done(&sides);
	return 0;
}

void handle_diff(struct request *r)
{
	struct diff_ask d = { .older.r = r };
	struct err err = { 0 };
	int rc = ask_diff(&d, r, &err);
	if (rc == 0)
		rc = d.is_bin    ? overlay(&d, r, &err)
		     : d.is_html ? page(&d, r, &err)
				 : table(&d, r, &err);
	if (rc < 0)
		reply_failure(r, &err);
	answer_detail_done(&d.detail);
	selector_free(d.newer);
	query_params_done(&d.older);
}
