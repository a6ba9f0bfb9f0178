// tier: test
/* Any bytes as .eh_frame (first byte even) or .debug_frame: rows increase, lie inside their function, and differ from their
 * neighbours. */
#include "unwind/cfi.h"

#include <elf.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool truth)
{
	if (!truth)
		abort();
}

static bool on_fde(void *ctx, const struct cfi_fde *fde)
{
	uint64_t *n = ctx;
	must(fde->start < fde->end && fde->n > 0 && fde->rows[0].addr == fde->start);
	for (size_t i = 0; i < fde->n; i++) {
		must(fde->rows[i].addr < fde->end);
		if (i) {
			must(fde->rows[i - 1].addr < fde->rows[i].addr);
			must(!cfi_rule_equal(&fde->rows[i - 1].rule, &fde->rows[i].rule));
		}
	}
	return ++*n < 100000;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t n = 0, skipped = 0;
	if (size < 2)
		return 0;
	struct cfi_section s = {
		.data = data + 2,
		.size = size - 2,
		.addr = 0x1000,
		.is_debug_frame = data[0] & 1,
		.arch = cfi_arch_of(data[1] & 1 ? EM_AARCH64 : EM_X86_64),
	};
	cfi_read(&s, on_fde, &n, &skipped, NULL);
	return 0;
}
