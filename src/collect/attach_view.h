/* collect/attach_view.h: what gpu/attach.h sees of a process: its mappings and the files behind them. */
#ifndef CRESSET_COLLECT_ATTACH_VIEW_H
#define CRESSET_COLLECT_ATTACH_VIEW_H

#include "gpu/attach.h"

extern const struct gpu_attach_view attach_view;

#endif
