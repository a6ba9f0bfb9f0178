/* cmd/gpu/gpu.h: the subcommands of cresset gpu. */
#ifndef CRESSET_CMD_GPU_GPU_H
#define CRESSET_CMD_GPU_GPU_H

#include "cmd/cli/cmd.h"

struct gpu_opts {
	bool dry_run;
	struct choice_list forced;
	const char *library;
	uint64_t wait_ns;
	bool stacks;
	uint64_t image; /* from 1 on; 0: all */
};
enum { GPU_SOME = UINT32_MAX, GPU_MAYBE = UINT32_MAX - 1 };
struct gpu_subcommand {
	const char *name;
	const char *takes; /* its argument */
	uint32_t args;     /* GPU_SOME: one or more; GPU_MAYBE: one or none */
	int (*run)(const struct cmd_line *line, const struct gpu_opts *o);
};

extern const char *const gpu_force_words[];
int gpu_list_run(const struct cmd_line *line, const struct gpu_opts *o);
int gpu_attach_run(const struct cmd_line *line, const struct gpu_opts *o);
int gpu_detach_run(const struct cmd_line *line, const struct gpu_opts *o);
int gpu_status_run(const struct cmd_line *line, const struct gpu_opts *o);
int gpu_code_run(const struct cmd_line *line, const struct gpu_opts *o);

#endif
