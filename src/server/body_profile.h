/* server/body_profile.h: a body that is a profile in any format that can be read, found by its content. */
#ifndef CRESSET_SERVER_BODY_PROFILE_H
#define CRESSET_SERVER_BODY_PROFILE_H

#include "profile/profile.h"
#include "query/guard.h"
#include "server/request.h"

/* What is packed inside of the body, as pprof is, is unpacked and counts against the limit of bodies. limits: what reading may cost beside the
 * body; NULL: what its formats allow. -ENOTSUP: in no format that is known; -EFBIG, -EBUSY, -EINVAL, -ECANCELED, -ETIME, -ENOMEM and what readers
 * end with. */
int body_read_profile(struct request *r, struct profile *p, const struct guard_limits *limits,
		      struct err *err);

#endif
