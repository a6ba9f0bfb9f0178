/* profile/prune.h: frames that a profile itself says to leave out: pprof's drop_frames and
 * keep_frames, two regular expressions for names of functions. Allocators and runtimes use them, so
 * that costs are those of the functions that called them. */
#ifndef CRESSET_PROFILE_PRUNE_H
#define CRESSET_PROFILE_PRUNE_H

#include <stdint.h>

struct err;
struct profile;

/* Ends each stack above its first frame whose name matches drop_frames and not keep_frames, as `go
 * tool pprof` does: names are compared without arguments, and frames at the root, before the first
 * other one, stay. Of a frame with inlined functions the outer lines stay. Sets *n to the number of
 * samples that lost frames, and counts them as LOSS_INPUT_PRUNED. Returns -EINVAL with err set if
 * an expression is invalid; nothing is changed then. */
int profile_prune(struct profile *p, uint64_t *n, struct err *err);

#endif
