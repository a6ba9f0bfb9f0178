/* collect/host_losses.h: what the collector itself lost, so that a store knows it of each host.
 *
 *     cresset_lost{reason,kind}   counter; since the collector began
 *
 * Reasons are those of profile/sink.h, by their names. kind is sample, of which each is a lost sample, or detail. Reasons of lost samples, but for those of GPUs, are always there: 0 says
 * that nothing was lost. The others come when there is something to say, with a 0 at the start of the interval, so that nothing of their growth is missing.
 * What somebody asked to leave out is no loss. */
#ifndef CRESSET_COLLECT_HOST_LOSSES_H
#define CRESSET_COLLECT_HOST_LOSSES_H

#include "collect/host_points.h"
#include "profile/sink.h"

struct host_losses {
	bool was_put[LOSS_REASONS];
};
/* lost: since the collector began. */
void host_losses_put(struct host_losses *h, const uint64_t lost[LOSS_REASONS], int64_t start_ns,
		     struct host_points *w);

#endif
