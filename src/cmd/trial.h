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
};
void trial_run(struct trial *t);

/* The exit status for an error of the collector. */
enum cmd_status collect_status(int rc);

#endif
