// tier: test
/* Any bytes as perf.data: whatever the records say, each sample counts something, a stack is never empty, and a stack that is handed
 * over to be walked has its bytes and mappings that hold what they are asked for. */
#include "format/perf_data/perf_data.h"

#include "base/input.h"
#include "profile/profile.h"
#include "profile/stack.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_FRAMES = 64 };

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

/* Takes every word of the stack for a frame. */
static struct user_walk walk_stack(void *stacks, const struct user_stack *s)
{
	uint64_t *addr = stacks;
	uint32_t n = 0;
	struct user_map m;
	for (; n < MAX_FRAMES && n < s->stack_bytes / 8; n++) {
		memcpy(&addr[n], (const char *)s->stack + n * 8, 8);
		if (s->find(s->space, addr[n], &m)) {
			must(m.start <= addr[n] && addr[n] < m.end);
			must(!m.file.path || strlen(m.file.path) <= UINT16_MAX);
			must(m.file.build_id_len <= BUILD_ID_MAX);
		}
	}
	return (struct user_walk){ addr, n, n & 1 ? "[truncated]" : NULL };
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t frames[MAX_FRAMES];
	const struct format_here here = {
		.host = "vm", .code_name = code_name, .walk_stack = walk_stack, .stacks = frames
	};
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
