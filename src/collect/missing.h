/* collect/missing.h: what a recording lacks because this kernel refused a part of it, in words. */
#ifndef CRESSET_COLLECT_MISSING_H
#define CRESSET_COLLECT_MISSING_H

#include "base/err.h"
#include "collect/collect.h"

struct collect_feature {
	const char *name; /* in metrics and JSON: "waits" */
	const char *lost; /* "no waits are recorded" */
};
extern const struct collect_feature collect_features[COLLECT_GROUPS];

/* "no waits are recorded: WHY", with what to do as the hint. */
void collect_missing_words(const struct collect_missing *m, struct err *err);

#endif
