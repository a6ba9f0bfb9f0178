// tier: test
/* Any bytes as speedscope JSON. What was read is written and read again: the sum stays, and nothing
 * is skipped. */
#include "format_fuzz.h"

#include "format/speedscope/speedscope.h"

/* speedscope cannot show values below zero: they are not written. */
static bool all_positive(const struct profile *p)
{
	for (size_t i = 0; i < p->samples.n; i++)
		if (p->samples.value[i] < 0)
			return false;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	speedscope_detect((const char *)data, size);
	struct profile *p = fuzz_read(&format_speedscope, data, size);
	if (!p)
		return 0;
	uint32_t type = profile_pick_type(p, NULL);
	struct format_write_opts opts = { .annotate = ANNOTATE_ALL };
	struct buf text = fuzz_write(&format_speedscope, p, &opts);
	struct profile *again = fuzz_read(&format_speedscope, text.data, text.len);
	must(again && again->meta.loss[LOSS_INPUT_SKIPPED] == 0);
	if (all_positive(p) && profile_total(p, type) < INT64_MAX)
		must(profile_total(again, 0) == profile_total(p, type));
	profile_free(again);
	buf_done(&text);
	profile_free(p);
	return 0;
}
