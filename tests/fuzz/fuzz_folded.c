// tier: test
/* Any bytes as folded stacks. What was read is written and read again: the sum stays, and nothing
 * is skipped. */
#include "format_fuzz.h"

#include "format/folded/folded.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	folded_detect((const char *)data, size);
	struct profile *p = fuzz_read(&format_folded, data, size);
	if (!p)
		return 0;
	struct format_write_opts opts = { .annotate = ANNOTATE_ALL };
	struct buf text = fuzz_write(&format_folded, p, &opts);
	int64_t total = profile_total(p, 0);
	if (text.len) {
		struct profile *again = fuzz_read(&format_folded, text.data, text.len);
		must(again && again->meta.loss[LOSS_INPUT_SKIPPED] == 0);
		must(profile_total(again, 0) == total);
		profile_free(again);
	} else {
		must(total == 0);
	}
	buf_done(&text);
	profile_free(p);
	return 0;
}
