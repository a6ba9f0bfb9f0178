/* NVIDIA's device code as a row of device_code_kinds[]. */
#include "gpu/code/cubin.h"
#include "gpu/code/device_code.h"

#include <stdbool.h>
#include <string.h>

/* --- stall reasons ---------------------------------------------------------------------------- */

/* The reasons of CUPTI 11 to 13 (cuptiPCSamplingGetStallReasons; meanings: Nsight Compute's "Warp
 * Stall Reasons"). */
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

/* Turns CUPTI's name of a stall reason
 * ("smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued") into words ("memory (long
 * scoreboard)"). An unknown one retains the part after the common prefix, with blanks, truncated.
 * *not_issued: the cycle was one in which no other warp of the scheduler issued, either: such a
 * stall cost time, another may have been hidden. */
static const char *cuda_stall_name(const char *cupti, char text[DEVICE_STALL_MAX], bool *not_issued)
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
	len = len < DEVICE_STALL_MAX - 1 ? len : DEVICE_STALL_MAX - 1;
	for (size_t i = 0; i < len; i++)
		text[i] = cupti[i] == '_' ? ' ' : cupti[i];
	text[len] = '\0';
	return text;
}

/* --- the row ---------------------------------------------------------------------------------- */

static int open_cubin(const void *image, size_t size, void **out, struct err *err)
{
	struct cubin *c = NULL;
	int rc = cubin_open_image(image, size, &c, err);

	if (!rc)
		*out = c;
	return rc;
}

static void close_cubin(void *code)
{
	cubin_close(code);
}

static bool find_text(const void *code, const char *function, uint32_t *text)
{
	return cubin_find(code, function, text);
}

static uint32_t add_layers(void *code, uint32_t text, uint64_t offset, const char *stall,
			   device_layer_fn *fn, void *ctx)
{
	return cubin_layers(code, text, offset, stall, CUBIN_ALL_LAYERS, fn, ctx);
}

static const char *stall_words(const char *reason, char text[DEVICE_STALL_MAX], bool *not_issued)
{
	return *reason ? cuda_stall_name(reason, text, not_issued) : NULL;
}

const struct device_code_kind cuda_code = {
	.vendor = "nvidia",
	.open = open_cubin,
	.close = close_cubin,
	.find = find_text,
	.layers = add_layers,
	.stall = stall_words,
};
