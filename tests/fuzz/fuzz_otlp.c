// tier: test
/* Any bytes as an OTLP message. What was read is written and read again: it must be readable without a loss, and all values of a type
 * have the sum they had. */
#include "format_fuzz.h"

#include "format/otlp/otlp.h"
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

static int64_t sum_of_all(const struct profile *p)
{
	int64_t sum = 0;
	for (size_t i = 0; i < p->samples.n; i++)
		sum = sum_add(sum, p->samples.value[i]);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	otlp_detect((const char *)data, size);
	struct profile *p = fuzz_read(&format_otlp, data, size);
	if (!p)
		return 0;
	uint64_t skipped = p->meta.loss[LOSS_INPUT_SKIPPED];
	struct buf b = fuzz_write(&format_otlp, p, &(struct format_write_opts){ 0 });
	struct profile *again = fuzz_read(&format_otlp, b.data, b.len);
	must(again && again->meta.loss[LOSS_INPUT_SKIPPED] == skipped); /* as what is known */
	if (!has_large_values(p))
		must(sum_of_all(p) == sum_of_all(again));
	buf_done(&b);
	profile_free(again);
	profile_free(p);
	return 0;
}
