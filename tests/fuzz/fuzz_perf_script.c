// tier: test
/* Any bytes as text of perf script. What was read is written and read again: the default type's sum stays, and nothing
 * is skipped. */
#include "format_fuzz.h"

#include "format/perf_script/perf_script.h"

/* In the unit of the period where there is one. */
static int64_t total_of(const struct profile *p)
{
	int64_t period = p->series.series.v[p->samples.series[0]].period;
	int64_t total = profile_total(p, 0);
	return period > 0 && total < INT64_MAX / period ? total * period : total;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	perf_script_detect((const char *)data, size);
	struct profile *p = fuzz_read(&format_perf_script, data, size);
	if (!p)
		return 0;
	struct format_write_opts opts = { 0 };
	struct buf text = fuzz_write(&format_perf_script, p, &opts);
	struct profile *again = fuzz_read(&format_perf_script, text.data, text.len);
	if (again) {
		must(again->meta.loss[LOSS_INPUT_SKIPPED] == 0);
		must(again->series.types.n == 1);
		must(total_of(again) == total_of(p));
		profile_free(again);
	} else {
		must(profile_total(p, 0) == 0);
	}
	buf_done(&text);
	profile_free(p);
	return 0;
}
