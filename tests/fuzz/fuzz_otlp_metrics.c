// tier: test
/* Any bytes as OTLP metrics: what was read is, written and read again, the same points of as many series; nothing more is refused. */
#include "format/otlp/otlp_metrics.h"

#include "base/buf.h"
#include "profile/profile.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool truth)
{
	if (!truth)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile *p = profile_new();
	struct otlp_metrics m = { 0 }, again = { 0 };
	struct buf b = { 0 };
	if (otlp_metrics_decode(data, size, p, &m, NULL) == 0) {
		otlp_metrics_encode(&m, p, &b);
		must(otlp_metrics_decode(b.data, b.len, p, &again, NULL) == 0);
		must(again.points.n == m.points.n && otlp_metrics_refused(&again) == 0);
	}
	buf_done(&b);
	otlp_metrics_done(&m);
	otlp_metrics_done(&again);
	profile_free(p);
	return 0;
}
