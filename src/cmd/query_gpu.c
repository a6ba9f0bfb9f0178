/* cresset query --gpu-idle: a selector chooses the samples of owners, and so the hosts. */
#include "base/log.h"
#include "cmd/query.h"
#include "cmd/report_gpu.h"

#include <errno.h>

/* Of a part of it exact times may be gone. */
static void note_exact(const struct gpu_idle *idle)
{
	if (idle->exact_from_ns)
		log_info("exact times are kept of the last hours only: what ran on GPUs before is "
			 "left out");
}

int query_gpu_idle(const struct query_cmd *c)
{
	const struct gpu_idle_opts how = { .threshold = c->opts->gpu_idle_threshold.v / 100 };
	const struct report_gpu_opts opts = { .top_n = c->opts->top_n, .csv = c->opts->csv };
	struct query q = c->q;
	struct gpu_idle idle = { 0 };
	struct err err = { 0 };
	if (gpu_idle_ask_type(&q, &err) < 0)
		return query_fail(&err);
	int rc = gpu_idle_query(&q, &how, &idle, &err);
	int status = rc == 0          ? report_gpu_print(c->line, &opts, &idle)
		     : rc == -ENODATA ? report_gpu_fail(rc, &err)
				      : query_fail(&err);
	if (rc == 0)
		note_exact(&idle);
	gpu_idle_done(&idle);
	return status;
}
