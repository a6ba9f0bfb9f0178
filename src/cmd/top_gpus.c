#include "cmd/top_gpus.h"

#include "cmd/gpu_env.h"

#include <stdio.h>

void top_gpus_init(struct top_gpus *g)
{
	g->watch = gpu_watch_start(&(struct gpu_watch_opts){ .source = gpu_env() });
}

void top_gpus_done(struct top_gpus *g)
{
	gpu_watch_stop(g->watch);
	gpu_now_done(&g->now);
}

void top_gpus_look(struct top_gpus *g, char *out, size_t size)
{
	struct buf b = { 0 };

	if (g->watch)
		gpu_now_take(&g->now, g->watch);
	for (uint32_t i = 0; i < g->now.machine.devices.n; i++) {
		if (g->now.machine.devices.v[i].is_instance)
			continue;
		buf_addf(&b, "%sGPU %s: ", b.len ? "   " : "", g->now.machine.devices.v[i].label);
		gpu_now_words(&g->now, i, &b);
	}
	if (g->now.status.hangs_ns)
		buf_adds(&b, b.len ? "   (the driver does not answer)" : "");
	snprintf(out, size, "%s", buf_cstr(&b));
	buf_done(&b);
}
