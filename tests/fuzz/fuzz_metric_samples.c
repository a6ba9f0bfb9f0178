// tier: test
/* Any bytes as the points of a batch: no more than a batch takes, each series in order; written and read again they are the same. */
#include "base/vec.h"
#include "store/codec/metric_samples.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool truth)
{
	if (!truth)
		abort();
}

static bool is_last(const struct metric_samples *m, size_t i)
{
	for (size_t k = i + 1; k < m->n; k++)
		if (m->v[k].series == m->v[i].series && m->v[k].time_ns == m->v[i].time_ns)
			return false;
	return true;
}

/* Of each moment the last point. */
static void write_again(const struct metric_samples *m)
{
	struct metric_samples again = { 0 };
	struct buf b = { 0 }, same = { 0 };
	size_t n = 0;

	metric_samples_encode(m, &b);
	must(metric_samples_decode(cur_of(b.data, b.len), &again) && again.n <= m->n);
	for (size_t i = 0; m->n < 1000 && i < m->n; i++)
		n += is_last(m, i);
	must(m->n >= 1000 || n == again.n);
	metric_samples_encode(&again, &same);
	must(same.len == b.len && (b.len == 0 || memcmp(same.data, b.data, b.len) == 0));
	vec_done(&again);
	buf_done(&b);
	buf_done(&same);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct metric_samples m = { 0 };

	if (metric_samples_decode(cur_of(data, size), &m)) {
		must(m.n <= METRIC_MAX_BATCH_POINTS && m.n <= 4 * size);
		write_again(&m);
	}
	vec_done(&m);
	return 0;
}
