/* cmd/sample_sums.h: what samples add up to that are kept no longer: the sum of each series and stack. Memory goes with how many different
 * ones there are, not with time. */
#ifndef CRESSET_CMD_SAMPLE_SUMS_H
#define CRESSET_CMD_SAMPLE_SUMS_H

#include "base/hash.h"
#include "base/vec.h"
#include "profile/profile.h"

struct sample_sum {
	uint32_t series, stack;
	int64_t value;
};
struct sample_sums { /* zeroed = none */
	struct map index;
	VEC(struct sample_sum) all;
};

void sample_sums_add(struct sample_sums *s, const struct sample_columns *samples);
/* As samples without time, thread and CPU, into the profile that their ids are of. */
void sample_sums_put(const struct sample_sums *s, struct profile *p);
void sample_sums_done(struct sample_sums *s);

#endif
