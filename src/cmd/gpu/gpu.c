/* cresset gpu: GPUs, and the library inside programs that use them. Each subcommand is a row of a
 * table, in a separate file. */
#include "cmd/gpu/gpu.h"

#define PART(title, member) .group = title, .offset = offsetof(struct gpu_opts, member)
static const struct cmd_opt gpu_options[] = {
	ATTACH_OPTIONS(gpu_opts),
	{ NULL, "stacks", NULL, "instructions as folded stacks, for a flame graph", OPT_FLAG,
	  PART("Code", stacks) },
	{ NULL, "image", "N", "show this cubin of a file with several, by instruction", OPT_U64,
	  PART("Code", image) },
	{ 0 },
};

static const struct subcommand subcommands[] = {
	{ "list", "", 0, gpu_list_run },
	{ "attach", "the id of a process", 1, gpu_attach_run },
	{ "detach", "the id of a process", 1, gpu_detach_run },
	{ "status", "at most the id of a process", SUB_MAYBE, gpu_status_run },
	{ "code", "files", SUB_SOME, gpu_code_run },
	{ 0 },
};

static int gpu_run(struct cmd_line *line, const void *opts)
{
	return subcommand_run(line, subcommands, opts);
}

const struct cmd cmd_gpu = {
	.name = "gpu",
	.summary = "GPUs, their processes, and the state of GPU profiling",
	.usage = "list | attach PID | detach PID | status [PID] | code FILE... [OPTIONS]",
	.about = "list shows the GPUs of this machine: utilization, memory, and the processes "
		"that use them, as the driver reports. Without a GPU or a driver the "
		 "status is 4.\n"
		 "attach loads the library that measures GPU time into a running process, "
		 "without a restart. One waiting thread is stopped, usually for less than a "
		 "millisecond, and then resumed; a separate thread loads the library. Processes "
		 "in which this could do harm are refused, with the reason. A second attach "
		 "finds the library and does nothing. It "
		 "needs root.\n"
		 "detach makes the library stop measuring, free its memory and sleep. attach "
		 "wakes it again, without stopping a thread.\n"
		 "status shows the state of the library in each program that has it, or in one "
		 "process: parked, open, detached, or unusable with the reason; its CUPTI, "
		 "reader, losses and cost; and whether probes are set in the program's GPU "
		 "libraries. "
		 "Programs of other users need root.\n"
		 "code disassembles NVIDIA device code (cubin files, made by nvcc -cubin): each "
		 "instruction with its offset, name, line and inlined functions. Lines need "
		 "-lineinfo. For programs, libraries and fat binaries (nvcc "
		 "-fatbin) it lists the cubins inside, their devices and functions; --image "
		 "disassembles one of them.",
	.examples = {
		"sudo cresset gpu attach 4242\tload the library into that process",
		"sudo cresset gpu status\tstate, losses and cost in each program",
		"cresset gpu code kernels.cubin\teach instruction with its line",
	},
	.options = gpu_options,
	.opts_size = sizeof(struct gpu_opts),
	.min_args = 1,
	.max_args = UINT32_MAX,
	.arg_name = "list, attach, detach, status or code",
	.has_json = true,
	.run = gpu_run,
};
