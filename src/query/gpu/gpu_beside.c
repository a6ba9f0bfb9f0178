/* Reads driver readings and idle times for a page. */
#include "query/gpu/gpu_beside.h"

#include "base/buf.h"
#include "base/err.h"
#include "format/common/format.h"
#include "gpu/device/metric.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/tree/select.h"
#include "profile/tree/time_range.h"
#include "query/answer_json.h"
#include "query/gpu/gpu_idle.h"
#include "query/query.h"
#include "query/source.h"

#include <errno.h>
#include <string.h>

#define LEAST_STEP_NS INT64_C(1000000000) /* drivers are read once a second */

/* --- metrics ---------------------------------------------------------------------------------- */

/* Returns whether a type is a GPU gauge that changes. */
static bool is_shown(const struct profile *p, uint32_t type)
{
	const struct type *t = &p->series.types.v[type];
	for (int i = 0; type_is_metric(t) && i < GPU_METRICS; i++)
		if (!gpu_metrics[i].is_slow && !gpu_metrics[i].is_counter &&
		    strcmp(gpu_metrics[i].name, profile_str(p, t->name)) == 0)
			return true;
	return false;
}

static int put_metric(const struct query *q, struct buf *json, struct err *err)
{
	struct query_metric m;
	int64_t length_ns = q->to_ns - q->from_ns, step_ns = length_ns / GPU_BESIDE_STEPS + 1;
	int rc = query_metric(q, METRIC_AVG, step_ns > LEAST_STEP_NS ? step_ns : LEAST_STEP_NS, &m,
			      err);
	if (rc == 0) {
		metric_json(q, &m, METRIC_AVG, json);
		query_metric_done(&m);
	}
	return rc;
}

static int put_metrics(struct profile *p, struct buf *json, struct err *err)
{
	struct source *s = source_of_profile(p);
	struct query q = { .source = s,
			   .by = { "host", "gpu", "task", "clock", "direction", "reason" },
			   .n_by = 6 };
	bool any = false;
	int rc = 0;
	s->ops->range(s, &q.from_ns, &q.to_ns);
	for (; rc == 0 && q.type < p->series.types.n; q.type++) {
		if (q.to_ns <= q.from_ns || !is_shown(p, q.type))
			continue;
		buf_adds(json, any ? "," : "");
		any = true;
		rc = put_metric(&q, json, err);
	}
	source_close(s);
	return rc;
}

/* --- idle times ------------------------------------------------------------------------------- */

static int put_idle(struct profile *p, const struct format_write_opts *opts, struct buf *json,
		    struct err *err)
{
	struct tree_opts tree = opts->tree;
	struct gpu_idle idle = { 0 };
	struct err why = { 0 };
	tree.type = gpu_idle_type(p);
	tree.n_by = tree.max_depth = 0;
	tree.inverted = false;
	int rc = gpu_idle_of_file(p, &tree, 0, &idle, &why);
	if (rc == 0)
		rc = gpu_idle_json(&idle, GPU_BESIDE_ROWS, json, &why);
	gpu_idle_done(&idle);
	if (rc == -ENODATA) {
		buf_adds(json, "null");
		return 0;
	}
	if (rc)
		*err = why;
	return rc;
}

/* --- both ------------------------------------------------------------------------------------- */

static bool has_type(const struct profile *p, const char *name)
{
	for (uint32_t i = 0; i < p->series.types.n; i++)
		if (strcmp(profile_str(p, p->series.types.v[i].name), name) == 0)
			return true;
	return false;
}

static bool tells_of_gpus(const struct profile *p)
{
	return profile_has_times(p) && (has_type(p, "gpu-time") || p->readings.all.n);
}

/* Both queries add series and separate samples, so they get a copy. */
static int copy_whole(struct profile *p, struct profile **own, struct err *err)
{
	static const struct select_opts everything = { 0 };
	return profile_select(p, &everything, own, err);
}

static int begin(struct profile *own, const char *part, int64_t part_ns, struct buf *json,
		 struct err *err)
{
	buf_addf(json, "{\"start_ns\":%lld,\"part\":\"cresset %s\",\"part_ns\":%lld,\"metrics\":[",
		 (long long)own->meta.start_wall_ns, part, (long long)part_ns);
	int rc = put_metrics(own, json, err);
	buf_adds(json, "],\"idle\":");
	return rc;
}

int query_gpu_beside(struct profile *p, const struct format_write_opts *opts, struct buf *json,
		     struct err *err)
{
	struct profile *own;
	if (!tells_of_gpus(p))
		return 0;
	int rc = copy_whole(p, &own, err);
	if (rc)
		return rc;
	rc = begin(own, "report --gpu-idle --time As-Bs", 0, json, err);
	rc = rc ? rc : put_idle(own, opts, json, err);
	buf_addc(json, '}');
	profile_free(own);
	return rc;
}

int query_gpu_beside_answer(struct profile *p, const struct format_write_opts *opts,
			    struct buf *json, struct err *err)
{
	const struct buf *idle = opts->beside_of;
	struct profile *own;
	if (!idle->len && !tells_of_gpus(p))
		return 0;
	int rc = copy_whole(p, &own, err);
	if (rc)
		return rc;
	/* Without a clock, the response's times are the source's as well. */
	bool is_unix = own->meta.start_wall_ns != 0;
	if (!is_unix)
		own->meta.start_wall_ns = own->meta.start_mono_ns;
	rc = begin(own,
		   is_unix ? "query --gpu-idle --from A --to B"
			   : "query --gpu-idle --from start+As --to start+Bs",
		   own->meta.start_wall_ns, json, err);
	if (idle->len)
		buf_add(json, idle->data, idle->len);
	else
		buf_adds(json, "null");
	buf_addc(json, '}');
	profile_free(own);
	return rc;
}
