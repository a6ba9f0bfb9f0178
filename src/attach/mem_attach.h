/* attach/mem_attach.h: the library that is attached to programs to sample their allocations. */
#ifndef CRESSET_ATTACH_MEM_ATTACH_H
#define CRESSET_ATTACH_MEM_ATTACH_H

#include "attach/attach.h"

extern const struct gpu_attach_library mem_attach_library;

#endif
