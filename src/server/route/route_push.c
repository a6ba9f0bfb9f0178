/* POST /api/v1/profiles: a profile in any known format, detected by content. /debug/ingest: the
 * senders. */
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "profile/profile.h"
#include "profile/relabel.h"
#include "profile/sum.h"
#include "profile/tree/time_range.h"
#include "query/time.h"
#include "server/query_params.h"
#include "server/request.h"
#include "server/route/handlers.h"
#include "server/tenant.h"
#include "server/upload.h"

#include <errno.h>
#include <string.h>

enum { MAX_LABELS = 64 };
/* Sample times from 2000 on are Unix time; other clocks start with the machine or program. */
#define UNIX_TIMES_NS INT64_C(946684800000000000)

/* --- parameters ------------------------------------------------------------------------------- */

/* The start time, if the body has none: from, else the duration before `to`, else before now. */
static int settle_time(const struct request *r, struct profile *p, struct err *err)
{
	struct time_words words = { .now_ns = (int64_t)clock_wall_ns() };
	const char *from = request_param(r, "from"), *to = request_param(r, "to");
	int64_t first_ns = profile_first_ns(p), from_ns, to_ns = words.now_ns;
	int rc = to ? time_parse(to, &words, "parameter to", &to_ns, err) : 0;
	from_ns = sum_sub(to_ns, p->meta.duration_ns);
	if (rc == 0 && from)
		rc = time_parse(from, &words, "parameter from", &from_ns, err);
	if (rc == 0 && to && from_ns > to_ns)
		rc = err_set(err, EINVAL, "parameter to is earlier than parameter from");
	if (rc || p->meta.start_wall_ns || first_ns >= UNIX_TIMES_NS)
		return rc;
	p->meta.start_wall_ns = from_ns;
	p->meta.start_mono_ns = first_ns;
	return 0;
}

static int add_labels(const struct request *r, struct profile *p, struct err *err)
{
	const char *labels[MAX_LABELS], *text;
	size_t n = 0;
	while ((text = request_param_n(r, "label", n))) {
		if (!strchr(text, '=') || *text == '=')
			return err_set(err, EINVAL, "parameter label: '%.60s' is not KEY=VALUE",
				       text);
		if (n == MAX_LABELS - 1)
			return err_set(err, EINVAL, "more than %d labels", MAX_LABELS - 1);
		labels[n++] = text;
	}
	profile_add_labels(p, labels, n);
	return 0;
}

/* Gives all types of one file the same name. */
static void name_types(struct profile *p, const char *name)
{
	size_t n = p->series.series.n;
	uint32_t *now = xcalloc(n + 1, sizeof *now);
	for (size_t i = 0; i < n; i++) {
		struct series s = p->series.series.v[i];
		struct type type = p->series.types.v[s.type];
		type.name = strtab_put(&p->strings, name);
		s.type = type_intern(&p->series, &type);
		now[i] = series_intern(&p->series, &s);
	}
	for (size_t i = 0; i < p->samples.n; i++)
		p->samples.series[i] = now[p->samples.series[i]];
	free(now);
}

/* --- the route -------------------------------------------------------------------------------- */

static void reply_push(struct upload *a)
{
	struct buf b = { 0 };
	struct json j = json_to(&b);
	struct err err = { 0 };
	if (a->expired && a->expired == a->news.samples + a->points.n) {
		/* Nothing of it can ever be queried. */
		err_set(&err, EINVAL, "all %llu samples and points are older than the retention",
			(unsigned long long)a->expired);
		err_hint(&err, "/api/v1/status has its start; check the clocks of both sides");
		reply_error(a->r, 422, &err);
		return;
	}
	json_obj(&j);
	json_key_u64(&j, "samples", a->news.samples);
	if (a->points.n)
		json_key_u64(&j, "points", a->points.n);
	if (a->rejected)
		json_key_u64(&j, "rejected", a->rejected);
	if (a->expired)
		json_key_u64(&j, "expired", a->expired);
	json_key_bool(&j, "duplicate", a->news.duplicate);
	json_end(&j);
	buf_addc(&b, '\n');
	reply_body(a->r, "application/json", &b);
}

static unsigned status_of(int rc)
{
	switch (rc) {
	case -EFBIG:
	case -E2BIG:
	case -ENOMEM:
		return 413;
	case -EBUSY:
	case -ECANCELED:
	case -ETIME:
		return 503;
	}
	return 400;
}

void handle_push(struct request *r)
{
	struct upload *a = upload_new(r);
	struct err err = { 0 };
	if (!a || !upload_unpack(a)) /* r was served, and is gone */
		return;
	const char *type = request_param(r, "type");
	struct profile *p = upload_profile(a);
	struct guard_limits limits = query_params_limits(r); /* a few bytes may expand to much */
	int rc = body_read_profile(r, p, &limits, &err);
	if (rc == 0)
		rc = settle_time(r, p, &err);
	if (rc == 0)
		rc = add_labels(r, p, &err);
	if (rc < 0) {
		if (rc == -ENOMEM)
			err_hint(&err, "send it in parts; --memory of the server sets the limit");
		upload_refuse(a, status_of(rc), &err);
		return;
	}
	if (type && *type)
		name_types(p, type);
	/* If its names cannot be compared, the store cannot show any. */
	if (r->tenant->own && store_own_files(r->tenant->own, &a->in.batch.p, NULL) == 0)
		p = a->in.batch.p;
	/* A recording's readings become metrics here. A batch has a maximum of points: the others
	 * are left out and counted. */
	struct reading_place at = { 0 };
	metric_samples_add_readings(p, &at, &a->points);
	a->rejected = a->news.rejected = p->readings.n_points - a->points.n;
	if (a->rejected)
		buf_addf(&a->why, "%llu readings beyond the limit of %d per request",
			 (unsigned long long)a->rejected, METRIC_MAX_BATCH_POINTS);
	a->reply = reply_push;
	upload_commit(a);
}

void handle_debug_ingest(struct request *r)
{
	struct buf b = { 0 };
	struct json j = json_to(&b);
	senders_json(&r->tenant->senders, &j);
	buf_addc(&b, '\n');
	reply_body(r, "application/json", &b);
}
