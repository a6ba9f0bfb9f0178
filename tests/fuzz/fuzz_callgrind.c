// tier: test
/* Any bytes as a callgrind file. What was read is written and read again: the total of the first
 * type stays, and nothing is skipped. */
#include "format_fuzz.h"

#include "format/callgrind/callgrind.h"

/* Sums stop at the ends of int64_t, where their order matters. */
static bool is_small(const struct profile *p)
{
	for (size_t i = 0; i < p->samples.n; i++)
		if (p->samples.value[i] > 1ll << 40 || p->samples.value[i] < -(1ll << 40))
			return false;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	callgrind_detect((const char *)data, size);
	struct profile *p = fuzz_read(&format_callgrind, data, size);
	if (!p)
		return 0;
	struct format_write_opts opts = { .annotate = ANNOTATE_ALL };
	struct buf text = fuzz_write(&format_callgrind, p, &opts);
	must(callgrind_detect(text.data, text.len));
	struct profile *again = fuzz_read(&format_callgrind, text.data, text.len);
	uint32_t type = profile_pick_type(p, NULL);
	if (again && is_small(p)) {
		must(again->meta.loss[LOSS_INPUT_SKIPPED] == 0);
		must(profile_total(again, 0) == profile_total(p, type));
	} else if (!again) {
		must(profile_total(p, type) == 0 || !is_small(p));
	}
	profile_free(again);
	buf_done(&text);
	profile_free(p);
	return 0;
}
