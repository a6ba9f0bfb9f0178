/* format/pprof_diff.h: a difference as a pprof file, in the way of `go tool pprof -diff_base OLD NEW`: the samples of both sides,
 * those of the older one negative and with the label pprof::base = "true". pprof takes percentages of such samples' total. */
#ifndef CRESSET_FORMAT_PPROF_DIFF_H
#define CRESSET_FORMAT_PPROF_DIFF_H

#include "format/format.h"

/* Both profiles are changed: afterwards newer is the difference, and older good for nothing. */
int pprof_write_diff(struct profile *newer, struct profile *older, struct out *out,
		     struct err *err);

#endif
