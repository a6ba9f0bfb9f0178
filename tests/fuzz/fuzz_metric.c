// tier: test
/* Any bytes as a block of a metric series: times ascend, no more points than four a byte; written and read again they are the same;
 * and reduced to steps of 1 ns the first one is what it was. */
#include "base/buf.h"
#include "base/vec.h"
#include "store/codec/metric.h"
#include "store/codec/metric_steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STEPS = 50 };

static void must(bool truth)
{
	if (!truth)
		abort();
}

static void write_again(const struct metric_points *p)
{
	struct buf b = { 0 };
	struct metric_points again = { 0 };
	metric_encode(p->v, p->n, &b);
	must(metric_decode(b.data, b.len, &again, NULL) == 0 && again.n == p->n);
	must(p->n == 0 || memcmp(again.v, p->v, p->n * sizeof *p->v) == 0);
	vec_done(&again);
	buf_done(&b);
}

static void reduce(const struct metric_points *p, enum metric_kind kind, enum metric_reduction how)
{
	struct metric_steps s;
	struct metric_steps_opts opts = { kind, how, p->v[0].time_ns, 1, STEPS, 0 };
	double out[STEPS];
	opts.from_ns -= opts.from_ns > INT64_MAX - STEPS ? STEPS : 0;
	metric_steps_init(&s, &opts);
	metric_steps_add(&s, p->v, p->n);
	metric_steps_get(&s, out);
	if (kind == METRIC_GAUGE && how != METRIC_RATE && opts.from_ns == p->v[0].time_ns &&
	    isfinite(p->v[0].value))
		must(out[0] == p->v[0].value);
	metric_steps_done(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct metric_points p = { 0 };
	if (metric_decode(data, size, &p, NULL) == 0) {
		must(p.n <= 4 * size);
		for (size_t i = 1; i < p.n; i++)
			must(p.v[i - 1].time_ns < p.v[i].time_ns);
		write_again(&p);
		for (int kind = 0; p.n && kind < 2; kind++)
			for (int how = 0; how < 4; how++)
				reduce(&p, kind, how);
	}
	vec_done(&p);
	return 0;
}
