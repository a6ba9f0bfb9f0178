/* format/headline.h: what a picture or a table says about its profile, in parts separated by HEADLINE_SEPARATOR. */
#ifndef CRESSET_FORMAT_HEADLINE_H
#define CRESSET_FORMAT_HEADLINE_H

#include "base/buf.h"
#include "base/json.h"
#include "profile/tree.h"

#define HEADLINE_SEPARATOR " \xc2\xb7 " /* middle dot */

/* "5,310 samples ≈ 53.6 s · 30.0 s recorded · 12 lost (0.2 %) · 3.1 % truncated · 38.0 % of all after filters". Nothing that
 * lowers the worth of the numbers is left out; what is not known is. Harmless on a terminal; escape it elsewhere. */
void headline_counts(const struct profile *p, const struct tree *t, struct buf *b);

/* "cresset record -a · db7 · Linux 6.1.0-13-amd64 · 2 CPUs · 2025-01-02 03:04:05 UTC"; nothing when nothing is known. */
void headline_origin(const struct profile *p, struct buf *b);

/* Total of the stacks whose root-most frame says that the walk could not go on ("[truncated: …]"). */
int64_t headline_truncated(const struct tree *t);

/* A member "start": RFC 3339 in UTC, null where it is not known. */
void headline_start_json(struct json *j, int64_t wall_ns);

#endif
