// tier: test
/* Any bytes as a file of /proc that tells of the host; the first byte says which. Whatever is put is a number that a store takes, and a message with
 * all of it. */
#include "base/buf.h"
#include "collect/host/host_points.h"
#include "collect/host/host_processes.h"
#include "collect/host/host_sources.h"
#include "format/otlp/otlp_metrics.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool has_even_name(void *ctx, const char *name)
{
	(void)ctx;
	return name[0] % 2 == 0;
}

static void read_process(struct cur text)
{
	struct host_process_facts f;

	host_process_parse(text, 100, 4096, &f);
}

static void read_text(int kind, struct cur text, struct host_points *w)
{
	const struct host_device_facts facts = { .is_disk = has_even_name,
						 .is_hardware = has_even_name };
	struct host_cpu c;

	host_cpu_init(&c);
	switch (kind) {
	case 0:
		host_cpu_put_stat(&c, text, w);
		break;
	case 1:
		host_cpu_put_schedstat(text, w);
		break;
	case 2:
		host_cpu_put_load(text, w);
		host_cpu_look(&c, text);
		host_cpu_put_run_queue(&c, w);
		break;
	case 3:
		host_memory_put(text, w);
		break;
	case 4:
		host_pressure_put("cpu", text, w);
		break;
	case 5:
		host_disks_put(text, &facts, w);
		break;
	case 6:
		host_networks_put(text, &facts, w);
		break;
	default:
		read_process(text);
	}
	host_cpu_done(&c);
}

static void check(struct host_points *w)
{
	struct otlp_metrics again = { 0 };
	struct buf b = { 0 };

	for (size_t i = 0; i < w->m.points.n; i++)
		if (!isfinite(w->m.points.v[i].value) || w->m.points.v[i].value < 0)
			abort();
	otlp_metrics_encode(&w->m, w->p, &b);
	if (otlp_metrics_decode(b.data, b.len, w->p, &again, NULL) ||
	    again.points.n != w->m.points.n)
		abort();
	otlp_metrics_done(&again);
	buf_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct host_points w;

	if (!size)
		return 0;
	host_points_init(&w, "h");
	w.time_ns = 1;
	read_text(data[0] - '0', cur_of(data + 1, size - 1), &w);
	check(&w);
	host_points_done(&w);
	return 0;
}
