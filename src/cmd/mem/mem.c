/* cresset mem: processes with allocations that can be recorded, and the library for that. */
#include "cmd/mem/mem.h"

static const struct cmd_opt mem_options[] = {
	ATTACH_OPTIONS(mem_opts),
	{ 0 },
};

static const struct subcommand subcommands[] = {
	{ "list", "", 0, mem_list_run },
	{ "attach", "the id of a process", 1, mem_attach_run },
	{ "detach", "the id of a process", 1, mem_detach_run },
	{ "status", "at most the id of a process", SUB_MAYBE, mem_status_run },
	{ 0 },
};

static int mem_run(struct cmd_line *line, const void *opts)
{
	return subcommand_run(line, subcommands, opts);
}

const struct cmd cmd_mem = {
	.name = "mem",
	.summary = "processes, and how their allocations are recorded",
	.usage = "list | attach PID | detach PID | status [PID] [OPTIONS]",
	.about = "list shows the processes of this machine, those with the most anonymous memory "
		 "first, and how their allocations are recorded, or could be. It changes "
		 "nothing. doctor PID has more about one process.\n"
		 "attach loads the library that samples allocations into a running process, "
		 "without a restart, as gpu attach does. It is parked, without cost, until "
		 "something reads it: up and agent with --events alloc,inuse do so, whatever "
		 "--mem-attach selects, and record -e alloc,inuse.\n"
		 "detach parks the library: all calls lead to the allocator as before, and the "
		 "memory for samples is free; a child of fork only stops sampling. No recording "
		 "takes the program until attach. Neither stops a thread of a program that has "
		 "the library.\n"
		 "status shows the library in each program that has it, or in one process: "
		 "whether it samples, for which agent, how often, losses and cost. Programs of "
		 "other users need root.",
	.examples = {
		"sudo cresset mem list\tprocesses by memory, and how each can be recorded",
		"sudo cresset mem attach 4242\tload the library into that process",
		"sudo cresset mem status\tsamples, losses and cost in each program",
	},
	.options = mem_options,
	.opts_size = sizeof(struct mem_opts),
	.min_args = 1,
	.max_args = 2,
	.arg_name = "list, attach, detach or status",
	.has_json = true,
	.run = mem_run,
};
