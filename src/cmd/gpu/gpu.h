/* cmd/gpu/gpu.h: the subcommands of cresset gpu. */
#ifndef CRESSET_CMD_GPU_GPU_H
#define CRESSET_CMD_GPU_GPU_H

#include "cmd/attach/attach_cmd.h"

struct gpu_opts {
	struct attach_options attach;
	bool stacks;
	uint64_t image; /* from 1 on; 0: all */
};

int gpu_list_run(const struct cmd_line *line, const void *opts);
int gpu_attach_run(const struct cmd_line *line, const void *opts);
int gpu_detach_run(const struct cmd_line *line, const void *opts);
int gpu_status_run(const struct cmd_line *line, const void *opts);
int gpu_code_run(const struct cmd_line *line, const void *opts);

#endif
