// tier: test
/* Any bytes as a profile of the Firefox Profiler. What was read is written and read again: nothing of it is skipped, and what was
 * counted keeps its sum. */
#include "format_fuzz.h"

#include "format/firefox/firefox.h"

/* Sums of doubles are exact below this. */
static bool is_exact(const struct profile *p)
{
	for (size_t i = 0; i < p->samples.n; i++)
		if (llabs(p->samples.value[i]) > 1ll << 40)
			return false;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	firefox_detect((const char *)data, size);
	struct profile *p = fuzz_read(&format_firefox, data, size);
	if (!p)
		return 0;
	struct format_write_opts opts = { 0 };
	struct buf text = fuzz_write(&format_firefox, p, &opts);
	struct profile *again = fuzz_read(&format_firefox, text.data, text.len);
	must(again && again->meta.loss[LOSS_INPUT_SKIPPED] == 0);
	if (is_exact(p))
		must(profile_total(again, 0) == profile_total(p, profile_pick_type(p, NULL)));
	profile_free(again);
	buf_done(&text);
	profile_free(p);
	return 0;
}
