/* collect/collect_types.h: the types of a sink for what is asked for. */
#ifndef CRESSET_COLLECT_COLLECT_TYPES_H
#define CRESSET_COLLECT_COLLECT_TYPES_H

#include "collect/collect.h"
#include "collect/resolve.h"

/* TYPE_NONE of all others. */
struct resolve_types collect_types(const struct collect_opts *opts, struct sink *sink);

#endif
