/* POST /v1development/profiles, POST /v1/metrics: OTLP over HTTP, as messages of protobuf
 * (https://opentelemetry.io/docs/specs/otlp/#otlphttp). */
#include "format/otlp.h"
#include "format/otlp_metrics.h"
#include "server/arrival.h"
#include "server/handlers.h"

#include <errno.h>
#include <string.h>

#define PROTOBUF "application/x-protobuf"

static unsigned check_type(const struct request *r, struct err *err)
{
	const char *type = r->heads.content_type ? r->heads.content_type : "";
	size_t n = strcspn(type, "; ");
	if (n == strlen(PROTOBUF) && strncasecmp(type, PROTOBUF, n) == 0)
		return 0;
	err_set(err, EINVAL, "Content-Type '%.60s' is not taken, %s is", type, PROTOBUF);
	return 415;
}

/* NULL: it was answered. */
static struct arrival *begin(struct request *r)
{
	struct arrival *a = arrival_new(r);
	struct err err = { 0 };
	unsigned status = a ? check_type(r, &err) : 0;
	if (status)
		arrival_refuse(a, status, &err);
	return a && !status && arrival_unpack(a) ? a : NULL;
}

static void reply_otlp(struct arrival *a)
{
	struct buf b = { 0 };
	otlp_answer_encode(a->rejected, a->news.why, &b);
	reply_body(a->r, PROTOBUF, &b);
}

/* --- profiles --------------------------------------------------------------------------------- */

void handle_otlp_profiles(struct request *r)
{
	struct arrival *a = begin(r);
	struct otlp_summary sum = { 0 };
	struct err err = { 0 };
	if (!a)
		return;
	int rc = otlp_decode(r->body.data.data, r->body.data.len, "the body",
			     profile_sink(arrival_profile(a)), &sum, &err);
	if (rc < 0) {
		arrival_refuse(a, rc == -EFBIG ? 413 : 400, &err);
		return;
	}
	a->news.frames = sum.frames;
	a->news.unnamed_frames = sum.unnamed_frames;
	a->news.rejected = sum.rejected_samples;
	a->rejected = sum.rejected_profiles;
	if (sum.rejected_samples || sum.rejected_profiles)
		buf_addf(&a->why, "%llu samples and %llu profiles are damaged",
			 (unsigned long long)sum.rejected_samples,
			 (unsigned long long)sum.rejected_profiles);
	a->reply = reply_otlp;
	arrival_commit(a);
}

/* --- metrics ---------------------------------------------------------------------------------- */

/* Ids of the profile's series, by those of m. Differences have none: adding them up would need to know that none is missing. */
static uint32_t *intern_series(const struct otlp_metrics *m, struct profile *p)
{
	uint32_t *ids = xcalloc(m->series.n + 1, sizeof *ids);
	for (size_t i = 0; i < m->series.n; i++) {
		const struct otlp_series *s = &m->series.v[i];
		enum metric_kind kind = s->kind == OTLP_COUNTER ? METRIC_COUNTER : METRIC_GAUGE;
		ids[i] = s->kind == OTLP_INCREMENTS
				 ? UINT32_MAX
				 : metric_series(p, profile_str(p, s->name),
						 profile_str(p, s->unit), kind, s->labels);
	}
	return ids;
}

/* Returns how many points are left out. */
static uint64_t take_points(struct arrival *a, const struct otlp_metrics *m)
{
	uint32_t *ids = intern_series(m, a->in.batch.p);
	uint64_t left_out = 0;
	for (size_t i = 0; i < m->points.n; i++) {
		const struct otlp_point *point = &m->points.v[i];
		if (ids[point->series] == UINT32_MAX)
			left_out++;
		else
			vec_push(&a->points,
				 (struct metric_sample){ ids[point->series], point->time_ns,
							 point->value });
	}
	free(ids);
	return left_out;
}

static void say_refused(struct arrival *a, const struct otlp_metrics *m, uint64_t increments)
{
	a->rejected = a->news.rejected = otlp_metrics_refused(m) + increments;
	for (int i = 0; i < OTLP_REFUSALS; i++)
		if (m->refused[i])
			buf_addf(&a->why, "%s%llu points: %s", a->why.len ? "; " : "",
				 (unsigned long long)m->refused[i], otlp_refusal_names[i]);
	if (increments)
		buf_addf(&a->why,
			 "%s%llu points of delta temporality: let the sender add up (cumulative)",
			 a->why.len ? "; " : "", (unsigned long long)increments);
}

void handle_otlp_metrics(struct request *r)
{
	struct arrival *a = begin(r);
	struct otlp_metrics m = { 0 };
	struct err err = { 0 };
	if (!a)
		return;
	int rc = otlp_metrics_decode(r->body.data.data, r->body.data.len, arrival_profile(a), &m,
				     &err);
	if (rc == 0)
		say_refused(a, &m, take_points(a, &m));
	otlp_metrics_done(&m);
	if (rc < 0) {
		arrival_refuse(a, rc == -EFBIG ? 413 : 400, &err);
		return;
	}
	a->reply = reply_otlp;
	arrival_commit(a);
}
