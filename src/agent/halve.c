#include "agent/halve.h"

#include "format/otlp.h"
#include "format/otlp_metrics.h"
#include "profile/rows.h"

#include <errno.h>

static int encode_part(struct profile *p, size_t first, size_t n, struct half *out, struct err *err)
{
	const struct otlp_encode_opts opts = { 0 };
	struct sample_columns all = p->samples;

	p->samples = sample_rows(&all, first, n);
	out->samples = n;
	int rc = otlp_encode(p, &opts, &out->message, err);
	p->samples = all;
	return rc;
}

int otlp_halve(const void *data, size_t len, struct half out[2], struct err *err)
{
	struct profile *p = profile_new();
	int rc = otlp_decode(data, len, "a batch", profile_sink(p), NULL, err);
	size_t n = p->samples.n, half = n / 2;

	if (!rc && n < 2)
		rc = err_set(err, E2BIG, "%zu samples cannot be halved", n);
	if (!rc)
		rc = encode_part(p, 0, half, &out[0], err);
	if (!rc)
		rc = encode_part(p, half, n - half, &out[1], err);
	profile_free(p);
	return rc;
}

/* --- metrics ---------------------------------------------------------------------------------- */

static void encode_points(const struct otlp_metrics *all, struct profile *p, size_t first, size_t n,
			  struct half *out)
{
	struct otlp_metrics part = { 0 };

	for (size_t i = first; i < first + n; i++) {
		struct otlp_point point = all->points.v[i];

		point.series = otlp_series_intern(&part, &all->series.v[point.series]);
		vec_push(&part.points, point);
	}
	out->samples = n;
	otlp_metrics_encode(&part, p, &out->message);
	otlp_metrics_done(&part);
}

int otlp_halve_metrics(const void *data, size_t len, struct half out[2], struct err *err)
{
	struct profile *p = profile_new();
	struct otlp_metrics m = { 0 };
	int rc = otlp_metrics_decode(data, len, p, &m, err);
	size_t n = m.points.n, half = n / 2;

	if (!rc && n < 2)
		rc = err_set(err, E2BIG, "%zu points cannot be halved", n);
	if (!rc) {
		encode_points(&m, p, 0, half, &out[0]);
		encode_points(&m, p, half, n - half, &out[1]);
	}
	otlp_metrics_done(&m);
	profile_free(p);
	return rc;
}
