/* agent/batch.h: the samples of a profile whose dictionary is larger than they need, as a profile of their own. */
#ifndef CRESSET_AGENT_BATCH_H
#define CRESSET_AGENT_BATCH_H

#include "profile/profile.h"

/* With what the samples refer to, without names and without the meta; to be freed with profile_free. */
struct profile *batch_of(const struct profile *p);

#endif
