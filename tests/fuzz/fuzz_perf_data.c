/* Any bytes as perf.data: whatever the records say, each sample counts something, and a stack is
 * never empty. */
#include "format/perf_data.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool truth)
{
	if (!truth)
		abort();
}

static const char *code_name(void *ctx, uint32_t pid, uint64_t addr)
{
	(void)ctx;
	return (pid ^ addr) & 1 ? "code" : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct format_here here = { .host = "vm", .code_name = code_name };
	struct profile *p = profile_new();
	struct input *in;
	must(input_open_memory(data, size, &in, NULL) == 0);
	int rc = perf_data_read_here(in, profile_sink(p), &here, NULL);
	input_close(in);
	for (size_t i = 0; rc == 0 && i < p->samples.n; i++) {
		must(p->samples.value[i] >= 0);
		must(stack_depth(&p->stacks, p->samples.stack[i]) > 0);
	}
	profile_free(p);
	return 0;
}
