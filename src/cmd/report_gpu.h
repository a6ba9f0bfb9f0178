/* cmd/report_gpu.h: report --gpu-idle: how long GPUs had nothing to do, what ended that, and what their processes did meanwhile. */
#ifndef CRESSET_CMD_REPORT_GPU_H
#define CRESSET_CMD_REPORT_GPU_H

#include "cmd/cmd.h"
#include "cmd/filter.h"
#include "profile/profile.h"

/* Onto standard output as text, CSV (gaps only) or JSON; at most top_n rows of each table. Returns an exit status. */
int report_gpu_idle(const struct cmd_line *line, const struct filter_opts *filter,
		    struct profile *p, uint32_t top_n, bool csv);

#endif
