/* /api/v1/range, chart, heatmap: what happened when. */
#include "base/parse.h"
#include "format/chart_svg.h"
#include "format/heatmap_svg.h"
#include "format/heatmap_table.h"
#include "profile/time_range.h"
#include "query/answer_json.h"
#include "query/part.h"
#include "server/answer.h"
#include "server/ask.h"
#include "server/handlers.h"

#include <errno.h>

#define SECOND INT64_C(1000000000)
enum { RANGE_STEPS = 200 }; /* when nobody says how long a step is */

/* --- range ------------------------------------------------------------------------------------ */

static int ask_step(const struct ask *a, int64_t *out, struct err *err)
{
	const char *text = request_param(a->r, "step");
	uint64_t step_ns = (a->q.to_ns - a->q.from_ns) / RANGE_STEPS;
	if (text && (parse_duration(text, SECOND, &step_ns) < 0 || !step_ns || step_ns > INT64_MAX))
		return err_set(err, EINVAL, "parameter step: '%s' is no time like 10s", text);
	*out = step_ns ? (int64_t)step_ns : 1;
	return 0;
}

static int answer_range(struct ask *a, struct err *err)
{
	struct query_range range;
	struct buf b = { 0 };
	int64_t step_ns = 0;
	int rc = ask_step(a, &step_ns, err);
	if (rc == 0 && a->source->is_block)
		rc = err_set(err, EINVAL, "the samples here have no times");
	if (rc == 0)
		rc = query_range(&a->q, step_ns, &range, err);
	if (rc < 0)
		return rc;
	range_json(&a->q, &range, &b);
	query_range_done(&range);
	reply_body(a->r, "application/json", &b);
	return 0;
}

static int answer_metric(struct ask *a, struct err *err)
{
	struct query_metric m;
	struct buf b = { 0 };
	int64_t step_ns = 0;
	int word, rc = request_word(a->r, "reduce", query_reductions, &word, err);
	if (rc == 0)
		rc = ask_step(a, &step_ns, err);
	if (rc == 0 && !type_is_metric(&a->catalog->series.types.v[a->q.type]))
		rc = err_set(err, EINVAL, "this is no metric; /api/v1/range has totals");
	if (rc < 0)
		return rc;
	enum metric_reduction reduction = query_reduction(&a->q, word);
	rc = query_metric(&a->q, reduction, step_ns, &m, err);
	if (rc < 0)
		return rc;
	metric_json(&a->q, &m, reduction, &b);
	query_metric_done(&m);
	reply_body(a->r, "application/json", &b);
	return 0;
}

static void handle_steps(struct request *r, int (*answer)(struct ask *a, struct err *err))
{
	struct ask a = { .r = r };
	struct err err = { 0 };
	int rc = ask_query(&a, r, &err);
	if (rc == 0)
		rc = answer(&a, &err);
	if (rc < 0)
		reply_failure(r, &err);
	ask_done(&a);
}

void handle_range(struct request *r)
{
	handle_steps(r, answer_range);
}

void handle_metric(struct request *r)
{
	handle_steps(r, answer_metric);
}

/* --- chart and heatmap ------------------------------------------------------------------------ */

static const char svg_type[] = "image/svg+xml";

/* The samples with their times, of one type. */
static int ask_samples(struct ask *a, struct request *r, struct tree_opts *tree,
		       struct profile **out, struct err *err)
{
	int rc = ask_query(a, r, err);
	if (rc == 0)
		rc = query_root_frames(&a->q, tree, err);
	if (rc == 0)
		rc = query_profile(&a->q, true, out, err);
	tree->type = 0; /* there is no other */
	if (rc == 0 && !profile_has_times(*out))
		rc = err_set(err, EINVAL, "the samples here have no times");
	return rc;
}

static void write_chart(struct request *r, struct profile *p, const struct tree_opts *tree)
{
	struct format_write_opts write = { .tree = *tree,
					   .title = request_param(r, "title"),
					   .palette = request_param(r, "palette") };
	struct err err = { 0 };
	struct out out;
	int rc = answer_open(&out, &err);
	if (rc < 0) {
		reply_failure(r, &err);
		return;
	}
	rc = chart_svg_write(p, &write, &out, &err);
	answer_close(r, svg_type, &out, rc, &err);
	if (rc == 0)
		r->reply.policy = PICTURE_POLICY;
}

void handle_chart(struct request *r)
{
	struct ask a = { .r = r };
	struct tree_opts tree = { 0 };
	struct profile *p = NULL;
	struct err err = { 0 };
	if (ask_samples(&a, r, &tree, &p, &err) < 0)
		reply_failure(r, &err);
	else
		write_chart(r, p, &tree);
	profile_free(p);
	ask_done(&a);
}

enum heat_format { HEAT_JSON, HEAT_CSV, HEAT_SVG };
static const char *const heat_words[] = { "json", "csv", "svg", NULL };

static void write_heatmap_svg(struct request *r, const struct profile *p, const struct heatmap *h)
{
	struct err err = { 0 };
	struct out out;
	int rc = answer_open(&out, &err);
	if (rc < 0) {
		reply_failure(r, &err);
		return;
	}
	rc = heatmap_svg_write(p, h, &out, &err);
	answer_close(r, svg_type, &out, rc, &err);
	if (rc == 0)
		r->reply.policy = PICTURE_POLICY;
}

static void write_heatmap(struct request *r, const struct profile *p, const struct heatmap *h,
			  int format)
{
	struct buf b = { 0 };
	if (format == HEAT_SVG) {
		write_heatmap_svg(r, p, h);
		return;
	}
	if (format == HEAT_CSV)
		heatmap_csv(h, &b);
	else
		heatmap_json(h, &b);
	reply_body(r, format == HEAT_CSV ? "text/csv; charset=utf-8" : "application/json", &b);
}

void handle_heatmap(struct request *r)
{
	struct ask a = { .r = r };
	struct tree_opts tree = { 0 };
	struct profile *p = NULL;
	struct heatmap h = { 0 };
	struct err err = { 0 };
	int format, rc = request_word(r, "fmt", heat_words, &format, &err);
	if (rc == 0)
		rc = ask_samples(&a, r, &tree, &p, &err);
	if (rc == 0)
		rc = heatmap_build(p, &tree,
				   format == HEAT_SVG ? HEATMAP_SVG_COLUMNS : HEATMAP_MAX_COLUMNS,
				   &h, &err);
	if (rc == 0) {
		write_heatmap(r, p, &h, format);
		heatmap_done(&h);
	} else {
		reply_failure(r, &err);
	}
	profile_free(p);
	ask_done(&a);
}
