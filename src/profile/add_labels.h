/* profile/add_labels.h: labels for all samples and readings of a profile. */
#ifndef CRESSET_PROFILE_ADD_LABELS_H
#define CRESSET_PROFILE_ADD_LABELS_H

#include "profile/profile.h"

/* texts: "KEY=VALUE". A label that is given takes the place of what a series had by that name. */
void profile_add_labels(struct profile *p, const char *const *texts, size_t n);

#endif
