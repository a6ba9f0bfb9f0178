/* POST /v1development/profiles, POST /v1/metrics: OTLP over HTTP, as protobuf messages
 * (https://opentelemetry.io/docs/specs/otlp/#otlphttp). */
#include "base/buf.h"
#include "base/err.h"
#include "format/otlp/otlp.h"
#include "format/otlp/otlp_metrics.h"
#include "profile/profile.h"
#include "server/request.h"
#include "server/route/handlers.h"
#include "server/tenant.h"
#include "server/upload.h"

#include <errno.h>
#include <string.h>

#define PROTOBUF "application/x-protobuf"

static unsigned check_type(const struct request *r, struct err *err)
{
	const char *type = r->heads.content_type ? r->heads.content_type : "";
	size_t n = strcspn(type, "; ");
	if (n == strlen(PROTOBUF) && strncasecmp(type, PROTOBUF, n) == 0)
		return 0;
	err_set(err, EINVAL, "Content-Type '%.60s' is not supported; use %s", type, PROTOBUF);
	return 415;
}

/* Returns NULL if the request was served. */
static struct upload *begin(struct request *r)
{
	struct upload *a = upload_new(r);
	struct err err = { 0 };
	unsigned status = a ? check_type(r, &err) : 0;
	if (status)
		upload_refuse(a, status, &err);
	return a && !status && upload_unpack(a) ? a : NULL;
}

static void reply_otlp(struct upload *a)
{
	struct buf b = { 0 };
	otlp_answer_encode(a->rejected, a->news.why, &b);
	reply_body(a->r, PROTOBUF, &b);
}

static void reply_metrics(struct upload *a)
{
	a->rejected += a->expired;
	reply_otlp(a);
}

/* --- profiles --------------------------------------------------------------------------------- */

static int decode_profiles(struct upload *a, struct otlp_summary *sum, struct err *err)
{
	const struct buf *body = &a->r->body.data;
	struct sink *sink = profile_sink(upload_profile(a));
	if (!a->news.is_agent)
		return otlp_decode(body->data, body->len, "the body", sink, sum, err);
	sender_stacks_use_begin(&a->known, tenant_store(a->r->tenant));
	int rc = otlp_decode_known(body->data, body->len, "the body", sink, &a->known.message, sum,
				   err);
	sender_stacks_use_rows(&a->known);
	a->in.batch.known = &a->known.rows;
	return rc;
}

static void take_profiles(struct upload *a)
{
	struct otlp_summary sum = { 0 };
	struct err err = { 0 };
	int rc = decode_profiles(a, &sum, &err);
	if (rc < 0) {
		upload_refuse(a, rc == -EFBIG ? 413 : 400, &err);
		return;
	}
	a->news.frames = sum.frames;
	a->news.unnamed_frames = sum.unnamed_frames;
	a->news.rejected = sum.rejected_samples;
	a->rejected = sum.rejected_profiles;
	buf_clear(&a->why);
	if (sum.rejected_samples || sum.rejected_profiles)
		buf_addf(&a->why, "%llu samples and %llu profiles are damaged",
			 (unsigned long long)sum.rejected_samples,
			 (unsigned long long)sum.rejected_profiles);
	a->reply = reply_otlp;
	upload_commit(a);
}

/* The known stacks are stale: decodes the whole message. */
static void take_profiles_again(struct upload *a)
{
	profile_free(a->in.batch.p);
	sender_stacks_use_done(&a->known);
	take_profiles(a);
}

void handle_otlp_profiles(struct request *r)
{
	struct upload *a = begin(r);
	if (!a)
		return;
	if (a->news.is_agent)
		senders_stacks(&r->tenant->senders, a->id, &a->known.before);
	a->again = take_profiles_again;
	take_profiles(a);
}

/* --- metrics ---------------------------------------------------------------------------------- */

void handle_otlp_metrics(struct request *r)
{
	struct upload *a = begin(r);
	struct otlp_metrics m = { 0 };
	struct err err = { 0 };
	if (!a)
		return;
	a->may_be_key = false; /* they are short, and would replace the key of the profiles */
	int rc = otlp_metrics_decode(r->body.data.data, r->body.data.len, upload_profile(a), &m,
				     &err);
	if (rc == 0) {
		otlp_metrics_points(&m, a->in.batch.p, &a->points);
		a->rejected = a->news.rejected = otlp_metrics_refused(&m);
		for (int i = 0; i < OTLP_REFUSALS; i++)
			if (m.refused[i])
				buf_addf(&a->why, "%s%llu points: %s", a->why.len ? "; " : "",
					 (unsigned long long)m.refused[i], otlp_refusal_names[i]);
	}
	otlp_metrics_done(&m);
	if (rc < 0) {
		upload_refuse(a, rc == -EFBIG ? 413 : 400, &err);
		return;
	}
	a->reply = reply_metrics;
	upload_commit(a);
}
