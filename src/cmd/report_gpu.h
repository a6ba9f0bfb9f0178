/* cmd/report_gpu.h: --gpu-idle: how long GPUs had nothing to do, what ended that, and what their processes did meanwhile. */
#ifndef CRESSET_CMD_REPORT_GPU_H
#define CRESSET_CMD_REPORT_GPU_H

#include "cmd/cmd.h"
#include "cmd/filter.h"
#include "profile/profile.h"
#include "query/gpu_idle.h"

/* Onto standard output as text, CSV (gaps only) or JSON; at most top_n rows of each table. Returns an exit status. */
struct report_gpu_opts {
	uint32_t top_n;
	bool csv;
	double threshold; /* of readings of a file: a share; 0: GPU_IDLE_THRESHOLD */
};
int report_gpu_print(const struct cmd_line *line, const struct report_gpu_opts *opts,
		     const struct gpu_idle *idle);
/* Of --gpu-idle and --gpu-idle-threshold, in percent: an exit status. */
int report_gpu_check(const struct cmd_line *line, bool is_asked,
		     const struct opt_number *threshold);
/* What gpu_idle_build or gpu_idle_query failed with. */
int report_gpu_fail(int rc, const struct err *err);

/* Of a file. */
int report_gpu_idle(const struct cmd_line *line, const struct filter_opts *filter,
		    struct profile *p, const struct report_gpu_opts *opts);

#endif
