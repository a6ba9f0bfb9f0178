/* /api/v1/range, chart, heatmap: profiles over time. */
#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/parse.h"
#include "format/common/format.h"
#include "format/common/tree_bin.h"
#include "format/picture/flame_chart.h"
#include "format/picture/svg.h"
#include "format/table/table.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/sum.h"
#include "profile/tree/heatmap.h"
#include "profile/tree/time_range.h"
#include "query/answer_json.h"
#include "query/part.h"
#include "query/source.h"
#include "server/answer.h"
#include "server/query_params.h"
#include "server/request.h"
#include "server/route/handlers.h"

#include <errno.h>

#define SECOND INT64_C(1000000000)
enum { RANGE_STEPS = 200 }; /* default */

/* --- range ------------------------------------------------------------------------------------ */

static int ask_step(const struct query_params *a, int64_t *out, struct err *err)
{
	const char *text = request_param(a->r, "step");
	uint64_t step_ns = sum_sub(a->q.to_ns, a->q.from_ns) / RANGE_STEPS;
	if (text && (parse_duration(text, SECOND, &step_ns) < 0 || !step_ns || step_ns > INT64_MAX))
		return err_set(err, EINVAL, "parameter step: '%s' is not a time like 10s", text);
	*out = step_ns ? (int64_t)step_ns : 1;
	return 0;
}

static int answer_range(struct query_params *a, struct err *err)
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

static int answer_metric(struct query_params *a, struct err *err)
{
	struct query_metric m;
	struct buf b = { 0 };
	int64_t step_ns = 0;
	int word, rc = request_word(a->r, "reduce", query_reductions, &word, err);
	if (rc == 0)
		rc = ask_step(a, &step_ns, err);
	if (rc == 0 && !type_is_metric(&a->catalog->series.types.v[a->q.type]))
		rc = err_set(err, EINVAL, "not a metric; /api/v1/range has totals");
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

static void handle_steps(struct request *r, int (*answer)(struct query_params *a, struct err *err))
{
	struct query_params a = { .r = r };
	struct err err = { 0 };
	int rc = query_params_query(&a, r, &err);
	if (rc == 0)
		rc = answer(&a, &err);
	if (rc < 0)
		reply_failure(r, &err);
	query_params_done(&a);
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

/* Reads the samples of one type, with their times. */
static int ask_samples(struct query_params *a, struct request *r, struct tree_opts *tree,
		       struct profile **out, struct err *err)
{
	int rc = query_params_query(a, r, err);
	if (rc == 0)
		rc = query_root_frames(&a->q, tree, err);
	if (rc == 0)
		rc = query_profile(&a->q, true, out, NULL, err);
	tree->type = 0; /* the only type in *out */
	if (rc == 0 && !profile_has_times(*out))
		rc = err_set(err, EINVAL, "the samples here have no times");
	return rc;
}

/* write returns 0, or -errno with err set. */
static void answer_picture(struct request *r,
			   int (*write)(const void *ctx, struct out *out, struct err *err),
			   const void *ctx)
{
	struct err err = { 0 };
	struct out out;
	int rc = answer_open(&out, &err);
	if (rc < 0) {
		reply_failure(r, &err);
		return;
	}
	rc = write(ctx, &out, &err);
	answer_close(r, svg_type, &out, rc, &err);
	if (rc == 0)
		r->reply.policy = PICTURE_POLICY;
}

struct chart {
	struct profile *p;
	struct format_write_opts opts;
};

static int write_chart(const void *ctx, struct out *out, struct err *err)
{
	const struct chart *c = ctx;
	return chart_svg_write(c->p, &c->opts, out, err);
}

enum chart_format { CHART_SVG, CHART_BIN };
static const char *const chart_words[] = { "svg", "bin", NULL };
enum { CHART_PX = 1000, CHART_MAX_PX = 100000 };

static void write_chart_bin(struct query_params *a, struct profile *p, const struct tree_opts *tree)
{
	struct err err = { 0 };
	struct buf b = { 0 };
	uint64_t px;
	int rc = request_u64(a->r, "px", CHART_PX, CHART_MAX_PX, &px, &err);
	struct chart_bin_opts opts = { tree, a->q.from_ns, a->q.to_ns, px ? px : CHART_PX };
	if (rc == 0)
		rc = chart_bin_write(p, &opts, &b, &err);
	if (rc == 0)
		reply_body(a->r, TREE_BIN_TYPE, &b);
	else
		reply_failure(a->r, &err);
}

static void write_chart_as(struct query_params *a, struct profile *p, const struct tree_opts *tree,
			   int format)
{
	struct chart c = { p,
			   { .tree = *tree,
			     .title = request_param(a->r, "title"),
			     .palette = request_param(a->r, "palette") } };
	if (format == CHART_BIN)
		write_chart_bin(a, p, tree);
	else
		answer_picture(a->r, write_chart, &c);
}

void handle_chart(struct request *r)
{
	struct query_params a = { .r = r };
	struct tree_opts tree = { 0 };
	struct profile *p = NULL;
	struct err err = { 0 };
	int format, rc = request_word(r, "fmt", chart_words, &format, &err);
	if (rc == 0)
		rc = ask_samples(&a, r, &tree, &p, &err);
	if (rc == 0)
		write_chart_as(&a, p, &tree, format);
	else
		reply_failure(r, &err);
	profile_free(p);
	query_params_done(&a);
}

enum heat_format { HEAT_JSON, HEAT_CSV, HEAT_SVG };
static const char *const heat_words[] = { "json", "csv", "svg", NULL };

struct heatmap_picture {
	const struct profile *p;
	const struct heatmap *h;
};

static int write_heatmap_svg(const void *ctx, struct out *out, struct err *err)
{
	const struct heatmap_picture *picture = ctx;
	return heatmap_svg_write(picture->p, picture->h, out, err);
}

static void write_heatmap(struct request *r, const struct profile *p, const struct heatmap *h,
			  int format)
{
	struct buf b = { 0 };
	if (format == HEAT_SVG) {
		answer_picture(r, write_heatmap_svg, &(struct heatmap_picture){ p, h });
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
	struct query_params a = { .r = r };
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
	query_params_done(&a);
}
