// tier: test
/* Any bytes as a pprof file. What was read is written and read again: it must be readable without a
 * loss, and its columns have the totals they had, as long as none overflows. */
#include "format_fuzz.h"

#include "format/pprof/pprof.h"
#include "profile/sum.h"

#include <string.h>

enum { MAX_VALUE = 1 << 30 }; /* of samples whose sums are compared */

static bool has_large_values(const struct profile *p)
{
	for (size_t i = 0; i < p->samples.n; i++)
		if (p->samples.value[i] > MAX_VALUE || p->samples.value[i] < -MAX_VALUE)
			return true;
	return false;
}

/* Without the samples that were skipped, the second column may have become the first times the
 * period: then it is gone. */
static void compare_totals(const struct profile *a, const struct profile *b)
{
	for (uint32_t i = 0; i < a->series.types.n; i++) {
		int64_t total = profile_total(a, i);
		bool found = total == 0; /* a column of zeros needs no type */
		for (uint32_t k = 0; k < b->series.types.n && !found; k++)
			found = profile_total(b, k) == total ||
				sum_mul(profile_total(b, k), b->series.series.v[0].period) == total;
		must(found);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	pprof_detect((const char *)data, size);
	struct profile *p = fuzz_read(&format_pprof, data, size);
	if (!p)
		return 0;
	uint64_t skipped = p->meta.loss[LOSS_INPUT_SKIPPED];
	struct buf b = fuzz_write(&format_pprof, p, &(struct format_write_opts){ 0 });
	struct profile *again = fuzz_read(&format_pprof, b.data, b.len);
	must(again && again->meta.loss[LOSS_INPUT_SKIPPED] == skipped); /* as a comment */
	if (!has_large_values(p))
		compare_totals(p, again);
	buf_done(&b);
	profile_free(again);
	profile_free(p);
	return 0;
}
