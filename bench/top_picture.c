/* What a picture of cresset top costs: FILE's samples are indexed, looked at and drawn 101 times, as they are each second. Prints the median and
 * the least of the CPU times, in ms. What it costs to bring it to a terminal is not in it: bench/top.sh measures all together. */
#include "base/clock.h"
#include "base/err.h"
#include "cmd/top/top.h"
#include "format/formats.h"
#include "profile/profile.h"
#include "query/source.h"
#include "tui/ui.h"

#include <stdio.h>
#include <stdlib.h>

enum { PICTURES = 101, CPUS = 2 };

struct again {
	struct feed base;
	struct profile *p;
	struct source *source;
	struct feed_cpu cpus[CPUS];
	int64_t from_ns, to_ns;
};

static int take(struct feed *base, bool with_waits, struct feed_take *out, struct err *err)
{
	struct again *a = (struct again *)base;
	(void)with_waits;
	(void)err;
	source_close(a->source);
	a->source = top_rows_open(a->p);
	*out = (struct feed_take){
		.cpu = a->cpus, .n_cpus = CPUS, .rate_hz = 99, .samples = a->p->samples.n
	};
	out->from_ns = out->history_ns = a->from_ns;
	out->to_ns = a->to_ns;
	return 0;
}

static struct source *source(struct feed *base)
{
	return ((struct again *)base)->source;
}

static int by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

int main(int argc, char **argv)
{
	static const struct feed_ops ops = { .take = take, .source = source };
	struct again a = { .base = { .ops = &ops, .what = "again", .goes_on = true },
			   .p = profile_new() };
	struct err err = { 0 };
	struct ui ui;
	uint64_t ns[PICTURES];
	if (argc != 2 || format_read_file(argv[1], NULL, profile_sink(a.p), &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	a.source = top_rows_open(a.p);
	a.source->ops->range(a.source, &a.from_ns, &a.to_ns);
	ui_init(&ui, &a.base, true, false);
	ui_resize(&ui, 30, 100);
	for (int i = 0; i < PICTURES; i++) {
		uint64_t begin_ns = clock_cpu_ns();
		ui_take(&ui, &err);
		ui_draw(&ui);
		ns[i] = clock_cpu_ns() - begin_ns;
	}
	qsort(ns, PICTURES, sizeof *ns, by_size);
	printf("%.3f %.3f\n", (double)ns[PICTURES / 2] / 1e6, (double)ns[0] / 1e6);
	ui_done(&ui);
	source_close(a.source);
	profile_free(a.p);
	return 0;
}
