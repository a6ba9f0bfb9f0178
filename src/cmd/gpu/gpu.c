/* cresset gpu: GPUs, and the library inside programs that use them. Each subcommand is a row of a
 * table, in a file of its own. */
#include "cmd/gpu/gpu.h"

#include <string.h>

#define PART(title, member) .group = title, .offset = offsetof(struct gpu_opts, member)
static const struct cmd_opt gpu_options[] = {
	{ "n", "dry-run", NULL, "only say what would be done, and to which thread", OPT_FLAG,
	  PART("Attaching", dry_run), .basic = true },
	{ NULL, "force", "WHY,...",
	  "attach in spite of: young, no-library, seccomp, user-namespace", OPT_CHOICES,
	  PART("Attaching", forced), .words = gpu_force_words, .basic = true },
	{ NULL, "library", "FILE", "attach this one instead of the one installed", OPT_STRING,
	  PART("Attaching", library) },
	{ NULL, "wait", "TIME", "look so long for a thread that can be stopped", OPT_DURATION,
	  PART("Attaching", wait_ns), .def = "5s" },
	{ NULL, "stacks", NULL, "each instruction as a folded stack, for a flame graph", OPT_FLAG,
	  PART("Code", stacks) },
	{ NULL, "image", "N",
	  "of a file with several cubins only this one, instruction by instruction", OPT_U64,
	  PART("Code", image) },
	{ 0 },
};

static const struct gpu_subcommand subcommands[] = {
	{ "list", "", 0, gpu_list_run },
	{ "attach", "the id of a process", 1, gpu_attach_run },
	{ "detach", "the id of a process", 1, gpu_detach_run },
	{ "status", "at most the id of a process", GPU_MAYBE, gpu_status_run },
	{ "code", "files", GPU_SOME, gpu_code_run },
};

static bool takes(const struct gpu_subcommand *s, size_t args)
{
	return s->args == GPU_SOME ? args >= 1 : s->args == GPU_MAYBE ? args <= 1 : args == s->args;
}

static int gpu_run(struct cmd_line *line, const void *opts)
{
	const char *what = line->args.v[0];

	for (size_t i = 0; i < sizeof subcommands / sizeof *subcommands; i++) {
		const struct gpu_subcommand *s = &subcommands[i];
		if (strcmp(what, s->name) != 0)
			continue;
		if (!takes(s, line->args.n - 1))
			return cmd_usage(line, s->args ? "%s takes %s" : "%s takes no argument",
					 s->name, s->takes);
		return s->run(line, opts);
	}
	return cmd_usage(line, "'%s' is not one of: list, attach, detach, status, code", what);
}

const struct cmd cmd_gpu = {
	.name = "gpu",
	.summary = "GPUs, who uses them, and what those programs are measured with",
	.usage = "list | attach PID | detach PID | status [PID] | code FILE... [OPTIONS]",
	.about = "list shows the GPUs of this machine: how busy they are, their memory, and the "
		 "processes that use them, as the driver tells. Without a GPU or a driver the "
		 "status is 4.\n"
		 "attach puts the library that measures GPU time into a process that runs "
		 "already, without restarting it. One thread that waits for something is stopped "
		 "for less than a millisecond, mostly, and goes on as it was; the library is "
		 "loaded by a thread of its own. Processes in which that could do harm are "
		 "refused, and told why. A second attach finds the library and does nothing. It "
		 "needs root.\n"
		 "detach has that library close its window, give its memory back and sleep: "
		 "nothing of it is in use any more. attach brings it back, and then stops no "
		 "thread.\n"
		 "status shows the library's state in each program that has it, or in this one: "
		 "parked, open, detached, or unusable and why; its CUPTI, its reader, losses and "
		 "cost; and whether probes are in the program's GPU libraries. "
		 "Programs of other users need root.\n"
		 "code lists what is in NVIDIA device code (cubin files, as nvcc -cubin makes "
		 "them): each instruction with its offset, its name, its line, and the functions "
		 "that were inlined around it. Lines need -lineinfo. Of programs, libraries and "
		 "fat binaries (nvcc -fatbin) it lists the cubins inside, for which devices they "
		 "are, and their functions; --image shows one of them as above.",
	.examples = {
		"sudo cresset gpu attach 4242\tputs the library into that process",
		"sudo cresset gpu status\twhat is measured how, and what it costs",
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
