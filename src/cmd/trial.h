/* cmd/trial.h: whether this user can record on this machine now, found out by starting a recording and throwing it away. */
#ifndef CRESSET_CMD_TRIAL_H
#define CRESSET_CMD_TRIAL_H

#include "base/err.h"
#include "cmd/cmd.h"
#include "collect/collect.h"

struct trial {
	int rc;                     /* 0 or -errno of the collector */
	struct err err;             /* why not */
	struct collect_stats stats; /* as far as it came: clock and walker */
	struct collect_missing missing[COLLECT_GROUPS];
	size_t n_missing;
};
/* Of what cresset up records: cpu and off-cpu. Kernel: as settled (cmd/kernel.h). */
void trial_run(const struct collect_opts *kernel, struct trial *t);
/* NULL: not among what is missing. */
const struct collect_missing *trial_missing(const struct trial *t, enum collect_group group);
/* All that cresset up records by itself can be recorded, whatever else is missing. */
bool trial_is_whole(const struct trial *t);

/* The exit status for an error of the collector. */
enum cmd_status collect_status(int rc);

#endif
