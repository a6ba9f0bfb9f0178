/* agent/attaching.h: the GPU library gets into programs by itself, where the configuration says into which (--gpu-attach). Of the collector process.
 *
 *     attach_list.h   who and when
 *     attacher.h      the process that does it, so that nothing here waits
 *     attaching.c     between the two; says what came of it, each refusal once, and counts */
#ifndef CRESSET_AGENT_ATTACHING_H
#define CRESSET_AGENT_ATTACHING_H

#include "agent/up.h"
#include "collect/host_gpu_time.h"

struct attaching;

/* Before there is any thread. NULL: nobody is to be attached to, or it cannot be, which is said; that is fine for all below. opts is the caller's. */
struct attaching *attaching_new(const struct up_attach *opts);
void attaching_free(struct attaching *a);

/* What it wants to be told by the collector that is opened with these. */
void attaching_hook(struct attaching *a, struct collect_opts *collect);
/* Has the collector wake up when an attach has ended. */
int attaching_watch(struct attaching *a, struct collector *c, struct err *err);
/* Now and then. */
void attaching_run(struct attaching *a, struct collector *c, uint64_t now_ns);
/* NULL: there is none. */
const struct host_gpu_attach *attaching_counts(const struct attaching *a);

#endif
