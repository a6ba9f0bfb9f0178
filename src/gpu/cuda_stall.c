#include "gpu/cuda_stall.h"

#include <string.h>

/* The reasons of CUPTI 11 to 13 (cuptiPCSamplingGetStallReasons; meanings: Nsight Compute's "Warp Stall Reasons"). */
static const struct {
	const char *reason, *words;
} reasons[] = {
	{ "barrier", "barrier" },
	{ "branch_resolving", "branch" },
	{ "dispatch_stall", "dispatch" },
	{ "drain", "stores at exit (drain)" },
	{ "gmma", "tensor cores (gmma)" },
	{ "imc_miss", "constant cache miss (imc)" },
	{ "lg_throttle", "memory queue full (lg throttle)" },
	{ "long_scoreboard", "memory (long scoreboard)" },
	{ "math_pipe_throttle", "math pipe busy" },
	{ "membar", "memory barrier" },
	{ "mio_throttle", "shared memory queue full (mio throttle)" },
	{ "misc", "other" },
	{ "no_instructions", "instruction fetch" },
	{ "no_instruction", "instruction fetch" },
	{ "not_selected", "other warp chosen (not selected)" },
	{ "selected", "running (selected)" },
	{ "short_scoreboard", "shared memory or special math (short scoreboard)" },
	{ "sleeping", "sleeping" },
	{ "tex_throttle", "texture queue full (tex throttle)" },
	{ "wait", "fixed latency (wait)" },
	{ "warpgroup_arrive", "warpgroup (arrive)" },
};

static bool equals(const char *name, const char *s, size_t len)
{
	return strlen(name) == len && memcmp(name, s, len) == 0;
}

const char *cuda_stall_name(const char *cupti, char text[CUDA_STALL_MAX], bool *not_issued)
{
	static const char prefix[] = "smsp__pcsamp_warps_issue_stalled_", behind[] = "_not_issued";
	size_t len = strlen(cupti);
	if (strncmp(cupti, prefix, sizeof prefix - 1) == 0) {
		cupti += sizeof prefix - 1;
		len -= sizeof prefix - 1;
	}
	*not_issued = len > sizeof behind - 1 &&
		      memcmp(cupti + len - (sizeof behind - 1), behind, sizeof behind - 1) == 0;
	len -= *not_issued ? sizeof behind - 1 : 0;
	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
		if (equals(reasons[i].reason, cupti, len))
			return reasons[i].words;
	len = len < CUDA_STALL_MAX - 1 ? len : CUDA_STALL_MAX - 1;
	for (size_t i = 0; i < len; i++)
		text[i] = cupti[i] == '_' ? ' ' : cupti[i];
	text[len] = '\0';
	return text;
}
